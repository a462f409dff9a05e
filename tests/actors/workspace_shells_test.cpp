#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

open_shell opening(const std::string& id) {
  return {id, {"/bin/bash", "-l"}, "/srv/demo", 4711, "client"};
}

close_shell closing(const std::string& id) {
  close_shell what;
  what.shell = id;
  what.reason = "program";
  what.code = 3;
  return what;
}

std::size_t closed(const core_run& run) {
  return run.of_type("shell.closed").size();
}

} // namespace

SCENARIO("a shell's opening and end are events of its workspace") {
  core_run run;
  run.ask(opening("s1"));
  CHECK(run.reply->has_value());
  auto data = run.last("shell.opened");
  CHECK(string_or(data, "shell") == "s1");
  CHECK(array_at(data, "argv") == json::array({"/bin/bash", "-l"}));
  CHECK(string_or(data, "by") == "client");
  run.ask(closing("s1"));
  data = run.last("shell.closed");
  CHECK(string_or(data, "reason") == "program");
  CHECK(int_or(object_at(data, "exit"), "code", -1) == 3);
  CHECK(object_at(data, "exit")["signal"].is_null());
  THEN("it ends once, whoever says so again") {
    run.ask(closing("s1"));
    CHECK(run.reply->has_value());
    run.restart();
    CHECK(closed(run) == 1);
  }
}

SCENARIO("an end whose opening never became durable leaves no event") {
  core_run run;
  run.ask(closing("unknown"));
  CHECK(run.reply->has_value());
  CHECK(closed(run) == 0);
}

SCENARIO("a shell that was open when the server died is closed at recovery") {
  core_run run;
  run.ask(opening("s1"));
  CHECK(run.meta.contains(record_key::active(run.working.id))); // so that it is opened at the start
  WHEN("the state comes from the events") {
    run.restart();
  }
  WHEN("the state comes from a snapshot") {
    const auto restored = restore(snapshot(run.working));
    REQUIRE(restored);
    CHECK(restored->open_shells == run.working.open_shells);
    run.working = *restored;
    run.take(on_recovered(run.working, run.rules, run.now));
  }
  CHECK(closed(run) == 1);
  const auto data = run.last("shell.closed");
  CHECK(string_or(data, "reason") == "recovery");
  CHECK(bool_or(data, "synthetic", false));
  CHECK(data["exit"].is_null());
  CHECK(run.working.open_shells.empty());
  CHECK_FALSE(run.meta.contains(record_key::active(run.working.id)));
}

SCENARIO("a shell that outlives a failure of its workspace stays open") {
  core_run run;
  run.ask(opening("s1"));
  run.ask(opening("s2"));
  survivors kept;
  kept.shells = {"s1"};
  run.take(on_recovered(run.working, run.rules, run.now, kept));
  CHECK(closed(run) == 1);
  CHECK(string_or(run.last("shell.closed"), "shell") == "s2");
  CHECK(run.working.open_shells.contains("s1"));
}
