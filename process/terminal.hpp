#pragma once

#include "base/error.hpp"

#include <cstdint>

namespace tidemark {

/// Rows and columns of a terminal, each from 1 to `most`.
struct terminal_size {
  /// Programs allocate a screen of this size: what the kernel would still take (65535) is gigabytes.
  static constexpr int most = 10'000;

  int rows = 24;
  int columns = 80;

  friend bool operator==(terminal_size, terminal_size) = default;
  /// Errors: `invalid_argument` naming the number that is out of range.
  static expected<terminal_size> checked(std::int64_t rows, std::int64_t columns);
};

/// Both ends of a new pseudo terminal, close-on-exec, in the usual mode of a terminal that shows
/// UTF-8.
struct terminal_ends {
  int ours = -1;   ///< non-blocking
  int theirs = -1; ///< becomes standard input, output and error of a program
};

/// Errors: `unavailable` if the system has no terminal left.
expected<terminal_ends> open_terminal(terminal_size size);

/// Tells the terminal its size; the program in its foreground hears of it (SIGWINCH).
void resize_terminal(int ours, terminal_size size);

} // namespace tidemark
