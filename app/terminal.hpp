#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace tidemark {

/// Where a command writes and how. Commands take this instead of the process's streams, so that
/// tests run them.
struct terminal {
  std::ostream& out; ///< results
  std::ostream& err; ///< progress, warnings, errors
  bool colours = false;
  bool shows_progress = false; ///< `err` is a screen, on which a line can be overwritten
  bool screen =
    false; ///< `out` is one, with or without colours: an agent's bytes must be made harmless
};

/// The standard streams; colours only if stdout is a terminal, NO_COLOR is unset or empty
/// (no-color.org) and TERM is not `dumb`.
terminal process_terminal();

enum class tint { plain, dim, bold, red, green, yellow, cyan };

/// The text between the codes of a colour, or as it is without colours.
std::string painted(const terminal& to, tint colour, std::string_view text);

/// Text of an agent made harmless for a terminal: control characters but line feed and tab become
/// visible (`\x1b`), C1 controls and broken UTF-8 too. An agent's output must not be able to move
/// the cursor, rename the window or paste into the shell.
std::string neutralised(std::string_view text);

} // namespace tidemark
