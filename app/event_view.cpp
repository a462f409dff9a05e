#include "app/event_view.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {
namespace {

std::string tool_summary(const json& item) {
  return fmt::format("{} {}", neutralised(string_or(item, "name", "tool")), wish_of(item));
}

/// What a decision did to a request; of another kind as it stands.
std::string deed_of(std::string_view decision, bool is_question) {
  if (decision == "allow")
    return is_question ? "answered" : "allowed";
  if (decision == "deny")
    return is_question ? "declined" : "denied";
  return neutralised(decision);
}

/// `Bash: allowed by alice` and what follows from it.
std::string resolution_summary(const std::string& type, const json& data) {
  auto line = fmt::format("{}: {} by {}", neutralised(string_or(data, "tool", "tool")),
                          deed_of(string_or(data, "decision"), type == "question.resolved"),
                          neutralised(string_or(data, "by", "?")));
  if (const auto rule = string_or(data, "rule"); !rule.empty())
    line += ", rule " + neutralised(rule);
  if (const auto message = string_or(data, "message"); !message.empty())
    line += ": " + brief(message);
  if (const auto& answers = object_at(data, "answers"); !answers.empty())
    line += ": " + brief(dump_json(answers));
  return line;
}

/// For a shell, as one word on one line.
std::string shell_word(std::string_view text) {
  const bool has_lines = text.find_first_of("\n\t") != text.npos;
  std::string out = has_lines ? "$'" : "'";
  for (const char c : text)
    if (c == '\'')
      out += has_lines ? "\\'" : "'\\''";
    else if (has_lines && c == '\n')
      out += "\\n";
    else if (has_lines && c == '\t')
      out += "\\t";
    else if (has_lines && c == '\\')
      out += "\\\\";
    else
      out += c;
  return out + "'";
}

std::string item_summary(const json& item) {
  const auto kind = string_or(item, "kind");
  if (kind == "tool_call")
    return "→ " + tool_summary(item);
  if (kind == "tool_result")
    return "← " + brief(string_or(item, "content", string_or(item, "text")));
  return fmt::format("{} {}", neutralised(kind), brief(string_or(item, "text")));
}

std::string error_text(const json& data) {
  const auto& why = object_at(data, "error");
  return fmt::format("{}: {}", neutralised(string_or(why, "code", "error")),
                     neutralised(string_or(why, "message", "no reason given")));
}

/// The paths of the files that a turn changed, as many as fit into a line.
std::string files_summary(const json& data) {
  std::string paths;
  if (const auto files = data.find("files"); files != data.end() && files->is_array())
    for (const auto& file : *files)
      paths += (paths.empty() ? "" : ", ") + string_or(file, "path");
  return brief(paths.empty() ? string_or(data, "problem", "nothing") : paths);
}

std::string summary(const std::string& type, const json& data) {
  if (type == "turn.queued")
    return brief(string_or(data, "prompt_preview"));
  if (type == "turn.completed")
    return string_or(data, "outcome") == "succeeded"
             ? brief(string_or(data, "text"))
             : neutralised(string_or(data, "outcome")) + ", " + brief(error_text(data));
  if (type == "item.delta")
    return brief(string_or(data, "text"));
  if (type == "item.started" || type == "item.completed")
    return item_summary(object_at(data, "item"));
  if (type == "permission.requested" || type == "question.requested")
    return fmt::format("{} {} ({})", neutralised(string_or(data, "tool")), wish_of(data),
                       neutralised(string_or(data, "permission")));
  if (type == "permission.resolved" || type == "question.resolved")
    return resolution_summary(type, data);
  if (type == "permission.rule")
    return fmt::format("{} {} {} by {}", neutralised(string_or(data, "rule")),
                       neutralised(string_or(data, "change")), neutralised(string_or(data, "tool")),
                       neutralised(string_or(data, "by")));
  if (type == "turn.changes")
    return files_summary(data);
  if (type == "events.removed")
    return fmt::format("{} to {} ({})", int_or(data, "from", 0), int_or(data, "to", 0),
                       neutralised(string_or(data, "reason")));
  for (const auto* key : {"message", "text", "reason", "error", "session", "id", "via"})
    if (const auto text = string_at(data, key))
      return brief(*text);
  return {};
}

tint tint_of(const std::string& type, const json& data) {
  if (type == "turn.completed")
    return string_or(data, "outcome") == "succeeded" ? tint::green : tint::red;
  if (type == "fault" || type == "session.lost" || type == "agent.retrying")
    return tint::yellow;
  return type.starts_with("turn.") ? tint::bold : tint::cyan;
}

} // namespace

std::string brief(std::string_view text, std::size_t limit) {
  std::string line;
  for (const char c : text)
    line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  if (line.size() > limit) {
    while (limit > 0 && (static_cast<unsigned char>(line[limit]) & 0xC0) == 0x80)
      --limit;
    line = line.substr(0, limit) + " …";
  }
  return neutralised(line);
}

std::string wish_of(const json& request, std::size_t limit) {
  const auto& input = object_at(request, "input");
  if (const auto& questions = array_at(input, "questions"); !questions.empty()) {
    std::string all;
    for (const auto& each : questions)
      all += (all.empty() ? "" : " · ") + string_or(each, "question");
    return brief(all, limit);
  }
  for (const auto* key : {"command", "file_path", "pattern", "url", "query", "description"})
    if (const auto text = string_at(input, key))
      return brief(*text, limit);
  return brief(dump_json(input), limit);
}

std::string decide_line(const std::string& workspace, const json& request,
                        const std::string& server) {
  auto line =
    fmt::format("tidemark decide {} {} allow", workspace, string_or(request, "permission"));
  const auto& questions = array_at(object_at(request, "input"), "questions");
  for (const auto& each : questions)
    line += " --answer " + shell_word(string_or(each, "question") + "=…");
  if (questions.empty())
    line += "|always|deny";
  if (!server.empty())
    line += " --server " + server;
  return neutralised(line);
}

std::string event_line(const terminal& to, const json& envelope) {
  const auto type = string_or(envelope, "type", "?");
  const auto& data = object_at(envelope, "data");
  const auto clock = string_or(envelope, "time");
  const auto time = clock.size() >= 23 ? clock.substr(11, 12) : clock;
  return fmt::format("{:>6} {} {} {}", int_or(envelope, "offset", 0),
                     painted(to, tint::dim, neutralised(time)),
                     painted(to, tint_of(type, data), fmt::format("{:<20}", neutralised(type))),
                     summary(type, data));
}

std::string decide_hint(const json& envelope, const std::string& server) {
  const auto& data = object_at(envelope, "data");
  if (!string_or(envelope, "type").ends_with(".requested") || string_or(data, "expires_at").empty())
    return {};
  return ", decide: " + decide_line(string_or(envelope, "workspace"), data, server);
}

void turn_view::show(const json& envelope) {
  const auto type = string_or(envelope, "type");
  const auto& data = object_at(envelope, "data");
  if (type == "turn.queued" && int_or(data, "position", 0) > 0)
    note(tint::dim, fmt::format("queued, {} ahead", int_or(data, "position", 0)));
  else if (type == "turn.started")
    note(tint::dim, fmt::format("started: {} {}",
                                neutralised(string_or(object_at(data, "agent"), "name", "agent")),
                                neutralised(string_or(object_at(data, "agent"), "version"))));
  else if (type == "item.delta")
    show_delta(data);
  else if (type == "item.started" || type == "item.completed")
    show_item(type, object_at(data, "item"));
  else if (type == "turn.completed")
    show_end(data);
  else if (type == "permission.requested" || type == "question.requested")
    show_request(envelope);
  else if (type == "agent.retrying" || type == "session.lost" || type == "fault"
           || type == "agent.notice" || type.starts_with("permission.")
           || type.starts_with("question."))
    note(tint::yellow, fmt::format("{}: {}", type, summary(type, data)));
}

void turn_view::show_delta(const json& data) {
  const auto item = string_or(data, "item");
  const auto kind = kinds_.find(item);
  if (kind == kinds_.end() || kind->second != "message")
    return;
  streamed_[item] = true;
  text(item, string_or(data, "text"));
}

void turn_view::show_item(const std::string& type, const json& item) {
  const auto id = string_or(item, "id");
  const auto kind = string_or(item, "kind");
  kinds_[id] = kind;
  const bool completed = type == "item.completed";
  // An answer that came in one piece, without deltas; prompts of sub-agents are not the answer.
  if (completed && kind == "message" && string_or(item, "role") == "assistant" && !streamed_[id])
    text(id, string_or(item, "text"));
  else if (completed && (kind == "tool_call" || kind == "tool_result"))
    note(string_or(item, "status") == "failed" ? tint::red : tint::cyan, item_summary(item));
}

void turn_view::show_request(const json& envelope) {
  const auto& data = object_at(envelope, "data");
  note(tint::yellow, fmt::format("{} asks: {}", neutralised(string_or(data, "tool", "a tool")),
                                 wish_of(data, 1000)));
  const auto until = string_or(data, "expires_at");
  if (until.empty()) // decided without a person
    return;
  for (const auto& question : array_at(object_at(data, "input"), "questions"))
    for (const auto& option : array_at(question, "options"))
      note(tint::yellow, fmt::format("  {}: {}", brief(string_or(question, "header", "option"), 40),
                                     brief(string_or(option, "label"))));
  note(tint::yellow, fmt::format("  waits until {} for: {}", neutralised(until),
                                 decide_line(string_or(envelope, "workspace"), data, server_)));
}

void turn_view::show_end(const json& data) {
  const auto outcome = string_or(data, "outcome");
  const auto seconds = static_cast<double>(int_or(data, "duration_ms", 0)) / 1000.0;
  if (outcome == "succeeded")
    note(tint::green, fmt::format("succeeded in {:.1f} s", seconds));
  else
    note(tint::red, fmt::format("{}: {}", neutralised(outcome), error_text(data)));
}

void turn_view::text(const std::string& item, const std::string& piece) {
  if (piece.empty())
    return;
  if (line_open_ && item != last_item_)
    to_.out << '\n';
  last_item_ = item;
  to_.out << neutralised(piece) << std::flush;
  line_open_ = piece.back() != '\n';
}

void turn_view::note(tint colour, const std::string& line) {
  if (line_open_)
    to_.out << '\n' << std::flush;
  line_open_ = false;
  to_.err << painted(to_, colour, line) << '\n';
}

} // namespace tidemark
