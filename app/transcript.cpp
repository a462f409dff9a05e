#include "app/transcript.hpp"

#include <fmt/format.h>

#include <ostream>
#include <sstream>

namespace tidemark {
namespace {

constexpr std::size_t lines_shown = 10;

/// What went into a tool: first what it is about, as it is, then the rest as JSON.
std::string input_text(json input) {
  std::string text;
  for (const auto* key : {"command", "file_path", "pattern", "url", "query", "prompt"})
    if (auto about = string_at(input, key); about && text.empty()) {
      text = std::move(*about);
      input.erase(key);
    }
  input.erase("description"); // what the agent says that it does: the command says it better
  if (!input.empty())
    text += (text.empty() ? "" : "\n") + input.dump(2, ' ', false, json::error_handler_t::replace);
  return text;
}

std::string outcome_line(const json& data) {
  const auto& usage = object_at(data, "usage");
  std::vector<std::string> parts{
    fmt::format("{} in {:.1f} s", string_or(data, "outcome", "ended"),
                static_cast<double>(int_or(data, "duration_ms", 0)) / 1000.0)};
  const auto input =
    int_or(usage, "input", 0) + int_or(usage, "cache_read", 0) + int_or(usage, "cache_write", 0);
  if (input > 0 || int_or(usage, "output", 0) > 0)
    parts.push_back(fmt::format("{} tokens in, {} out", short_count(input),
                                short_count(int_or(usage, "output", 0))));
  if (const auto cost = number_or(data, "cost_usd", 0); cost > 0)
    parts.push_back(fmt::format("{:.4f} USD", cost));
  if (const auto model = string_or(data, "model"); !model.empty())
    parts.push_back(neutralised(model));
  return fmt::format("{}", fmt::join(parts, " · "));
}

} // namespace

std::string short_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count < 1000)
    return std::to_string(count);
  return count < 1'000'000 ? fmt::format("{:.1f} k", value / 1e3)
                           : fmt::format("{:.1f} M", value / 1e6);
}

void transcript::show(const json& envelope) {
  const auto type = string_or(envelope, "type");
  const auto& data = object_at(envelope, "data");
  if (type == "turn.queued") {
    show_prompt(envelope, data);
  } else if (type == "item.completed") {
    show_item(object_at(data, "item"));
  } else if (type == "permission.resolved" || type == "question.resolved") {
    to_.out << painted(
      to_, tint::yellow,
      fmt::format("permission for {}: {} by {} {}", neutralised(string_or(data, "tool", "a tool")),
                  neutralised(string_or(data, "decision")), neutralised(string_or(data, "by")),
                  neutralised(string_or(data, "message"))))
            << "\n\n";
  } else if (type == "agent.retrying" || type == "session.lost" || type == "fault") {
    to_.out << painted(
      to_, tint::yellow,
      fmt::format("{}: {}", type,
                  neutralised(string_or(data, "reason", string_or(data, "error", "")))))
            << "\n\n";
  } else if (type == "turn.completed") {
    show_end(data);
  }
}

void transcript::show_prompt(const json& envelope, const json& data) {
  std::vector<std::string> origin{neutralised(string_or(envelope, "time"))};
  if (const auto source = string_or(data, "source"); !source.empty())
    origin.push_back(neutralised(source));
  origin.push_back("by " + neutralised(string_or(data, "by", "-")));
  to_.out << painted(to_, tint::bold,
                     fmt::format("{} · {}", neutralised(string_or(envelope, "workspace")),
                                 neutralised(string_or(envelope, "turn"))))
          << '\n'
          << painted(to_, tint::dim, fmt::format("{}", fmt::join(origin, " · "))) << "\n\n";
  std::istringstream lines(string_or(data, "prompt", string_or(data, "prompt_preview")));
  for (std::string line; std::getline(lines, line);)
    to_.out << "> " << neutralised(line) << '\n';
  to_.out << '\n';
}

void transcript::show_item(const json& item) {
  const auto kind = string_or(item, "kind");
  const auto text = string_or(item, "text");
  if (kind == "message" && string_or(item, "role") == "assistant") {
    paragraph(text);
  } else if (kind == "reasoning" && !text.empty()) {
    quote(text, tint::dim);
    to_.out << '\n';
  } else if (kind == "tool_call") {
    to_.out << painted(to_, tint::cyan, "→ " + neutralised(string_or(item, "name", "tool")))
            << '\n';
    quote(input_text(object_at(item, "input")), tint::plain);
  } else if (kind == "tool_result") {
    quote(string_or(item, "content", text),
          bool_or(item, "is_error", false) ? tint::red : tint::dim);
    to_.out << '\n';
  }
}

void transcript::show_end(const json& data) {
  const auto succeeded = string_or(data, "outcome") == "succeeded";
  if (!succeeded) {
    const auto& why = object_at(data, "error");
    to_.out << painted(to_, tint::red,
                       fmt::format("{}: {}", neutralised(string_or(why, "code", "error")),
                                   neutralised(string_or(why, "message", "no reason given"))))
            << '\n';
  }
  to_.out << painted(to_, succeeded ? tint::green : tint::red, outcome_line(data)) << '\n';
}

void transcript::quote(const std::string& text, tint colour) {
  std::istringstream lines(text);
  std::size_t shown = 0;
  std::size_t hidden = 0;
  for (std::string line; std::getline(lines, line);) {
    if (full_ || shown < lines_shown) {
      ++shown;
      to_.out << "  │ " << painted(to_, colour, neutralised(line)) << '\n';
    } else {
      ++hidden;
    }
  }
  if (hidden > 0)
    to_.out << painted(to_, tint::dim, fmt::format("  │ … {} more lines (--full)", hidden)) << '\n';
}

void transcript::paragraph(const std::string& text) {
  if (!text.empty())
    to_.out << neutralised(text) << "\n\n";
}

} // namespace tidemark
