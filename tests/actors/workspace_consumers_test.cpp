// Consumers: places of readers that the server keeps (decisions 031 and 032).
#include "tests/actors/actor_stage.hpp"
#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;
using tidemark::test::poll_until;

namespace {

put_consumer putting(const std::string& name, consumer_start from = {}) {
  put_consumer what;
  what.name = name;
  what.from = from;
  what.by = "ci";
  return what;
}

put_consumer putting_webhook(const std::string& name) {
  auto what = putting(name);
  auto& push = what.push.emplace();
  push.url = "https://example.com/hook";
  push.fresh_secret = "fresh";
  return what;
}

ack_consumer acking(const std::string& name, std::string_view upto) {
  ack_consumer what;
  what.name = name;
  what.upto = cursor::parse(upto).value();
  return what;
}

consumer_start at(std::string_view place) {
  return {start_at::cursor, cursor::parse(place).value()};
}

std::string record_of(const core_run& run, const std::string& name) {
  const auto found = run.meta.find(record_key::consumer("w", name));
  return found == run.meta.end() ? std::string{} : found->second;
}

errc refused(const core_run& run) {
  return run.reply.value().error().code;
}

} // namespace

SCENARIO("a consumer is a record and no event, and is made once") {
  core_run run;
  run.submit("ok");
  const auto before = run.stored.size();
  run.ask(putting("audit"));
  CHECK(run.answered<consumer_reply>().created);
  CHECK(run.answered<consumer_reply>().now.at == offset{0});
  CHECK(run.stored.size() == before);
  const auto kept = consumer_of(record_of(run, "audit")).value();
  CHECK(kept.name == "audit");
  CHECK(kept.by == "ci");
  CHECK(kept.incarnation == epoch{1});
  CHECK_FALSE(kept.acked);
  run.ask(putting("audit", {start_at::head, {}}));
  CHECK_FALSE(run.answered<consumer_reply>().created);
  CHECK(run.answered<consumer_reply>().now.at == offset{0});
}

SCENARIO("a consumer begins at the first event, at the head or behind a cursor") {
  core_run run;
  run.submit("ok");
  const auto head = run.working.head;
  run.ask(putting("head", {start_at::head, {}}));
  CHECK(run.answered<consumer_reply>().now.at == head);
  run.ask(putting("second", at("1-1")));
  CHECK(run.answered<consumer_reply>().now.at == offset{1});
  run.ask(putting("far", at(std::to_string(head.value + 1))));
  CHECK(refused(run) == errc::ahead);
  run.ask(putting("old", at("7-1")));
  CHECK(refused(run) == errc::fenced);
  CHECK(record_of(run, "far").empty());
}

SCENARIO("acknowledgements only move forward, and never beyond the head") {
  core_run run;
  run.submit("ok");
  run.ask(putting("audit"));
  run.ask(acking("audit", "2"));
  CHECK(run.answered<consumer_reply>().now.at == offset{2});
  CHECK(consumer_of(record_of(run, "audit"))->at == offset{2});
  CHECK(consumer_of(record_of(run, "audit"))->acked);
  run.meta.clear();
  run.ask(acking("audit", "1-1"));
  CHECK(run.answered<consumer_reply>().now.at == offset{2});
  run.ask(acking("audit", "1-2"));
  CHECK(run.answered<consumer_reply>().now.at == offset{2});
  CHECK(run.meta.empty()); // nothing moved: nothing is written
  run.ask(acking("audit", std::to_string(run.working.head.value + 1)));
  CHECK(refused(run) == errc::ahead);
  run.ask(acking("audit", "2-1"));
  CHECK(refused(run) == errc::fenced);
  run.ask(acking("nobody", "1"));
  CHECK(refused(run) == errc::not_found);
}

SCENARIO("a consumer of an earlier incarnation goes over with a place that names the new one") {
  core_run run;
  run.submit("ok");
  run.ask(putting("audit"));
  run.ask(acking("audit", "2"));
  run.working.incarnation = epoch{2};
  run.replica.incarnation = epoch{2};
  run.ask(acking("audit", "1"));
  CHECK(refused(run) == errc::fenced);
  run.ask(acking("audit", "2-1"));
  CHECK(run.answered<consumer_reply>().now.incarnation == epoch{2});
  CHECK(run.answered<consumer_reply>().now.at == offset{1});
}

SCENARIO("a workspace has at most as many consumers as the rules allow, and forgets deleted ones") {
  core_run run;
  run.rules.max_consumers = 2;
  run.ask(putting("a"));
  run.ask(putting("b"));
  run.ask(putting("c"));
  CHECK(refused(run) == errc::conflict);
  run.ask(delete_consumer{"a"});
  CHECK(run.reply->has_value());
  CHECK(record_of(run, "a").empty());
  run.ask(delete_consumer{"a"});
  CHECK(refused(run) == errc::not_found);
  run.ask(putting("c"));
  CHECK(run.answered<consumer_reply>().created);
}

SCENARIO("a webhook keeps its secret and its place when it is changed") {
  core_run run;
  run.ask(putting_webhook("hook"));
  const auto first = *run.answered<consumer_reply>().now.push;
  CHECK(first.secret == "fresh");
  auto change = putting_webhook("hook");
  change.push->url = "https://example.com/other";
  change.push->fresh_secret = "another";
  change.push->types = std::vector<std::string>{"turn.*"};
  run.ask(change);
  const auto second = *run.answered<consumer_reply>().now.push;
  CHECK(second.url == "https://example.com/other");
  CHECK(second.secret == "fresh");
  CHECK(second.types == std::vector<std::string>{"turn.*"});
  CHECK(second.generation > first.generation);
  CHECK(consumer_of(record_of(run, "hook"))->push->secret == "fresh");
  run.ask(putting("hook"));
  CHECK(refused(run) == errc::conflict);
  run.ask(delete_consumer{"hook"});
  CHECK(refused(run) == errc::conflict);
  run.ask(acking("hook", "1"));
  CHECK(refused(run) == errc::conflict);
}

SCENARIO("a consumer that fetches is no webhook, whatever is asked of it as one") {
  core_run run;
  run.ask(putting("audit"));
  run.ask(delete_consumer{"audit", true});
  CHECK(refused(run) == errc::not_found);
  run.ask(revive_webhook{"audit", consumer_start{}});
  CHECK(refused(run) == errc::not_found);
  run.ask(delete_consumer{"audit"});
  CHECK(run.reply->has_value());
}

SCENARIO("a dead webhook says so once as an event, and what was sent before its revival is void") {
  core_run run;
  run.submit("ok");
  run.ask(putting_webhook("hook"));
  const auto generation = run.answered<consumer_reply>().now.push->generation;
  run.ask(bury_webhook{"hook", generation, offset{2}, 20, "status 500"});
  CHECK(run.answered<consumer_reply>().now.push->dead);
  CHECK(run.of_type("webhook.dead").size() == 1);
  const auto data = run.last("webhook.dead");
  CHECK(string_or(data, "webhook") == "hook");
  CHECK(int_or(data, "offset", 0) == 2);
  CHECK(int_or(data, "attempts", 0) == 20);
  CHECK(string_or(data, "error") == "status 500");
  CHECK(consumer_of(record_of(run, "hook"))->push->dead);
  run.ask(bury_webhook{"hook", generation, offset{2}, 21, "again"});
  CHECK(run.of_type("webhook.dead").size() == 1);
  run.ask(revive_webhook{"hook", consumer_start{}});
  const auto revived = run.answered<consumer_reply>().now;
  CHECK_FALSE(revived.push->dead);
  CHECK(revived.at == offset{0});
  auto late = acking("hook", "2");
  late.generation = generation;
  run.ask(late);
  CHECK(run.answered<consumer_reply>().now.at == offset{0});
  late.generation = revived.push->generation;
  run.ask(late);
  CHECK(run.answered<consumer_reply>().now.at == offset{2});
}

SCENARIO("lag counts the events that wait, not those that are gone") {
  stream_info stream;
  stream.incarnation = epoch{2};
  stream.head = offset{10};
  stream.trimmed = offset{4};
  consumer who;
  who.incarnation = epoch{2};
  who.at = offset{7};
  CHECK(lag_of(who, stream) == 3);
  who.at = offset{1};
  CHECK(lag_of(who, stream) == 6);
  who.incarnation = epoch{1};
  who.at = offset{9};
  CHECK(lag_of(who, stream) == 6);
}

SCENARIO("an actor's consumers are in the log when it answers, and outlive it") {
  actor_stage stage{std::make_shared<memory_log>(), std::chrono::milliseconds{40}};
  const auto turn = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", turn, "succeeded"); }));
  stage.get<consumer_reply>("w", putting("audit"));
  const auto acked = stage.get<consumer_reply>("w", acking("audit", "2"));
  CHECK(acked.now.at == offset{2});
  CHECK(acked.stream.head.value == stage.events("w").size());
  CHECK(stored_consumer(*stage.log, "w", "audit")->at == offset{2});
  // It is passivated and made again from the log: the place is still there and only moves forward.
  const auto next = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", next, "succeeded"); }));
  CHECK(stage.get<consumer_reply>("w", acking("audit", "1")).now.at == offset{2});
  REQUIRE(stage.stop());
  CHECK(all_consumers(*stage.log)->at("w").at("audit").at == offset{2});
}

SCENARIO("an acknowledgement that the log refused did not happen") {
  actor_stage stage;
  stage.submit("w", "ok").value();
  stage.get<consumer_reply>("w", putting("audit"));
  REQUIRE(poll_until([&] { return !stage.list().empty() && !stage.list().front().busy; }));
  stage.log->fail_next(errc::full);
  const auto refusal = stage.ask("w", acking("audit", "2"));
  REQUIRE_FALSE(refusal);
  CHECK(refusal.error().code == errc::full);
  REQUIRE(poll_until([&] { return stage.ask("w", acking("audit", "1")).has_value(); }));
  CHECK(stored_consumer(*stage.log, "w", "audit")->at == offset{1});
}
