#include "agents/bounded_text.hpp"

namespace tidemark {

namespace {

bool continues_sequence(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

} // namespace

std::string_view utf8_prefix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit)
    return text;
  // A sequence has at most three continuation bytes; text that has more is no UTF-8 anyway.
  for (auto end = limit; end > 0 && limit - end < 4; --end)
    if (!continues_sequence(text[end]))
      return text.substr(0, end);
  return text.substr(0, limit);
}

std::string_view utf8_suffix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit)
    return text;
  text.remove_prefix(text.size() - limit);
  for (auto i = 0; i < 3 && !text.empty() && continues_sequence(text.front()); ++i)
    text.remove_prefix(1);
  return text;
}

void put_bounded(json& object, const char* key, std::string_view text, std::size_t limit) {
  object[key] = std::string{utf8_prefix(text, limit)};
  if (text.size() <= limit)
    return;
  object["truncated"] = true;
  object["size"] = text.size();
}

} // namespace tidemark
