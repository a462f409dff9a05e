#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>

namespace tidemark::test {

/// The seed of a randomised test: TIDEMARK_TEST_SEED, which repeats a run, or a new one. Printed.
inline std::uint64_t test_seed(std::string_view of) {
  const char* given = std::getenv("TIDEMARK_TEST_SEED");
  const std::uint64_t seed =
    given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << of << ": seed " << seed << " (TIDEMARK_TEST_SEED repeats it)" << std::endl;
  return seed;
}

} // namespace tidemark::test
