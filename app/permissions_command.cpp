#include "app/commands.hpp"
#include "app/event_view.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

namespace {

constexpr std::size_t widest = 1000; ///< of what the agent wants to do, on a screen

void print_questions(const json& request, terminal& to) {
  for (const auto& question : array_at(object_at(request, "input"), "questions")) {
    to.out << "    " << brief(string_or(question, "question"), widest) << '\n';
    for (const auto& option : array_at(question, "options"))
      to.out << "      - " << brief(string_or(option, "label"), widest) << '\n';
  }
}

void print_pending(const json& request, const std::string& server, terminal& to) {
  const auto is_question = string_or(request, "kind") == "question";
  to.out << painted(to, tint::bold, neutralised(string_or(request, "permission"))) << "  "
         << neutralised(string_or(request, "workspace")) << "  "
         << painted(to, tint::yellow, neutralised(string_or(request, "tool"))) << "  until "
         << neutralised(string_or(request, "expires_at")) << '\n';
  if (is_question)
    print_questions(request, to);
  else
    to.out << "    " << wish_of(request, widest) << '\n';
  const auto how = decide_line(string_or(request, "workspace"), request, server);
  to.out << "    " << painted(to, tint::dim, how) << '\n';
}

void print_rule(const json& rule, terminal& to) {
  to.out << fmt::format("{:<12} {} {}  by {}, {}\n", neutralised(string_or(rule, "rule")),
                        neutralised(string_or(rule, "tool")),
                        brief(string_or(rule, "command", "always"), widest),
                        neutralised(string_or(rule, "by")), neutralised(string_or(rule, "since")));
}

std::string permissions_path(const std::string& workspace) {
  return fmt::format("/api/v1/workspaces/{}/permissions", percent_encoded(workspace));
}

} // namespace

int run_permissions(const api_address& server, const permissions_options& what, terminal& to) {
  if (!what.forget.empty()) {
    api_client client{server};
    const auto removed = client.call("DELETE", permissions_path(what.workspace) + "/rules/"
                                                 + percent_encoded(what.forget));
    return removed ? exit_ok : report_failure(removed.error(), server, to);
  }
  const auto path =
    what.workspace.empty() ? std::string{"/api/v1/permissions"} : permissions_path(what.workspace);
  const auto show = [&](const json& body) {
    for (const auto& request : array_at(body, "pending"))
      print_pending(request, shown_server(server), to);
    for (const auto& rule : array_at(body, "rules"))
      print_rule(rule, to);
    if (array_at(body, "pending").empty())
      to.err << "Nothing waits for a decision"
             << (what.workspace.empty()            ? ".\n"
                 : array_at(body, "rules").empty() ? ", and no rule is stored.\n"
                                                   : ".\n");
  };
  return print_answer(server, path, what.as_json, to, show);
}

int run_decide(const api_address& server, const decide_options& what, terminal& to) {
  auto body = json::object();
  body["decision"] = what.decision == "always" ? "allow_always" : what.decision;
  if (!what.message.empty())
    body["message"] = what.message;
  for (const auto& each : what.answers) {
    const auto cut = each.rfind('=');
    if (cut == std::string::npos)
      return report_failure(
        error{errc::invalid_argument, "--answer wants <text of the question>=<answer>"}, server,
        to);
    body["answers"][each.substr(0, cut)] = each.substr(cut + 1);
  }
  api_client client{server};
  const auto response =
    client.call("POST", permissions_path(what.workspace) + "/" + percent_encoded(what.permission),
                dump_json(body));
  if (!response)
    return report_failure(response.error(), server, to);
  const auto reply = parse_json(response->body);
  if (const auto rule = reply ? string_or(*reply, "rule") : std::string{}; !rule.empty())
    to.out << "stored " << neutralised(rule) << '\n';
  return exit_ok;
}

} // namespace tidemark
