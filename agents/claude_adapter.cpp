#include "agents/claude_adapter.hpp"

#include "agents/bounded_text.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t longest_noise = 2 << 10;
constexpr std::chrono::milliseconds longest_silence{3'600'000};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

// Signs of life without news, some of them many a second: not worth an event.
constexpr std::array<std::string_view, 5> quiet_types{
  "tool_progress", "keep_alive", "command_lifecycle", "transcript_mirror", "control_response"};
constexpr std::array<std::string_view, 3> quiet_subtypes{"thinking_tokens", "session_state_changed",
                                                         "control_request_progress"};

/// Output that is not the protocol.
void noise(std::string_view line, bool truncated, std::uint64_t full_size, event_sink& out) {
  auto data = json::object();
  data["text"] = repair_utf8(utf8_prefix(line, longest_noise));
  if (truncated || line.size() > longest_noise) {
    data["truncated"] = true;
    data["size"] = full_size;
  }
  out.emit("agent.noise", std::move(data));
}

/// A line over the limit: its type, if it stands near the beginning, and its size are all we keep.
void oversized(std::string_view line, std::uint64_t full_size, event_sink& out) {
  if (!line.starts_with('{'))
    return noise(line, true, full_size, out);
  constexpr std::string_view key = "\"type\":";
  auto head = line.substr(0, longest_noise);
  const auto at = head.find(key);
  auto type = std::string_view{};
  if (at != std::string_view::npos) {
    head.remove_prefix(at + key.size());
    if (const auto open = head.find('"'); open <= 1)
      type = head.substr(open + 1, head.find('"', open + 1) - open - 1);
  }
  json data = {{"type", repair_utf8(utf8_prefix(type, 64))},
               {"subtype", ""},
               {"truncated", true},
               {"size", full_size}};
  out.emit("agent.opaque", std::move(data));
}

} // namespace

claude_adapter::claude_adapter(std::string id_prefix, std::string resumed)
  : ids_(std::move(id_prefix)),
    session_(std::move(resumed)) {}

std::string claude_adapter::begin_turn(std::string_view prompt) {
  facts_ = {};
  items_.begin_turn();
  control_.begin_turn();
  in_turn_ = true;
  auto message = json::object();
  message["type"] = "user";
  message["message"] = {{"role", "user"}, {"content", std::string{prompt}}};
  message["parent_tool_use_id"] = nullptr;
  message["session_id"] = "";
  return dump_json(message) + "\n";
}

adapter_output claude_adapter::on_line(std::string_view line, bool truncated,
                                       std::uint64_t full_size) {
  adapter_output made;
  if (is_blank(line) && !truncated)
    return made;
  if (truncated) {
    event_sink out{made};
    oversized(line, full_size, out);
    return made;
  }
  event_sink out{made, line};
  try {
    const auto message = parse_json(line);
    if (message && message->is_object())
      on_message(*message, out);
    else
      noise(line, false, full_size, out);
  } catch (const std::exception& bug) {
    // Nothing above should throw; if it does, one line is lost, not the turn.
    out.notice("adapter_fault", bug.what());
  }
  return made;
}

void claude_adapter::on_message(const json& line, event_sink& out) {
  const auto type = string_or(line, "type");
  facts_.spoke_protocol = facts_.spoke_protocol || !type.empty();
  if (type == "system" && string_or(line, "subtype") == "init") {
    session_.on_init(line, out);
    facts_.model = session_.model();
    // Control requests sent before this point may have met nobody.
    if (in_turn_)
      out.out().replies += control_.repeat_interrupt();
    return;
  }
  session_.on_line(line, out);
  if (type == "stream_event" && !string_or(object_at(line, "event"), "type").empty())
    items_.on_stream_event(line, out);
  else if (type == "assistant")
    on_assistant(line, out);
  else if (type == "user")
    items_.on_user(line, out);
  else if (type == "result")
    on_result(line, out);
  else if (type == "system")
    on_system(line, out);
  else if (type == "control_request")
    control_.on_request(line, out);
  else if (type == "control_cancel_request")
    control_.on_cancel(line, out);
  else if (type == "control_response")
    control_.on_response(line, out);
  else if (type == "rate_limit_event")
    on_rate_limit(line, out);
  else if (type == "conversation_reset")
    on_reset(out);
  else if (!is_one_of(type, quiet_types))
    out.opaque(type, string_or(line, "subtype"));
}

void claude_adapter::on_reset(event_sink& out) {
  session_.on_reset(out);
  cost_.restart();
}

void claude_adapter::on_system(const json& line, event_sink& out) {
  const auto subtype = string_or(line, "subtype");
  if (subtype == "api_retry")
    return on_api_retry(line, out);
  if (subtype == "permission_denied")
    return on_denied(line, out);
  if (subtype == "compact_boundary") {
    const auto& facts = object_at(line, "compact_metadata");
    return out.notice(
      "compaction", "the conversation was compacted",
      {{"trigger", string_or(facts, "trigger")}, {"pre_tokens", int_or(facts, "pre_tokens", 0)}});
  }
  if (subtype == "status") {
    if (const auto error = string_or(line, "compact_error"); !error.empty())
      out.notice("compaction_failed", utf8_prefix(error, longest_noise));
    return;
  }
  if (!tasks_.on_system(subtype, line, out) && !is_one_of(subtype, quiet_subtypes))
    out.opaque("system", subtype);
}

void claude_adapter::on_api_retry(const json& line, event_sink& out) {
  const auto delay =
    std::clamp<std::int64_t>(int_or(line, "retry_delay_ms", 0), 0, longest_silence.count());
  json data = {{"attempt", int_or(line, "attempt", 0)},
               {"max", int_or(line, "max_retries", 0)},
               {"delay_ms", delay},
               {"status", int_or(line, "error_status", 0)},
               {"error", string_or(line, "error")}};
  out.emit("agent.retrying", std::move(data));
  out.out().quiet_for = std::chrono::milliseconds{delay};
}

void claude_adapter::on_rate_limit(const json& line, event_sink& out) {
  const auto& info = object_at(line, "rate_limit_info");
  const auto status = string_or(info, "status");
  if (status == "rejected")
    facts_.limit_resets_at = int_or(info, "resetsAt", 0);
  // Nearly every turn repeats the same figures.
  if (info == last_rate_limit_)
    return;
  last_rate_limit_ = info;
  const auto kind = string_or(info, "rateLimitType", "usage");
  out.notice("rate_limit", fmt::format("{} limit: {}", kind, status.empty() ? "unknown" : status),
             {{"status", status},
              {"limit", kind},
              {"resets_at", int_or(info, "resetsAt", 0)},
              {"utilization", number_or(info, "utilization", 0)}});
}

void claude_adapter::on_denied(const json& line, event_sink& out) {
  auto denial = claude_denial(line);
  const auto text = fmt::format("{} was denied: {}", string_or(denial, "tool"),
                                string_or(line, "message", "no reason given"));
  out.notice("permission_denied", utf8_prefix(text, longest_noise), denial);
  if (auto id = string_or(denial, "tool_use_id"); !id.empty())
    facts_.denials.insert_or_assign(std::move(id), std::move(denial));
}

void claude_adapter::on_assistant(const json& line, event_sink& out) {
  if (string_or(line, "parent_tool_use_id").empty()) {
    facts_.api_error = string_or(line, "error");
    const auto model = string_or(object_at(line, "message"), "model");
    if (!model.empty() && model != "<synthetic>")
      facts_.model = model;
  }
  items_.on_assistant(line, out);
}

void claude_adapter::on_result(const json& line, event_sink& out) {
  cost_.on_total(number_or(line, "total_cost_usd", 0));
  if (in_turn_ && answers_prompt(line))
    return end_turn(line, out);
  // Of background work, or of a prompt that is over: recorded, but no turn's end.
  if (!in_turn_)
    close_open(out);
  session_.on_result(line, out);
  json data = {{"subtype", string_or(line, "subtype")},
               {"origin", string_or(object_at(line, "origin"), "kind")},
               {"is_error", bool_or(line, "is_error", false)}};
  out.notice("background_result", utf8_prefix(string_or(line, "result"), longest_noise),
             std::move(data));
}

void claude_adapter::end_turn(const json& line, event_sink& out) {
  close_open(out);
  facts_.last_text = items_.last_text();
  facts_.interrupted = control_.interrupted();
  auto end = read_claude_result(line, facts_);
  end.cost_usd = cost_.take();
  if (end.session_lost)
    session_.on_lost(line, end.why->message, out);
  else
    session_.on_result(line, out);
  // Readers take the text from items: what no message said so far must become one.
  const auto& said = items_.last_text();
  if (end.text.size() > said.size() && items_.turn_text().find(end.text) == std::string::npos)
    items_.add_message(std::string_view{end.text}.substr(said.size()), out);
  out.emit("turn.completed", json::object()); // for its line: the workspace makes the event
  in_turn_ = false;
  out.out().end = std::move(end);
}

adapter_output claude_adapter::on_exit(exit_status how, std::string_view stderr_tail) {
  adapter_output made;
  event_sink out{made};
  close_open(out);
  tasks_.clear();
  if (!std::exchange(in_turn_, false))
    return made;
  facts_.last_text = items_.last_text();
  facts_.interrupted = control_.interrupted();
  auto end = claude_result_of_exit(how, stderr_tail, facts_);
  end.cost_usd = cost_.take();
  if (end.session_lost)
    session_.on_lost(json::object(), end.why->message, out);
  if (!end.text.empty() && items_.turn_text().empty())
    items_.add_message(end.text, out);
  made.end = std::move(end);
  return made;
}

std::string claude_adapter::interrupt() {
  return in_turn_ ? control_.interrupt() : std::string{};
}

std::string claude_adapter::answer(std::string_view permission, decision d,
                                   std::string_view message) {
  return control_.answer(permission, d, message);
}

std::string claude_adapter::answer_question(std::string_view permission, const json& answers) {
  return control_.answer_question(permission, answers);
}

adapter_output claude_adapter::abandon_turn() {
  adapter_output made;
  event_sink out{made};
  close_open(out);
  in_turn_ = false;
  return made;
}

void claude_adapter::close_open(event_sink& out) {
  items_.close_open(out);
  control_.close_open(out);
}

std::unique_ptr<adapter> make_claude_adapter(std::string_view resumed) {
  constexpr std::size_t random_digits = 12; // the end of a UUID: 48 random bits
  const auto unique = new_uuid(now_utc());
  return std::make_unique<claude_adapter>(unique.substr(unique.size() - random_digits),
                                          std::string{resumed});
}

} // namespace tidemark
