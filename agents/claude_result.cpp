#include "agents/claude_result.hpp"

#include "agents/bounded_text.hpp"
#include "agents/failure_class.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t longest_message = 8 << 10;
constexpr std::string_view default_code = "CLAUDE_CLI_ERROR_RESULT";

std::string trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos)
    return {};
  return std::string{text.substr(first, text.find_last_not_of(blank) - first + 1)};
}

/// `errors[]`: texts, or objects with a message.
std::string joined_errors(const json& result) {
  std::string text;
  for (const auto& entry : array_at(result, "errors")) {
    const auto one =
      trimmed(entry.is_string() ? entry.get<std::string>() : string_or(entry, "message"));
    if (one.empty())
      continue;
    if (!text.empty())
      text += "; ";
    text += one;
  }
  return text;
}

std::string failure_message(const json& result, std::int64_t status) {
  for (auto text :
       {joined_errors(result), trimmed(string_or(result, "result")), string_or(result, "subtype")})
    if (!text.empty() && text != "success")
      return std::string{utf8_prefix(text, longest_message)};
  if (status > 0)
    return fmt::format("the model API answered with HTTP status {}", status);
  return "the agent reported a failure without saying why";
}

std::string final_text(const json& result, const std::string& last_text) {
  auto text = string_or(result, "result");
  // The CLI sometimes repeats only the first piece of its last message, or nothing.
  return last_text.empty() || text.starts_with(last_text) ? std::move(text) : last_text;
}

/// A count of tokens; one that cannot be is none.
std::int64_t count_at(const json& usage, const char* key) {
  return std::max<std::int64_t>(0, int_or(usage, key, 0));
}

json merged_denials(const json& result, const claude_turn_facts& facts) {
  auto denials = json::array();
  auto seen = facts.denials;
  for (const auto& entry : array_at(result, "permission_denials")) {
    auto denial = claude_denial(entry);
    if (auto id = string_or(denial, "tool_use_id"); id.empty())
      denials.push_back(std::move(denial));
    else
      seen.insert_or_assign(std::move(id), std::move(denial));
  }
  for (auto& [id, denial] : seen)
    denials.push_back(std::move(denial));
  return denials;
}

json details_of(const json& result, std::int64_t status) {
  json details = {{"subtype", string_or(result, "subtype")}};
  if (status > 0)
    details["api_error_status"] = status;
  if (auto reason = string_or(result, "terminal_reason"); !reason.empty())
    details["terminal_reason"] = std::move(reason);
  if (result.contains("num_turns"))
    details["num_turns"] = int_or(result, "num_turns", 0);
  return details;
}

/// What a rate-limited caller needs to know: when it may try again.
void add_reset(turn_error& why, const claude_turn_facts& facts) {
  if (why.code != "RATE_LIMITED")
    return;
  if (auto hint = reset_hint(why.message); !hint.empty())
    why.details["resets"] = std::move(hint);
  if (facts.limit_resets_at > 0)
    why.details["resets_at"] = facts.limit_resets_at;
}

turn_error as_error(const failure_class& found, std::string message, json details) {
  if (!found.advice.empty())
    message += "; " + found.advice;
  return {found.code, std::move(message), found.retryable, std::move(details)};
}

bool is_transient(std::int64_t status, std::string_view api_error) {
  return status >= 500 || status == 408 || api_error == "server_error"
         || api_error == "overloaded_error";
}

turn_error error_of(const json& result, const claude_turn_facts& facts) {
  const auto status = int_or(result, "api_error_status", 0);
  auto message = failure_message(result, status);
  auto details = details_of(result, status);
  auto why =
    turn_error{std::string{default_code}, message, is_transient(status, facts.api_error), details};
  if (const auto found = classify_failure({message, facts.api_error, status}))
    why = as_error(*found, std::move(message), std::move(details));
  add_reset(why, facts);
  return why;
}

std::string last_line(std::string_view text) {
  const auto clean = trimmed(text);
  const auto at = clean.rfind('\n');
  return trimmed(at == std::string::npos ? clean : clean.substr(at + 1));
}

std::string describe(exit_status how) {
  return how.signal != 0 ? fmt::format("was ended by signal {}", how.signal)
                         : fmt::format("ended with exit code {}", how.code);
}

} // namespace

bool answers_prompt(const json& result) {
  const auto origin = string_or(object_at(result, "origin"), "kind", "human");
  return origin == "human";
}

json claude_denial(const json& denial) {
  json made = {{"tool", string_or(denial, "tool_name")},
               {"tool_use_id", string_or(denial, "tool_use_id")},
               {"input", object_at(denial, "tool_input")}};
  if (auto message = string_or(denial, "message"); !message.empty())
    made["message"] = std::move(message);
  return made;
}

turn_result read_claude_result(const json& result, const claude_turn_facts& facts) {
  turn_result end;
  end.text = final_text(result, facts.last_text);
  end.stop_reason = string_or(result, "stop_reason");
  const auto& usage = object_at(result, "usage");
  end.usage = {count_at(usage, "input_tokens"), count_at(usage, "output_tokens"),
               count_at(usage, "cache_read_input_tokens"),
               count_at(usage, "cache_creation_input_tokens")};
  end.model = facts.model;
  end.denials = merged_denials(result, facts);
  const auto flagged =
    bool_or(result, "is_error", false) || string_or(result, "subtype").starts_with("error");
  if (facts.interrupted) {
    end.how = outcome::interrupted;
    const auto status = int_or(result, "api_error_status", 0);
    end.why = turn_error{"INTERRUPTED", "the turn was interrupted on request", false,
                         details_of(result, status)};
  } else if (flagged) {
    end.why = error_of(result, facts);
    end.session_lost = end.why->code == "SESSION_LOST";
  } else if (const auto disguised = failure_in_disguise(end.text)) {
    end.why = as_error(*disguised, end.text, details_of(result, 0));
    add_reset(*end.why, facts);
  } else {
    end.how = outcome::succeeded;
  }
  return end;
}

turn_result claude_result_of_exit(exit_status how, std::string_view stderr_tail,
                                  const claude_turn_facts& facts) {
  turn_result end;
  end.text = facts.last_text;
  end.model = facts.model;
  for (const auto& [id, denial] : facts.denials)
    end.denials.push_back(denial);
  json details = {{"exit_code", how.code}, {"signal", how.signal}};
  if (!stderr_tail.empty())
    details["stderr"] = repair_utf8(utf8_suffix(stderr_tail, longest_message));
  if (facts.interrupted) {
    end.how = outcome::interrupted;
    end.why =
      turn_error{"INTERRUPTED", "the turn was interrupted on request; the agent " + describe(how),
                 false, std::move(details)};
    return end;
  }
  const auto cause = repair_utf8(utf8_prefix(last_line(stderr_tail), longest_message));
  auto message = fmt::format("the agent {} without a result{}{}", describe(how),
                             cause.empty() ? "" : ": ", cause);
  if (const auto found = classify_failure({stderr_tail, facts.api_error, 0})) {
    end.why = as_error(*found, std::move(message), std::move(details));
    end.session_lost = found->code == "SESSION_LOST";
    if (found->code == "AUTHENTICATION_FAILED" && end.text.empty())
      end.text = cause; // clients look for the agent's own words in the text
    add_reset(*end.why, facts);
    return end;
  }
  end.why = turn_error{facts.spoke_protocol ? "NO_RESULT" : "CLAUDE_CLI_NO_PARSEABLE_OUTPUT",
                       std::move(message), how.signal != 0, std::move(details)};
  return end;
}

void cost_meter::on_total(double total) {
  if (!std::isfinite(total) || total < 0)
    return;
  untaken_ += total >= last_total_ ? total - last_total_ : total;
  last_total_ = total;
}

double cost_meter::take() {
  // Totals are sums of binary fractions: a difference of two has digits that nobody was charged.
  constexpr double billionths = 1e9;
  return std::round(std::exchange(untaken_, 0) * billionths) / billionths;
}

} // namespace tidemark
