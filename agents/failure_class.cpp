#include "agents/failure_class.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace tidemark {

namespace {

/// Longest one-line message of the CLI that is taken for an error without being flagged as one.
constexpr std::size_t longest_disguise = 160;

/// For matching only: ASCII in lower case, back-quotes left out, the curly apostrophe made plain.
std::string normalized(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\xE2\x80\x99")) {
      out += '\'';
      i += 2;
    } else if (text[i] != '`') {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    }
  }
  return out;
}

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& phrases) {
  return std::ranges::any_of(
    phrases, [&](auto phrase) { return text.find(phrase) != std::string_view::npos; });
}

constexpr std::array<std::string_view, 2> lost_session{"no conversation found with session id",
                                                       "no conversation found to continue"};
constexpr std::array<std::string_view, 9> no_login{
  "please run /login",       "invalid api key",        "not logged in",
  "authentication_error",    "authentication_failed",  "invalid bearer token",
  "oauth token has expired", "failed to authenticate", "invalid x-api-key"};
constexpr std::array<std::string_view, 3> limits{"rate_limit_error", "usage limit reached",
                                                 "you've hit your"};
constexpr std::array<std::string_view, 1> no_credit{"credit balance is too low"};
constexpr std::array<std::string_view, 2> broken_session{
  "tool_use ids were found without tool_result", "unexpected tool_use_id found in tool_result"};

failure_class authentication_failed() {
  return {"AUTHENTICATION_FAILED", false};
}

failure_class rate_limited() {
  return {"RATE_LIMITED", true};
}

/// "You've hit your session limit · resets 8pm", "5-hour limit reached ∙ resets 3pm",
/// "Claude AI usage limit reached|1900000000": begins like this, then names the reset, then ends.
bool is_limit_line(std::string_view text) {
  constexpr std::size_t longest_subject = 48;
  const auto subject = text.find("limit");
  if (subject == std::string_view::npos || subject > longest_subject || reset_hint(text).empty())
    return false;
  return text.starts_with("you've hit your ") || text.starts_with("you've reached your ")
         || text.substr(subject).starts_with("limit reached");
}

} // namespace

std::string reset_hint(std::string_view text) {
  constexpr std::size_t longest_hint = 64;
  const auto lower = normalized(text);
  if (const auto bar = lower.rfind("limit reached|"); bar != std::string::npos) {
    const auto digits =
      std::string_view{lower}.substr(bar + std::string_view{"limit reached|"}.size());
    const auto end = std::min(digits.find_first_not_of("0123456789"), digits.size());
    return std::string{digits.substr(0, std::min(end, longest_hint))};
  }
  const auto word = text.rfind("resets ");
  if (word == std::string_view::npos)
    return {};
  const auto hint = text.substr(word + std::string_view{"resets "}.size());
  return hint.size() > longest_hint ? std::string{} : std::string{hint};
}

std::optional<failure_class> classify_failure(const failure_signs& signs) {
  const auto text = normalized(signs.text);
  if (has_any(text, lost_session))
    return failure_class{"SESSION_LOST", true};
  if (has_any(text, broken_session))
    return failure_class{
      "SESSION_BROKEN", false,
      "the agent's conversation is damaged: reset the session of this workspace to go on"};
  if (signs.api_error == "authentication_failed" || signs.http_status == 401
      || has_any(text, no_login))
    return authentication_failed();
  if (signs.api_error == "billing_error" || has_any(text, no_credit))
    return failure_class{"BILLING_ERROR", false};
  if (signs.api_error == "rate_limit" || signs.http_status == 429 || has_any(text, limits))
    return rate_limited();
  if (text.find("session id") != std::string::npos
      && text.find("is already in use") != std::string::npos)
    return failure_class{"SESSION_IN_USE", true};
  if (text.find("cannot be used with root/sudo") != std::string::npos)
    return failure_class{
      "RUNTIME_UNAVAILABLE", false,
      "the workspace's own .claude/settings.json may ask for a mode that root must not use"};
  return std::nullopt;
}

std::optional<failure_class> failure_in_disguise(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  if (text.empty() || text.size() > longest_disguise || text.find('\n') != std::string_view::npos)
    return std::nullopt;
  const auto line = normalized(text);
  if (line.starts_with("not logged in") || line.ends_with("\xC2\xB7 please run /login"))
    return authentication_failed();
  if (is_limit_line(line))
    return rate_limited();
  return std::nullopt;
}

} // namespace tidemark
