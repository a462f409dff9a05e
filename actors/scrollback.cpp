#include "actors/scrollback.hpp"

#include <algorithm>

namespace tidemark {
namespace {

bool continues_sequence(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

} // namespace

void scrollback::append(std::string_view text, std::uint64_t needed_from) {
  text_ += text;
  const auto over = end() > limit_ ? end() - limit_ : 0;
  first_ = std::max(first_, std::min(over, needed_from));
  while (first_ < end() && continues_sequence(text_[static_cast<std::size_t>(first_ - base_)]))
    ++first_;
  // Moving the text costs its size, so it is done once for as many bytes again.
  const auto dead = static_cast<std::size_t>(first_ - base_);
  if (dead <= limit_)
    return;
  text_.erase(0, dead);
  base_ = first_;
}

scrollback::piece scrollback::read(std::uint64_t from, std::size_t most) const {
  piece out;
  const auto begin = std::max(from, first_);
  out.cut = begin - from;
  const auto at = static_cast<std::size_t>(begin - base_);
  auto size = std::min(most, text_.size() - at);
  while (at + size < text_.size() && size > 0 && continues_sequence(text_[at + size]))
    --size;
  while (size == 0 || (at + size < text_.size() && continues_sequence(text_[at + size]))) {
    if (at + size == text_.size())
      break;
    ++size;
  }
  out.text = text_.substr(at, size);
  out.next = begin + size;
  return out;
}

} // namespace tidemark
