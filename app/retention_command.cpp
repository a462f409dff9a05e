#include "app/commands.hpp"
#include "base/json.hpp"
#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace tidemark {

namespace {

struct rule_line {
  const char* member; // as the server names it
  const char* what;
  bool is_time;
  bool is_size;
};

constexpr std::array<rule_line, 4> rule_lines{{{"age_s", "age", true, false},
                                               {"bytes", "bytes", false, true},
                                               {"turns", "turns", false, false},
                                               {"deltas_s", "deltas", true, false}}};

std::string shown(const json& rules, const rule_line& rule) {
  const auto value = int_or(rules, rule.member, 0);
  if (value <= 0)
    return "everything";
  if (rule.is_time) // milliseconds, as far as they fit
    return show_duration(std::chrono::seconds{std::min(value, std::int64_t{1} << 40)});
  return rule.is_size ? show_bytes(static_cast<std::uint64_t>(value)) : fmt::format("{}", value);
}

void print_rules(const json& workspace, terminal& to) {
  const auto& rules = object_at(workspace, "retention");
  const auto& own = object_at(rules, "own");
  for (const auto& rule : rule_lines) {
    const auto is_own = own.contains(rule.member) && !own[rule.member].is_null();
    to.out << fmt::format("{:<7} {:<12} {}\n", rule.what,
                          shown(object_at(rules, "effective"), rule),
                          is_own ? "its own rule" : "the server's setting");
  }
}

/// What a rule of the command line means: a number, text as settings have it, `all` or `server`.
json wanted(const std::string& text, const rule_line& rule) {
  if (text == "server")
    return nullptr;
  if (text == "all")
    return rule.is_time ? json("0s") : json(0);
  if (!rule.is_time && !text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    auto number = parse_json(text); // not quoted, so that the server says what is too large
    if (number)
      return std::move(*number);
  }
  return text;
}

} // namespace

int run_retention(const api_address& server, const retention_options& what, terminal& to) {
  const auto path = "/api/v1/workspaces/" + percent_encoded(what.workspace);
  auto change = json::object();
  const std::array<const std::string*, 4> given{&what.age, &what.bytes, &what.turns, &what.deltas};
  for (std::size_t i = 0; i < rule_lines.size(); ++i)
    if (!given[i]->empty())
      change[rule_lines[i].what] = wanted(*given[i], rule_lines[i]);
  if (!change.empty()) {
    auto body = json::object();
    body["retain"] = std::move(change);
    api_client client{server};
    if (const auto done = client.call("PATCH", path, dump_json(body)); !done)
      return report_failure(done.error(), server, to);
  }
  const auto show = [&](const json& body) { print_rules(body, to); };
  return print_answer(server, path, what.as_json, to, show);
}

} // namespace tidemark
