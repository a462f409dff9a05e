#include "actors/agent_host.hpp"
#include "base/logging.hpp"
#include "tests/process/running_child.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <fstream>
#include <mutex>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

/// What the workspace has heard; read by the test's thread.
struct heard {
  std::mutex guard;
  std::vector<session_report_ptr> reports;

  std::optional<turn_result> end_of(const std::string& turn) {
    const std::lock_guard lock{guard};
    for (const auto& report : reports)
      if (report->turn == turn && report->end)
        return report->end;
    return std::nullopt;
  }
  std::optional<session_started> start_of(const std::string& turn) {
    const std::lock_guard lock{guard};
    for (const auto& report : reports)
      if (report->turn == turn && report->started)
        return report->started;
    return std::nullopt;
  }
  std::string conversation() {
    const std::lock_guard lock{guard};
    std::string last;
    for (const auto& report : reports)
      last = report->session.value_or(last);
    return last;
  }
};

workspace_actor::behavior_type listening(workspace_actor::pointer self,
                                         std::shared_ptr<heard> into) {
  return {
    [](command_atom, const command_ptr&) { return reply_ptr{}; },
    [into](report_atom, const session_report_ptr& report) {
      const std::lock_guard lock{into->guard};
      into->reports.push_back(report);
      return true;
    },
    [](tick_atom, std::uint64_t) {},
    [](idle_atom) { return false; },
    [self](stop_atom) {
      self->quit();
      return true;
    },
  };
}

/// The agents' host with the demo agent, and a workspace that listens.
struct host_fixture {
  scratch directory;
  instruments metrics{"test"};
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::shared_ptr<heard> said = std::make_shared<heard>();
  workspace_actor owner;
  std::unique_ptr<agent_host> host;

  explicit host_fixture(const std::string& binary = {}) {
    logging::set_level(logging::level::error);
    std::filesystem::create_directories(directory / "work/w1");
    agent_options options;
    options.binary = binary.empty() ? beside_test("tidemark-demo-agent") : binary;
    options.guard = guard_path();
    options.workspace_root = directory / "work";
    options.state_directory = directory / "state";
    options.instance = "session-test";
    options.server_environment = {{"PATH", "/usr/bin:/bin"}};
    options.probe_limit = 20s;
    host = std::make_unique<agent_host>(system, options, metrics);
    owner = system.spawn(listening, said);
  }
  ~host_fixture() {
    ask<bool>(owner, stop_atom::value);
    host.reset();
  }

  static std::string beside_test(const std::string& name) {
    return (std::filesystem::path{guard_path()}.parent_path() / name).string();
  }

  template <class Reply, class Actor, class... Args>
  Reply ask(const Actor& to, Args... args) {
    caf::scoped_actor self{system};
    Reply result{};
    self->request(to, 30s, std::move(args)...)
      .receive([&](const Reply& reply) { result = reply; },
               [&](const caf::error& why) { FAIL("no answer: " << system.render(why)); });
    return result;
  }

  void begin(const agent_session_actor& session, const std::string& turn,
             const std::string& resume = {}) {
    auto what = std::make_shared<session_begin>();
    what->turn = turn;
    what->prompt = "hello";
    what->resume = resume;
    caf::anon_send(session, begin_atom::value, session_begin_ptr{std::move(what)});
  }
  bool ended(const std::string& turn) {
    return eventually([&] { return said->end_of(turn).has_value(); }, 20s);
  }
};

std::string script(const scratch& directory, const std::string& text) {
  const auto path = directory / "agent";
  std::ofstream{path} << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

} // namespace

SCENARIO(
  "a session runs turns in the demo agent, warm from the second, and stops without a trace") {
  host_fixture f;
  const auto session = f.host->spawn_session("w1", f.owner);
  f.begin(session, "t1");
  REQUIRE(f.ended("t1"));
  CHECK(f.said->end_of("t1")->how == outcome::succeeded);
  f.begin(session, "t2", f.said->conversation());
  REQUIRE(f.ended("t2"));
  CHECK(f.said->end_of("t2")->how == outcome::succeeded);
  CHECK(f.said->start_of("t2")->start == "warm");
  const int pid = f.said->start_of("t2")->pid;
  CHECK(alive(pid));
  CHECK(f.ask<bool>(session, stop_atom::value));
  CHECK_FALSE(alive(pid));
}

SCENARIO("a session whose workspace is gone ends its agent by itself") {
  host_fixture f;
  const auto own = f.system.spawn(listening, f.said);
  const auto session = f.host->spawn_session("w1", own);
  f.begin(session, "t1");
  REQUIRE(f.ended("t1"));
  const int pid = f.said->start_of("t1")->pid;
  f.ask<bool>(own, stop_atom::value);
  CHECK(eventually([&] { return !alive(pid); }));
}

SCENARIO("the probe tells version and tools, and callers at the same time share one probe") {
  host_fixture f;
  const auto probe = f.host->spawn_probe();
  CHECK_FALSE(f.ask<probe_ptr>(probe, list_atom::value)->available);
  caf::scoped_actor self{f.system};
  auto first = self->request(probe, 30s, probe_atom::value);
  auto second = self->request(probe, 30s, probe_atom::value);
  probe_ptr one, two;
  const auto failed = [](const caf::error&) { FAIL("no answer"); };
  first.receive([&](const probe_ptr& heard) { one = heard; }, failed);
  second.receive([&](const probe_ptr& heard) { two = heard; }, failed);
  REQUIRE(one);
  CHECK(one == two);
  INFO(one->problem);
  CHECK(one->available);
  CHECK_FALSE(one->agent_version.empty());
  REQUIRE(one->tools);
  CHECK_FALSE(one->tools->empty());
  CHECK(f.ask<probe_ptr>(probe, list_atom::value) == one);
  CHECK(f.ask<bool>(probe, stop_atom::value));
}

SCENARIO("a probe of an executable that is missing, hangs or floods says so within its limits") {
  struct trouble {
    const char* text; ///< of the script that stands for the agent; null: there is none
    const char* problem;
  };
  const auto each = GENERATE(
    trouble{nullptr, "/agent"}, trouble{"trap '' TERM; (setsid sleep 600 &); sleep 600", "in time"},
    trouble{"exec head -c 10000000 /dev/zero", "--version"}, trouble{"exit 3", "code 3"});
  CAPTURE(each.problem);
  scratch scripts;
  host_fixture f{each.text ? script(scripts, each.text) : scripts / "agent"};
  const auto probe = f.host->spawn_probe();
  const auto begin = std::chrono::steady_clock::now();
  const auto heard = f.ask<probe_ptr>(probe, probe_atom::value);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  REQUIRE(heard);
  CHECK_FALSE(heard->available);
  CHECK_FALSE(heard->tools);
  CHECK_THAT(heard->problem, Catch::Contains(each.problem));
  CHECK(f.ask<bool>(probe, stop_atom::value));
}
