#include "base/json.hpp"
#include "base/redactor.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace tidemark;

namespace {

struct span {
  std::size_t begin;
  std::size_t end;
};

/// The secrets that are to be masked, in both their forms.
std::vector<std::string> forms_of(const std::vector<std::string>& secrets) {
  std::vector<std::string> forms;
  for (const auto& secret : secrets)
    if (secret.size() >= redactor::minimum_length) {
      const auto quoted = quote_json(secret);
      forms.push_back(secret);
      forms.push_back(quoted.substr(1, quoted.size() - 2));
    }
  return forms;
}

/// Says the same as the redactor, by looking for each secret on its own.
std::vector<span> spans_of(const std::vector<std::string>& forms, const std::string& text) {
  std::vector<span> found;
  for (const auto& form : forms)
    for (auto at = text.find(form); at != std::string::npos; at = text.find(form, at + 1))
      found.push_back({at, at + form.size()});
  std::ranges::sort(found, {}, &span::begin);
  std::vector<span> joined;
  for (const auto& each : found)
    if (!joined.empty() && each.begin < joined.back().end)
      joined.back().end = std::max(joined.back().end, each.end);
    else
      joined.push_back(each);
  return joined;
}

std::string masked(const std::vector<span>& spans, const std::string& text) {
  std::string out;
  std::size_t done = 0;
  for (const auto& each : spans) {
    out += text.substr(done, each.begin - done) + std::string{redactor::mask};
    done = each.end;
  }
  return out + text.substr(done);
}

std::size_t settled(const std::vector<std::string>& forms, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size() && std::ranges::none_of(forms, [&](const std::string& form) {
           return form.size() > text.size() - at && form.starts_with(text.substr(at));
         }))
    ++at;
  for (const auto& each : spans_of(forms, text))
    if (each.begin < at && at < each.end)
      return each.begin;
  return at;
}

} // namespace

SCENARIO("secrets are found as if each were looked for on its own") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random{seed};
  const auto below = [&](std::size_t n) { return random() % n; };
  const auto word = [&](std::size_t size) {
    std::string made;
    while (made.size() < size)
      made += "aab\"\n\xff"[below(6)];
    return made;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> secrets;
    for (auto count = below(8); count > 0; --count)
      secrets.push_back(!secrets.empty() && below(2) == 0 ? secrets[0] + word(1 + below(4))
                                                          : word(6 + below(6)));
    std::string text;
    for (auto count = below(10); count > 0; --count)
      text += secrets.empty() || below(2) == 0 ? word(below(9))
                                               : secrets[below(secrets.size())].substr(below(4));
    const auto forms = forms_of(secrets);
    const redactor mask{secrets};
    const auto expected = spans_of(forms, text);
    CAPTURE(secrets, text);
    REQUIRE(mask.concerns(text) == !expected.empty());
    REQUIRE(mask.apply(text) == masked(expected, text));
    REQUIRE(mask.settled(text) == settled(forms, text));
  }
}

// Looked for one by one these take minutes, and the test its time-out.
SCENARIO("neighbour of B77: however many secrets there are, the cost follows the text") {
  std::vector<std::string> secrets;
  for (int i = 0; i < 40'000; ++i)
    secrets.push_back("k" + std::to_string(1'000'000 + i));
  const redactor many{secrets};
  std::string text;
  while (text.size() < 32 << 20)
    text += "know k1 k1000 k100000 ";
  CHECK_FALSE(many.concerns(text));
  CHECK(many.apply(text + "k1000007") == text + "[secret]");

  AND_WHEN("they are much alike, as is the text") {
    secrets.clear();
    for (int i = 0; i < 1'000; ++i)
      secrets.push_back(std::string(1'000, 'a') + std::to_string(1'000 + i));
    const redactor alike{secrets};
    const std::string same(8 << 20, 'a');
    CHECK_FALSE(alike.concerns(same));
    CHECK(alike.settled(same) == same.size() - 1'000);
    CHECK(alike.settled(same + "c") == same.size() + 1);
  }
}
