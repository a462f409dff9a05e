#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the fuzz targets share: how they read their input and how they say that a promise is broken.
// A target is tests/fuzz/<name>_fuzz.cpp with the function below.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tidemark::fuzz {

/// Ends the process with what the code under test broke; the fuzzer keeps the input.
inline void require(bool kept, std::string_view promise, std::string_view found = {}) {
  if (kept)
    return;
  std::fprintf(stderr, "broken: %.*s\n%.*s\n", static_cast<int>(promise.size()), promise.data(),
               static_cast<int>(found.size()), found.data());
  std::abort();
}

/// Takes values off the front of an input. What is not there reads as zero or empty.
class input {
public:
  input(const std::uint8_t* data, std::size_t size)
    : rest_(reinterpret_cast<const char*>(data), size) {}
  explicit input(std::string_view text) : rest_(text) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t sum = 0;
    for (const auto c : take(bytes))
      sum = sum << 8 | static_cast<std::uint8_t>(c);
    return sum;
  }
  std::string_view take(std::size_t count) {
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Up to the next line feed, without it.
  std::string_view line() {
    const auto taken = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(taken.size() + 1, rest_.size()));
    return taken;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

private:
  std::string_view rest_;
};

/// Cuts a text into pieces whose sizes follow from `seed`. Zero: one piece; one: single bytes.
inline std::vector<std::string_view> pieces_of(std::string_view text, std::uint64_t seed) {
  std::vector<std::string_view> pieces;
  auto state = seed;
  while (!text.empty()) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto drawn = static_cast<std::size_t>(state >> 33);
    const auto size = seed == 0   ? text.size()
                      : seed == 1 ? std::size_t{1}
                                  : 1 + drawn % (drawn % 4 == 0 ? 200 : 9);
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(std::min(size, text.size()));
  }
  return pieces;
}

/// Decimal digits and nothing else, up to 63 bits: read without the functions under test.
inline std::optional<std::uint64_t> decimal(std::string_view text) {
  constexpr std::string_view largest = "9223372036854775807";
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos)
    return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  if (text.size() > largest.size() || (text.size() == largest.size() && text > largest))
    return std::nullopt;
  return text.empty() ? 0 : std::stoull(std::string{text});
}

} // namespace tidemark::fuzz
