// The actor of the webhooks, with a receiver that does what the test says.
#include "tests/actors/actor_stage.hpp"

#include "base/json.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <mutex>

using namespace tidemark;
using namespace tidemark::testing;
using tidemark::test::poll_until;
using namespace std::chrono_literals;

namespace {

class scripted_receiver final : public webhook_sender {
public:
  struct posted {
    std::uint64_t offset = 0;
    std::string url;
    int answered = 0;
  };

  void send(webhook_request what, std::function<void(webhook_answer)> done) override {
    const auto body = parse_json(what.body).value();
    int status = 0;
    {
      const std::lock_guard lock{guard_};
      status = status_;
      posted_.push_back({static_cast<std::uint64_t>(int_or(body, "offset", 0)), what.url, status});
    }
    done({status, status == 0 ? "no answer" : ""});
  }

  void answer_with(int status) {
    const std::lock_guard lock{guard_};
    status_ = status;
  }

  std::vector<posted> all() const {
    const std::lock_guard lock{guard_};
    return posted_;
  }

  std::vector<std::uint64_t> taken() const {
    std::vector<std::uint64_t> out;
    for (const auto& each : all())
      if (each.answered / 100 == 2)
        out.push_back(each.offset);
    return out;
  }

private:
  mutable std::mutex guard_;
  std::vector<posted> posted_;
  int status_ = 200;
};

webhook_options quick() {
  webhook_options how;
  how.first_retry = 2ms;
  how.longest_retry = 10ms;
  return how;
}

put_consumer putting_hook(std::size_t max_attempts = 20) {
  put_consumer what;
  what.name = "hook";
  auto& push = what.push.emplace();
  push.url = "https://example.com/hook";
  push.secret = "a secret of the test";
  push.max_attempts = max_attempts;
  return what;
}

std::vector<std::uint64_t> offsets_up_to(std::uint64_t last, std::uint64_t first = 1) {
  std::vector<std::uint64_t> out;
  for (auto i = first; i <= last; ++i)
    out.push_back(i);
  return out;
}

/// Runs one turn and returns the number of events when it is over.
std::uint64_t run_turn(actor_stage& stage) {
  const auto turn = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", turn, "succeeded"); }));
  REQUIRE(poll_until([&] {
    const auto all = stage.list();
    return !all.empty() && !all.front().busy;
  }));
  return stage.events("w").size();
}

consumer stored(const actor_stage& stage) {
  return stored_consumer(*stage.log, "w", "hook").value();
}

} // namespace

SCENARIO("a webhook gets what was there and what comes, once each and in order") {
  scripted_receiver receiver;
  actor_stage stage;
  stage.serve_webhooks(receiver, quick());
  run_turn(stage);
  stage.get<consumer_reply>("w", putting_hook());
  stage.webhook_changed("w", "hook");
  const auto head = run_turn(stage);
  REQUIRE(poll_until([&] { return receiver.taken().size() >= head; }));
  CHECK(receiver.taken() == offsets_up_to(head));
  CHECK(poll_until([&] { return stored(stage).at.value == head; }));
}

SCENARIO("nothing overtakes an event that its receiver does not take") {
  const int refusal = GENERATE(0, 302, 404, 500);
  scripted_receiver receiver;
  actor_stage stage;
  stage.serve_webhooks(receiver, quick());
  receiver.answer_with(refusal);
  const auto head = run_turn(stage);
  stage.get<consumer_reply>("w", putting_hook());
  stage.webhook_changed("w", "hook");
  REQUIRE(poll_until([&] { return receiver.all().size() >= 3; }));
  for (const auto& each : receiver.all())
    CHECK(each.offset == 1);
  receiver.answer_with(204);
  REQUIRE(poll_until([&] { return receiver.taken().size() >= head; }));
  CHECK(receiver.taken() == offsets_up_to(head));
}

SCENARIO(
  "after its last attempt a webhook is dead until it is revived, from where it was or elsewhere") {
  scripted_receiver receiver;
  actor_stage stage;
  stage.serve_webhooks(receiver, quick());
  receiver.answer_with(500);
  run_turn(stage);
  stage.get<consumer_reply>("w", putting_hook(3));
  stage.webhook_changed("w", "hook");
  REQUIRE(poll_until([&] { return stage.count("w", "webhook.dead") == 1; }));
  CHECK(receiver.all().size() == 3);
  CHECK(stored(stage).push->dead);
  receiver.answer_with(200);
  const auto head = run_turn(stage);
  CHECK(receiver.all().size() == 3);
  stage.get<consumer_reply>("w", revive_webhook{"hook", std::nullopt});
  stage.webhook_changed("w", "hook");
  REQUIRE(poll_until([&] { return receiver.taken().size() >= head; }));
  CHECK(receiver.taken() == offsets_up_to(head));
  REQUIRE(poll_until([&] { return stored(stage).at.value == head; }));
  stage.get<consumer_reply>(
    "w",
    revive_webhook{"hook", consumer_start{start_at::cursor, cursor{epoch{1}, offset{head - 2}}}});
  stage.webhook_changed("w", "hook");
  REQUIRE(poll_until([&] { return receiver.taken().size() >= head + 2; }));
  CHECK(receiver.taken().back() == head);
  CHECK(poll_until([&] { return stored(stage).at.value == head; }));
  CHECK(stage.count("w", "webhook.dead") == 1);
}

SCENARIO("410 needs no second attempt") {
  scripted_receiver receiver;
  actor_stage stage;
  stage.serve_webhooks(receiver, quick());
  receiver.answer_with(410);
  run_turn(stage);
  stage.get<consumer_reply>("w", putting_hook());
  stage.webhook_changed("w", "hook");
  REQUIRE(poll_until([&] { return stage.count("w", "webhook.dead") == 1; }));
  CHECK(receiver.all().size() == 1);
}

SCENARIO("a webhook that wants few types passes the others by, and its place says so") {
  scripted_receiver receiver;
  actor_stage stage;
  stage.serve_webhooks(receiver, quick());
  auto what = putting_hook();
  run_turn(stage);
  what.push->types = std::vector<std::string>{"turn.completed"};
  stage.get<consumer_reply>("w", what);
  stage.webhook_changed("w", "hook");
  const auto head = run_turn(stage);
  REQUIRE(poll_until([&] { return receiver.taken().size() == 2; }));
  REQUIRE(poll_until([&] { return stored(stage).at.value == head; }));
  CHECK(receiver.taken().size() == 2);
}

SCENARIO("a deleted webhook gets nothing more, a changed one goes to its new address") {
  scripted_receiver receiver;
  actor_stage stage;
  stage.serve_webhooks(receiver, quick());
  auto head = run_turn(stage);
  stage.get<consumer_reply>("w", putting_hook());
  stage.webhook_changed("w", "hook");
  REQUIRE(poll_until([&] { return stored(stage).at.value == head; }));
  auto change = putting_hook();
  change.push->url = "https://example.com/elsewhere";
  stage.get<consumer_reply>("w", change);
  stage.webhook_changed("w", "hook");
  const auto before = head;
  // The message of the change comes before those of the events that follow it.
  head = run_turn(stage);
  REQUIRE(poll_until([&] { return receiver.taken().size() == head; }));
  for (const auto& each : receiver.all())
    CHECK((each.url == "https://example.com/elsewhere") == (each.offset > before));
  stage.get<done>("w", delete_consumer{"hook", true});
  stage.webhook_changed("w", "hook");
  run_turn(stage);
  CHECK(receiver.taken().size() == head);
}

SCENARIO("webhooks are taken up where the log says they are") {
  scripted_receiver receiver;
  const auto log = std::make_shared<memory_log>();
  std::uint64_t head = 0;
  {
    actor_stage stage{log};
    stage.serve_webhooks(receiver, quick());
    head = run_turn(stage);
    stage.get<consumer_reply>("w", putting_hook());
    stage.webhook_changed("w", "hook");
    REQUIRE(poll_until([&] { return stored(stage).at.value == head; }));
  }
  actor_stage stage{log};
  const auto further = run_turn(stage);
  stage.serve_webhooks(receiver, quick());
  REQUIRE(poll_until([&] { return receiver.taken().size() >= further; }));
  CHECK(receiver.taken() == offsets_up_to(further));
}
