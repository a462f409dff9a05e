// People who decide on what the real Claude Code CLI asks for (docs/decisions/029), against our stand-in
// for the Messages API. Skipped, loudly, if the CLI is not installed.
#include "tests/integration/scene.hpp"
#include "tests/support/claude_cli.hpp"
#include "tests/support/model_stand_in.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

server_options asking_claude(const std::string& claude, const temp_dir& directory,
                             const model_stand_in& model, const std::string& limit) {
  auto environment = claude_environment(claude, directory / "settings.json", model.url());
  environment["TIDEMARK_PERMISSIONS_ASK"] = "all";
  environment["TIDEMARK_PERMISSIONS_TIMEOUT"] = limit;
  return {.environment = std::move(environment)};
}

/// Runs the body with a server whose agent asks people, or says loudly that it cannot.
template <class Body>
void with_asking_claude(const std::string& limit, Body body) {
  const auto claude = installed_claude();
  if (claude.empty()) {
    std::cerr << '\n' << claude_advice() << std::endl;
    return;
  }
  const temp_dir directory;
  const model_stand_in model(model_script());
  scene stage(asking_claude(claude, directory, model, limit));
  body(stage);
}

/// The request that waits, once there is one.
json waiting_request(const scene& stage) {
  json found;
  const auto there = [&] {
    const auto body = stage.client.get(of("demo", "permissions")).parsed();
    if (array_at(body, "pending").empty())
      return false;
    found = body["pending"][0];
    return true;
  };
  INFO(stage.server.output());
  REQUIRE(poll_until(there, seconds(60)));
  return found;
}

int decide_on(const scene& stage, const json& request, const json& body) {
  return stage.client.post(of("demo", "permissions/" + string_or(request, "permission")), body)
    .status;
}

std::string closing_text(scene& stage, const std::string& turn) {
  const auto completed = stage.completion("demo", turn, seconds(90));
  INFO(completed.dump());
  CHECK(string_or(data_of(completed), "outcome") == "succeeded");
  return string_or(data_of(completed), "text");
}

json resolution_of(const scene& stage, const std::string& turn, const std::string& type) {
  const auto found = stage.events("demo", "types=" + type + "&turn=" + turn);
  REQUIRE(found.size() == 1);
  return data_of(found[0]);
}

bool made(const scene& stage, const std::string& file) {
  return std::filesystem::exists(stage.server.workspace("demo") + "/" + file);
}

} // namespace

SCENARIO("a person's answers to two questions of the real CLI reach its model") {
  with_asking_claude("10m", [](scene& stage) {
    const auto option = [](const char* label) {
      return json::object({{"label", label}, {"description", "one of them"}});
    };
    json first = {{"question", "Which colour?"}, {"header", "Colour"}, {"multiSelect", false}};
    first["options"] = json::array({option("red"), option("blue")});
    json second = {{"question", "How many, and why?"}, {"header", "Count"}, {"multiSelect", true}};
    second["options"] = json::array({option("one"), option("two")});
    const auto turn = stage.submit("demo", "QUESTIONS " + json::array({first, second}).dump());
    const auto request = waiting_request(stage);
    CHECK(request["kind"] == "question");
    CHECK(request["input"]["questions"].size() == 2);
    const json answers = {{"Which colour?", "blue"}, {"How many, and why?", "one, two"}};
    REQUIRE(decide_on(stage, request, {{"decision", "allow"}, {"answers", answers}}) == 200);
    const auto text = closing_text(stage, turn);
    CHECK_THAT(text, Catch::Contains("Which colour?") && Catch::Contains("blue")
                       && Catch::Contains("one, two"));
    CHECK(resolution_of(stage, turn, "question.resolved")["answers"] == answers);
  });
}

SCENARIO("a question of the real CLI that a person declines is declined to its model") {
  with_asking_claude("10m", [](scene& stage) {
    json question = {{"question", "Which colour?"}, {"header", "Colour"}, {"multiSelect", false}};
    question["options"] = json::array({json::object({{"label", "red"}, {"description", "x"}}),
                                       json::object({{"label", "blue"}, {"description", "y"}})});
    const auto turn = stage.submit("demo", "QUESTIONS " + json::array({question}).dump());
    const auto request = waiting_request(stage);
    REQUIRE(decide_on(stage, request, {{"decision", "deny"}, {"message", "ask me later"}}) == 200);
    CHECK_THAT(closing_text(stage, turn), Catch::Contains("ask me later"));
  });
}

SCENARIO("a command of the real CLI is allowed once, then always, then by the rule") {
  with_asking_claude("10m", [](scene& stage) {
    const std::string prompt = "TOOL touch made.txt && echo x >> count.txt";
    const auto once = stage.submit("demo", prompt);
    const auto request = waiting_request(stage);
    CHECK(request["tool"] == "Bash");
    CHECK(request["input"]["command"] == "touch made.txt && echo x >> count.txt");
    CHECK_FALSE(made(stage, "made.txt"));
    REQUIRE(decide_on(stage, request, {{"decision", "allow"}}) == 200);
    CHECK(closing_text(stage, once) == "It is done.");
    CHECK(made(stage, "made.txt"));
    const auto always = stage.submit("demo", prompt);
    REQUIRE(decide_on(stage, waiting_request(stage), {{"decision", "allow_always"}}) == 200);
    CHECK(closing_text(stage, always) == "It is done.");
    const auto third = stage.submit("demo", prompt);
    CHECK(closing_text(stage, third) == "It is done.");
    CHECK(resolution_of(stage, third, "permission.resolved")["by"] == "rule");
    CHECK(read_file(stage.server.workspace("demo") + "/count.txt") == "x\nx\nx\n");
  });
}

SCENARIO("the real CLI's model is told why a person denied") {
  with_asking_claude("10m", [](scene& stage) {
    const auto turn = stage.submit("demo", "TOOL touch made.txt");
    REQUIRE(decide_on(stage, waiting_request(stage),
                      {{"decision", "deny"}, {"message", "not on a Friday"}})
            == 200);
    CHECK_THAT(closing_text(stage, turn), Catch::Contains("not on a Friday"));
    CHECK_FALSE(made(stage, "made.txt"));
  });
}

SCENARIO("what nobody decides in time is denied to the real CLI, and its turn goes on") {
  with_asking_claude("1s", [](scene& stage) {
    const auto turn = stage.submit("demo", "TOOL touch made.txt");
    CHECK_THAT(closing_text(stage, turn), Catch::Contains("The result says"));
    CHECK(resolution_of(stage, turn, "permission.resolved")["by"] == "timeout");
    CHECK_FALSE(made(stage, "made.txt"));
  });
}
