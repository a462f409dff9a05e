// The drop-in contract, Pending results: delivered by the stream xor pending, whatever clients do.
#include "tests/integration/contract_scene.hpp"
#include "tests/support/poll_until.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::milliseconds;

namespace {

/// One client with one task, and when and how it leaves.
struct visit {
  std::string workspace;
  std::string source; ///< names the visit
  std::string prompt;
  bool streams = true;
  bool stays = true;
  bool by_reset = false;
  bool reads = true; ///< until it leaves; else what has come is unread then
  milliseconds leaves_after{0};
  bool has_all = false; ///< what came of it
};

std::vector<visit> draw_visits(std::mt19937_64& random, std::size_t count) {
  const char* prompts[] = {"ECHO short",   "WORDS 20 2",          "TOOL echo x",
                           "ERROR broken", "PAUSE 30\nECHO late", "HUGE 200000\nECHO big"};
  std::vector<visit> all;
  for (std::size_t i = 0; i < count; ++i) {
    visit one;
    one.workspace = "w" + std::to_string(random() % 4);
    one.source = "visit-" + std::to_string(i);
    one.prompt = prompts[random() % std::size(prompts)];
    one.streams = random() % 3 != 0;
    one.stays = random() % 3 == 0;
    one.by_reset = random() % 2 == 0;
    one.reads = random() % 3 != 0;
    one.leaves_after = milliseconds(random() % 250);
    all.push_back(std::move(one));
  }
  return all;
}

void make(visit& what, const v1_test::v1_address& server) {
  const auto path = what.streams ? message_stream_path : std::string{"/api/v1/message"};
  v1_test::v1_call call(server, "POST", path,
                        message(what.workspace, what.prompt, what.source).dump());
  const auto leaves = v1_test::v1_call::clock::now() + what.leaves_after;
  if (what.stays) {
    call.read_all();
  } else {
    if (!what.reads)
      std::this_thread::sleep_until(leaves); // as clients do that are busy with something else
    while (what.reads && call.read_more(leaves)) {}
  }
  what.has_all = call.complete();
  call.leave(what.by_reset && !what.has_all);
}

/// For each source of a workspace: its turn's outcome, and how often its result was delivered or
/// became pending.
struct fate {
  std::string outcome;
  int delivered = 0;
  int pending = 0;
};

std::map<std::string, fate> fates_in(const contract_scene& stage, const std::string& workspace) {
  std::map<std::string, std::string> sources;
  std::map<std::string, fate> fates;
  for (const auto& e : stage.events(workspace, "types=turn.*,result.*")) {
    const auto type = string_or(e, "type");
    const auto turn = string_or(e, "turn");
    if (type == "turn.queued")
      sources[turn] = string_or(data_of(e), "source");
    auto& of = fates[sources[turn]];
    if (type == "turn.completed")
      of.outcome = outcome_of(e);
    of.delivered += type == "result.delivered" ? 1 : 0;
    of.pending += type == "result.pending" ? 1 : 0;
  }
  return fates;
}

bool is_settled(const std::map<std::string, fate>& fates) {
  return std::all_of(fates.begin(), fates.end(), [](const auto& each) {
    const auto& [outcome, delivered, pending] = each.second;
    return outcome == "cancelled" || (!outcome.empty() && delivered + pending > 0);
  });
}

void check_delivery(std::size_t count) {
  const auto seed = std::random_device{}();
  std::mt19937_64 random{seed};
  INFO("seed " << seed);
  contract_scene stage;
  auto visits = draw_visits(random, count);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 6; ++i)
    clients.emplace_back([&] {
      for (auto at = next++; at < visits.size(); at = next++)
        make(visits[at], stage.old.server());
    });
  for (auto& client : clients)
    client.join();

  std::map<std::string, fate> fates;
  std::map<std::string, std::set<std::string>> expected;
  for (const auto* workspace : {"w0", "w1", "w2", "w3"}) {
    if (stage.client.get(of(workspace, "events")).status == 404)
      continue; // no visit drew it
    REQUIRE(
      poll_until([&] { return stage.is_idle(workspace) && is_settled(fates_in(stage, workspace)); },
                 std::chrono::seconds(30)));
    fates.merge(fates_in(stage, workspace));
  }
  std::size_t delivered = 0;
  for (const auto& one : visits) {
    const auto found = fates.find(one.source);
    if (found == fates.end()) {
      CHECK_FALSE(one.stays); // it left before the request was read
      continue;
    }
    const auto& [outcome, was_delivered, was_pending] = found->second;
    INFO(one.source << " of " << one.workspace << ": " << one.prompt << ", streams " << one.streams
                    << ", stays " << one.stays << ", reads " << one.reads << ", reset "
                    << one.by_reset << ", after " << one.leaves_after.count() << " ms; " << outcome
                    << ", delivered " << was_delivered << ", pending " << was_pending);
    if (outcome == "cancelled") {
      CHECK_FALSE(one.has_all); // dropped, because it left while it waited
      CHECK(was_delivered + was_pending == 0);
      continue;
    }
    CHECK(was_delivered == (one.has_all ? 1 : 0));
    CHECK(was_pending == (one.has_all ? 0 : 1));
    delivered += one.has_all ? 1U : 0U;
    if (!one.has_all)
      expected[one.workspace].insert(one.source);
  }
  CHECK(delivered > 0);
  stage.server.kill();
  stage.start_again();
  for (const auto& [workspace, sources] : expected) {
    std::set<std::string> offered;
    const auto pending = stage.peek(workspace);
    for (const auto& result : pending.at("results"))
      CHECK(offered.insert(string_or(result, "source_chat_key")).second);
    CHECK(offered == sources);
  }
}

} // namespace

SCENARIO(
  "contract, Pending results: delivered by the stream xor pending, never both, never neither, "
  "under random disconnects") {
  check_delivery(60);
}

SCENARIO("contract, Pending results: delivered xor pending, many times", "[long][.]") {
  for (int round = 0; round < 10; ++round)
    check_delivery(150);
}
