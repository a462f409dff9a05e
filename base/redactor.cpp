#include "base/redactor.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {

redactor::redactor(const std::vector<std::string>& secrets) {
  std::vector<std::string> needles;
  for (const auto& secret : secrets) {
    if (secret.size() < minimum_length)
      continue;
    needles.push_back(secret);
    const auto quoted = quote_json(secret);
    needles.push_back(quoted.substr(1, quoted.size() - 2));
  }
  index_ = needle_index{std::move(needles)};
}

bool redactor::concerns(std::string_view text) const {
  auto at = index_.skip(text, 0);
  for (auto state = needle_index::start; at < text.size();) {
    state = index_.step(state, text[at]);
    if (index_.match(state) > 0)
      return true;
    at = state == needle_index::start ? index_.skip(text, at + 1) : at + 1;
  }
  return false;
}

/// All occurrences, those that overlap joined, in order.
std::vector<redactor::span> redactor::find(std::string_view text) const {
  std::vector<span> joined;
  auto at = index_.skip(text, 0);
  for (auto state = needle_index::start; at < text.size();) {
    state = index_.step(state, text[at++]);
    // Of those that end here the longest holds the others.
    if (const auto size = index_.match(state); size > 0) {
      span found{at - size, at};
      for (; !joined.empty() && found.begin < joined.back().end; joined.pop_back())
        found.begin = std::min(found.begin, joined.back().begin);
      joined.push_back(found);
    }
    if (state == needle_index::start)
      at = index_.skip(text, at);
  }
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

std::size_t redactor::settled(std::string_view text) const {
  if (empty())
    return text.size();
  auto state = needle_index::start;
  for (const auto byte : text.substr(text.size() - std::min(text.size(), index_.longest() - 1)))
    state = index_.step(state, byte);
  const auto at = text.size() - index_.begun(state);
  if (at == text.size())
    return at;
  // A whole secret that overlaps the beginning of another one waits for it.
  for (const auto& secret : find(text))
    if (secret.begin < at && at < secret.end)
      return secret.begin;
  return at;
}

} // namespace tidemark
