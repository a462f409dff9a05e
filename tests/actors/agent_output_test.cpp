#include "actors/agent_output.hpp"
#include "base/json.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace tidemark;

namespace {

std::string line_of(const std::string& text) {
  json delta = {{"type", "text_delta"}, {"text", text}};
  json event = {{"type", "content_block_delta"}, {"index", 0}, {"delta", std::move(delta)}};
  json line = {{"type", "stream_event"}, {"event", std::move(event)}};
  return dump_json(line);
}

} // namespace

SCENARIO("of a real agent's streamed message neither texts nor raw lines hold parts of a secret") {
  const redactor secrets{{"SECSPLIT0TOKEN77XYZ"}};
  const auto agent = make_claude_adapter();
  (void) agent->begin_turn("say it");
  std::vector<std::string> lines{
    R"({"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}})",
    R"({"type":"stream_event","event":{"type":"content_block_start","index":0,)"
    R"("content_block":{"type":"text","text":""}}})",
    line_of("SECSPL"),
    line_of("IT0TOK"),
    line_of("EN77XYZ ok"),
    line_of(", done SECSP"),
    R"({"type":"assistant","message":{"id":"m1","content":[{"type":"text",)"
    R"("text":"SECSPLIT0TOKEN77XYZ ok, done SECSP"}]}})"};

  delta_mask deltas;
  std::string joined;
  std::string whole;
  std::vector<std::string> order;
  for (const auto& line : lines) {
    session_report report;
    report.events = agent->on_line(line, false, line.size()).events;
    deltas.apply(secrets, report.events);
    mask_secrets(secrets, report);
    for (const auto& event : report.events) {
      order.push_back(event.type);
      joined += string_or(event.data, "text");
      if (event.type == "item.completed")
        whole = string_or(object_at(event.data, "item"), "text");
      for (const auto* part : {"SECSPLI", "IT0TOK", "EN77XYZ"}) {
        CHECK(dump_json(event.data).find(part) == std::string::npos);
        CHECK((!event.raw || event.raw->find(part) == std::string::npos));
      }
      if (event.type == "item.started")
        CHECK_FALSE(event.raw);
    }
  }
  CHECK(joined == "[secret] ok, done SECSP");
  CHECK(whole == joined);
  CHECK(order
        == std::vector<std::string>{"item.started", "item.delta", "item.delta", "item.delta",
                                    "item.completed"});
}

SCENARIO("deltas that hold no beginning of a secret pass untouched, with their lines") {
  const redactor secrets{{"SECSPLIT0TOKEN77XYZ"}};
  delta_mask deltas;
  json data = {{"item", "a"}, {"text", "plain words"}};
  std::vector<agent_event> events;
  events.push_back({"item.delta", data, std::make_shared<const std::string>("line")});
  deltas.apply(secrets, events);
  REQUIRE(events.size() == 1);
  CHECK(events[0].data == data);
  CHECK(events[0].raw);
  deltas.finish(secrets, events);
  CHECK(events.size() == 1);
}

SCENARIO("neighbour of B77: a secret that the agent escapes in its own way is masked in its line") {
  const redactor secrets{{"pässwort/geheim"}};
  for (const auto* line : {R"({"type":"x","text":"the p\u00e4sswort/geheim is"})",
                           R"({"type":"x","text":"the pässwort\/geheim is"})",
                           R"({"type":"x","text":"the \u0070\u00E4sswort\/gehei\u006d is"})",
                           R"({"type":"x","text":"the pässwort/geheim is"})"}) {
    INFO(line);
    session_report report;
    json data = {{"text", "of the line"}};
    report.events.push_back({"agent.opaque", data, std::make_shared<const std::string>(line)});
    mask_secrets(secrets, report);
    const auto kept = parse_json(*report.events[0].raw);
    REQUIRE(kept);
    CHECK(string_or(*kept, "text") == "the [secret] is");
    CHECK(string_or(*kept, "type") == "x");
  }
  session_report innocent;
  const auto line = std::make_shared<const std::string>(R"({"text":"caf\u00e9 \/ bar"})");
  innocent.events.push_back({"agent.opaque", json::object(), line});
  mask_secrets(secrets, innocent);
  CHECK(innocent.events[0].raw == line);
}

SCENARIO(
  "neighbour of B77: values called like parts of our events change what the agent said alone") {
  const redactor secrets{{"permission", "tool_call", "assistant", "in_progress", "completed",
                          "decision", "withdrawn", "mcp_server", "toolu_secret", "file_path",
                          "new_string", "tool_use_id", "native_id", "mcp_servers", "subtype1"}};
  const auto agent = make_claude_adapter();
  (void) agent->begin_turn("x");
  session_report report;
  const auto hear = [&](const std::string& line) {
    auto out = agent->on_line(line, false, line.size());
    for (auto& event : out.events)
      report.events.push_back(std::move(event));
    for (auto& ask : out.asks)
      report.asks.push_back(std::move(ask));
    for (auto& id : out.withdrawn)
      report.withdrawn.push_back(std::move(id));
  };
  hear(
    R"({"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use",)"
    R"("id":"toolu_secret","name":"Edit","input":{"file_path":"a","new_string":"tool_call"}}]}})");
  hear(R"({"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool",)"
       R"("tool_name":"Edit","tool_use_id":"toolu_secret","input":{"file_path":"a"}}})");
  hear(R"({"type":"control_cancel_request","request_id":"r1"})");
  hear(R"({"type":"user","message":{"content":[{"type":"tool_result",)"
       R"("tool_use_id":"toolu_secret","content":"in_progress"}]}})");
  mask_secrets(secrets, report);

  std::vector<std::string> order;
  for (const auto& event : report.events)
    order.push_back(event.type);
  REQUIRE(order
          == std::vector<std::string>{"item.started", "permission.requested", "permission.resolved",
                                      "item.completed", "item.started", "item.completed"});
  const auto& call = report.events[0].data.at("item");
  CHECK(call.at("kind") == "tool_call");
  CHECK(call.at("role") == "assistant");
  CHECK(call.at("status") == "in_progress");
  json input = {{"[secret]", "a"}, {"[secret] 2", "[secret]"}};
  CHECK(call.at("input") == input);
  const auto& asked = report.events[1].data;
  const auto& resolved = report.events[2].data;
  CHECK(asked.at("permission") == report.asks.at(0).id);
  CHECK(resolved.at("permission") == report.withdrawn.at(0));
  CHECK(asked.at("item") == call.at("id"));
  CHECK(resolved.at("decision") == "withdrawn");
  CHECK(report.events[3].data.at("item").at("id") == call.at("id"));
  CHECK(report.events[3].data.at("item").at("status") == "completed");
  const auto& result = report.events[5].data.at("item");
  CHECK(result.at("content") == "[secret]");
  CHECK(result.at("call") == call.at("id"));
  // An id that the agent chose may hold a secret: masked, but everywhere alike.
  for (const auto* same : {&call, &asked, &result})
    CHECK(same->at("tool_use_id") == "[secret]");
}

SCENARIO("neighbour of B77: secrets among tools, models and conversation ids reach no log") {
  const redactor secrets{{"WebFetch", "sk-secret-1"}};
  session_report report;
  report.session = "sk-secret-1";
  report.tools = {"Read", "mcp__sk-secret-1"};
  report.asks.push_back({"p1", "WebFetch", json::object()});
  report.end.emplace();
  report.end->model = "sk-secret-1";
  mask_secrets(secrets, report);
  CHECK(report.session == "[secret]");
  CHECK(report.tools == std::vector<std::string>{"Read", "mcp__[secret]"});
  CHECK(report.end->model == "[secret]");
  // The policy judges what the agent wants to use, not what the log says of it.
  CHECK(report.asks[0].tool == "WebFetch");
  CHECK(report.asks[0].shown_tool == "[secret]");
}
