#pragma once

#include "app/terminal.hpp"
#include "base/json.hpp"

#include <string>

namespace tidemark {

/// One turn as people read it, from its events in order: prompt, text, tools with what went in and came
/// out, decisions, troubles, and how it ended. Everything goes to `out`; neutralised for the terminal.
class transcript {
public:
  /// `full`: tools' output and reasoning whole, not their first lines.
  transcript(terminal& to, bool full) : to_(to), full_(full) {}

  void show(const json& envelope);

private:
  void show_prompt(const json& envelope, const json& data);
  void show_item(const json& item);
  void show_end(const json& data);
  /// Each line behind a bar; the first ones only unless all are wanted.
  void quote(const std::string& text, tint colour);
  void paragraph(const std::string& text);

  terminal& to_;
  bool full_;
};

/// `1.2 k`, `3.4 M`: figures that are read, not added up.
std::string short_count(std::int64_t count);

} // namespace tidemark
