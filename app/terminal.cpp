#include "app/terminal.hpp"

#include "base/json.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <unistd.h>

namespace tidemark {
namespace {

std::string_view code_of(tint colour) {
  switch (colour) {
  case tint::dim: return "2";
  case tint::bold: return "1";
  case tint::red: return "31";
  case tint::green: return "32";
  case tint::yellow: return "33";
  case tint::cyan: return "36";
  case tint::plain: break;
  }
  return "0";
}

/// Bidirectional overrides and isolates can make text read as something it is not.
bool reorders(std::string_view three) {
  const auto third = static_cast<unsigned char>(three[2]);
  return (three.starts_with("\xE2\x80") && third >= 0xAA && third <= 0xAE)
         || (three.starts_with("\xE2\x81") && third >= 0xA6 && third <= 0xA9);
}

} // namespace

terminal process_terminal() {
  const auto* no_colour = std::getenv("NO_COLOR");
  const auto* kind = std::getenv("TERM");
  const bool wanted = (no_colour == nullptr || *no_colour == '\0')
                      && (kind == nullptr || std::string_view{kind} != "dumb");
  const bool screen = ::isatty(STDOUT_FILENO) == 1;
  return {std::cout, std::cerr, wanted && screen,
          kind != nullptr && std::string_view{kind} != "dumb" && ::isatty(STDERR_FILENO) == 1,
          screen};
}

std::string painted(const terminal& to, tint colour, std::string_view text) {
  if (!to.colours || colour == tint::plain || text.empty())
    return std::string{text};
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(colour), text);
}

std::string neutralised(std::string_view text) {
  const auto repaired = repair_utf8(text);
  std::string out;
  out.reserve(repaired.size());
  for (std::size_t i = 0; i < repaired.size(); ++i) {
    const auto byte = static_cast<unsigned char>(repaired[i]);
    const bool has_next = i + 1 < repaired.size();
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && has_next && static_cast<unsigned char>(repaired[i + 1]) < 0xA0) {
      out += fmt::format("\\x{:02x}",
                         static_cast<unsigned char>(repaired[++i])); // C1: 8-bit escape sequences
    } else if (i + 2 < repaired.size() && reorders(std::string_view{repaired}.substr(i, 3))) {
      out += "\xEF\xBF\xBD";
      i += 2;
    } else {
      out += repaired[i];
    }
  }
  return out;
}

} // namespace tidemark
