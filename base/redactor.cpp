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
  std::ranges::sort(needles_, [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

bool redactor::concerns(std::string_view text) const {
  return std::ranges::any_of(
    needles_, [&](const auto& needle) { return text.find(needle) != std::string_view::npos; });
}

std::string redactor::apply(std::string_view text) const {
  std::string out{text};
  for (const auto& needle : needles_)
    for (auto at = out.find(needle); at != std::string::npos;
         at = out.find(needle, at + mask.size()))
      out.replace(at, needle.size(), mask);
  return out;
}

} // namespace tidemark
