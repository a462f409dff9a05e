#include "base/redactor.hpp"

#include "base/json.hpp"

#include <algorithm>

namespace tidemark {

redactor::redactor(const std::vector<std::string>& secrets) {
  for (const auto& secret : secrets) {
    if (secret.size() < minimum_length)
      continue;
    needles_.push_back(secret);
    const auto quoted = quote_json(secret);
    const auto escaped = quoted.substr(1, quoted.size() - 2);
    if (escaped != secret)
      needles_.push_back(escaped);
  }
  for (const auto& needle : needles_) {
    first_bytes_.set(static_cast<unsigned char>(needle.front()));
    longest_ = std::max(longest_, needle.size());
  }
}

bool redactor::concerns(std::string_view text) const {
  return std::ranges::any_of(
    needles_, [&](const auto& needle) { return text.find(needle) != std::string_view::npos; });
}

/// All occurrences, those that overlap joined, in order.
std::vector<redactor::span> redactor::find(std::string_view text) const {
  std::vector<span> found;
  for (const auto& needle : needles_)
    for (auto at = text.find(needle); at != std::string_view::npos; at = text.find(needle, at + 1))
      found.push_back({at, at + needle.size()});
  std::ranges::sort(found, {}, &span::begin);
  std::vector<span> joined;
  for (const auto& each : found)
    if (!joined.empty() && each.begin < joined.back().end)
      joined.back().end = std::max(joined.back().end, each.end);
    else
      joined.push_back(each);
  return joined;
}

std::string redactor::apply(std::string_view text) const {
  std::string out;
  std::size_t done = 0;
  for (const auto& secret : find(text)) {
    out += text.substr(done, secret.begin - done);
    out += mask;
    done = secret.end;
  }
  out += text.substr(done);
  return out;
}

bool redactor::may_begin(std::string_view end_of_text) const {
  return first_bytes_.test(static_cast<unsigned char>(end_of_text.front()))
         && std::ranges::any_of(needles_, [&](const auto& needle) {
              return needle.size() > end_of_text.size() && needle.starts_with(end_of_text);
            });
}

std::size_t redactor::settled(std::string_view text) const {
  if (needles_.empty())
    return text.size();
  auto at = text.size() - std::min(text.size(), longest_ - 1);
  while (at < text.size() && !may_begin(text.substr(at)))
    ++at;
  if (at == text.size())
    return at;
  // A whole secret that overlaps the beginning of another one waits for it.
  for (const auto& secret : find(text))
    if (secret.begin < at && at < secret.end)
      return secret.begin;
  return at;
}

} // namespace tidemark
