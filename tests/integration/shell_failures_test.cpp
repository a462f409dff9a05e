// What has gone wrong with terminals elsewhere: flow, sizes, lost sockets, hostile clients.
#include "tests/integration/shell_scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/process_memory.hpp"
#include "tests/support/sanitized.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <utility>

using namespace tidemark;
using namespace tidemark::test;
using namespace std::chrono_literals;

namespace {

const std::string wave = "\xF0\x9F\x8C\x8A";

/// A value of /metrics without labels.
double metric_now(const scene& stage, const std::string& name) {
  const std::string text = stage.client.get("/metrics").body;
  const auto at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + name.size() + 2);
}

bool exists(const scene& stage, const std::string& name) {
  return std::filesystem::exists(stage.server.workspace("demo") + "/" + name);
}

/// All clients of all shells do all that a client can, at the same time, and leave in every way.
void meet_in_crowds(int shells, int sockets_each) {
  const scene stage({.environment = {{"TIDEMARK_HTTP_HEARTBEAT", "200ms"},
                                     {"TIDEMARK_SHELL_MAX", "64"},
                                     {"TIDEMARK_SHELL_MAX_PER_WORKSPACE", "64"}}});
  std::vector<std::string> ids;
  std::vector<std::unique_ptr<ws_client>> clients;
  for (int i = 0; i < shells; ++i) {
    ids.push_back(open_script(stage, "demo", "read go; yes flood"));
    for (int k = 0; k < sockets_each; ++k) {
      clients.push_back(attach(stage, ids.back()));
    }
  }
  std::vector<std::thread> crowd;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    crowd.emplace_back([&client = *clients[i], i] {
      for (int round = 0; round < 30; ++round) {
        client.send_frame(ws_client::pinging, "are you there");
        client.resize(10 + round, 20 + round);
        client.type("x\r");
        client.send_frame(ws_client::text, "{broken");
      }
      client.leave(i % 3 == 0   ? ws_client::farewell::close_frame
                   : i % 3 == 1 ? ws_client::farewell::fin
                                : ws_client::farewell::reset);
    });
  }
  for (auto& each : crowd) {
    each.join();
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    CHECK(clients[i]->wait_for_end(60s));
    CHECK(clients[i]->fault() == "");
  }
  for (const auto& id : ids) {
    CHECK(string_or(closing_of(stage, "demo", id), "reason") == "disconnect");
  }
  CHECK(stage.client.get("/health").status == 200);
  CHECK(poll_until([&] { return metric_now(stage, "tidemark_shells_open") == 0; }));
}

/// Two megabytes for a client that takes so much a second, at least until it has taken `slowly`.
void print_to_a_slow_client(long bytes_per_second, std::size_t slowly) {
  const scene stage({.environment = {{"TIDEMARK_SHELL_SCROLLBACK", "128KiB"}}});
  const std::string id = open_script(stage, "demo",
                                     "stty -onlcr -echo; echo ready; read go; yes '" + wave + wave
                                       + "' | head -n 233017; sleep 60");
  const auto client = attach(stage, id, "", {.bytes_per_second = bytes_per_second});
  REQUIRE(client->wait_for_output("ready\n"));
  client->type("go\r");
  std::string expected = "ready\n";
  while (expected.size() < 2'097'153) {
    expected += wave + wave + "\n";
  }
  const auto resident = status_figure(stage.server.pid(), "VmRSS");
  CHECK(poll_until([&] { return client->received() >= slowly; },
                   std::chrono::seconds(30 + 2 * static_cast<long>(slowly) / bytes_per_second)));
  constexpr std::uint64_t spared_kib = 8 << 10;
  CHECK((sanitized || status_figure(stage.server.pid(), "VmRSS") < resident + spared_kib));
  client->hurry();
  const auto whole = [&] { return client->output().size() >= expected.size(); };
  CHECK(poll_until(whole, 60s));
  CHECK(client->output() == expected);
  CHECK(client->fault() == "");
  CHECK(client->close_code() == 0);
}

} // namespace

SCENARIO("B78: a shell goes on while nobody watches, and its client comes back to it") {
  const scene stage({.environment = {{"TIDEMARK_SHELL_SCROLLBACK", "64KiB"}}});
  const std::string id = open_script(
    stage, "demo", "read go; yes 0123456789 | head -c 10000000 >&2; touch done; exec bash --norc");
  const auto how = GENERATE(ws_client::farewell::fin, ws_client::farewell::reset);
  {
    const auto client = attach(stage, id, "?keep=true");
    client->type("go\r");
    REQUIRE(client->wait_for_output("0123456789"));
    client->leave(how);
  }
  CHECK(poll_until([&] { return exists(stage, "done"); }, 60s));
  CHECK(metric_now(stage, "tidemark_shells_open") == 1);
  const auto client = attach(stage, id, "?keep=true");
  client->type("echo still $((6 * 7))\r");
  CHECK(client->wait_for_output("still 42"));
  const json first = client->wait_for("output");
  CHECK(int_or(first, "cut", 0) > 9'000'000);
  CHECK(string_or(first, "data").find("bytes of output are left out here]\r\n")
        != std::string::npos);
  CHECK(client->output().size() < 70'000);
  CHECK(client->fault() == "");
}

SCENARIO("B78: a client that vanishes without a word holds up its shell for a while only") {
  const scene stage({.environment = {{"TIDEMARK_HTTP_HEARTBEAT", "100ms"},
                                     {"TIDEMARK_HTTP_WRITE_TIMEOUT", "500ms"}}});
  const std::string id = open_shell(stage, "demo");
  const auto silent = attach(stage, id, "?keep=true", {.reads = false});
  silent->type("yes 0123456789 | head -c 5000000 >&2; touch done\r");
  CHECK(poll_until([&] { return exists(stage, "done"); }, 30s));
  const auto client = attach(stage, id);
  client->type("echo still $((6 * 7))\r");
  CHECK(client->wait_for_output("still 42"));
}

SCENARIO("a client that answers no ping is gone, and one that does stays") {
  const scene stage({.environment = {{"TIDEMARK_HTTP_HEARTBEAT", "600ms"}}});
  const std::string kept = open_shell(stage, "demo");
  const std::string lost = open_shell(stage, "demo");
  const auto client = attach(stage, kept);
  const auto mute = attach(stage, lost, "", {.answers_pings = false});
  CHECK(string_or(closing_of(stage, "demo", lost), "reason") == "disconnect");
  CHECK(poll_until([&] { return client->pings() > 3; }));
  CHECK(process_alive(pid_of(stage, kept)));
}

SCENARIO("B78: a shell without a client ends after the idle limit, and no process is left") {
  const scene stage({.environment = {{"TIDEMARK_SHELL_IDLE_TIMEOUT", "300ms"},
                                     {"TIDEMARK_SHELL_HANGUP_GRACE", "200ms"}}});
  const std::string id = open_script(
    stage, "demo",
    "trap 'echo got hup > hup; sleep 600' HUP; echo ready; while :; do sleep 0.05; done");
  const pid_t pid = pid_of(stage, id);
  SECTION("after its client left") {
    attach(stage, id, "?keep=true")->leave();
  }
  SECTION("when no client ever came") {}
  CHECK(string_or(closing_of(stage, "demo", id), "reason") == "idle");
  CHECK(exists(stage, "hup"));
  CHECK_FALSE(process_alive(pid));
  ws_client late(stage.client, shells_path + "/" + id + "/ws");
  CHECK_FALSE(late.wait_for("exit").is_null()); // its end is kept for a while
  CHECK(late.wait_for_end());
  CHECK(poll_until([&] {
    ws_client stranger(stage.client, shells_path + "/" + id + "/ws");
    return stranger.wait_for_end() && stranger.close_code() == 1008;
  }));
}

SCENARIO(
  "a client that attaches while its shell is being closed hears of the end, or finds no shell") {
  const scene stage;
  for (int round = 0; round < 10; ++round) {
    const std::string id = open_shell(stage, "demo");
    const std::string path = shells_path + "/" + id;
    auto closing = std::async(std::launch::async, [&] {
      return stage.client.send({.method = "DELETE", .path = path}).status;
    });
    CHECK(poll_until([&] {
      const ws_client late(stage.client, path + "/ws?keep=true");
      CHECK(late.wait_for_end());
      CHECK((late.close_code() == 1000 || late.close_code() == 1008));
      return late.close_code() == 1008;
    }));
    CHECK(closing.get() == 200);
  }
}

SCENARIO("contract, Shell: a client that comes back after the end hears of it") {
  const scene stage;
  const std::string id = open_script(stage, "demo", "echo last words; exit 7");
  CHECK(string_or(closing_of(stage, "demo", id), "reason") == "program");
  const auto client = attach(stage, id);
  CHECK(int_or(client->wait_for("exit"), "code", -1) == 7);
  CHECK(client->output() == "last words\r\n");
  CHECK(client->wait_for_end());
  CHECK(client->close_code() == 1000);
}

SCENARIO("B79: a shell is in charge of its terminal") {
  const scene stage;
  const std::string id = open_shell(stage, "demo");
  const auto client = attach(stage, id);
  client->type("echo up $((1 + 1))\r"); // a shell that is not up yet dies of ^C
  REQUIRE(client->wait_for_output("up 2"));
  // Up before the ^C: one that meets bash on the way to it leaves it behind with the terminal.
  client->type("sh -c 'echo in $((2 + 3)); exec sleep 100'\r");
  CHECK(client->wait_for_output("in 5"));
  CHECK(poll_until([&] {
    client->type("\x03");
    client->type("echo back $((6 * 7))\r");
    return client->wait_for_output("back 42", 1s);
  }));
  CHECK(poll_until([&] { // a ^C that is late takes a line with it
    client->type("tty; echo to $((1 + 1)) > /dev/tty\r");
    return client->wait_for_output("to 2\r\n", 1s);
  }));
  CHECK(client->wait_for_output("/dev/pts/"));
  const auto watching =
    attach(stage, open_script(stage, "demo",
                              "trap 'echo size $(stty size)' WINCH; echo ready; "
                              "while :; do sleep 0.05; done"));
  REQUIRE(watching->wait_for_output("ready"));
  watching->resize(50, 132);
  CHECK(watching->wait_for_output("size 50 132\r\n"));
  watching->resize(1, 1);
  CHECK(watching->wait_for_output("size 1 1\r\n"));
}

SCENARIO("B79: sizes that no terminal has are refused, and shell and server live") {
  const scene stage;
  const std::string id = open_shell(stage, "demo");
  const auto client = attach(stage, id);
  const auto errors = [&] {
    const auto all = client->all();
    return std::count_if(all.begin(), all.end(),
                         [](const json& each) { return string_or(each, "type") == "error"; });
  };
  int sent = 0;
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
         {0, 0}, {-1, 5}, {70'000, 1}, {1, 70'000}}) {
    client->resize(rows, columns);
    ++sent;
    CHECK(poll_until([&] { return errors() == sent; }));
  }
  CHECK(string_or(client->wait_for("error"), "message").find("rows") != std::string::npos);
  client->type("stty size\r");
  CHECK(client->wait_for_output("24 80\r\n"));
}

SCENARIO("B79: two clients see one shell, and the size of one that vanishes is released") {
  const scene stage;
  const std::string id = open_shell(stage, "demo");
  const auto first = attach(stage, id);
  const auto second = attach(stage, id);
  first->resize(40, 100);
  second->resize(10, 20);
  const auto size_is = [&](const std::string& size) {
    return poll_until([&] {
      first->type("stty size\r");
      return first->wait_for_output(size + "\r\n", 200ms);
    });
  };
  CHECK(size_is("10 20"));
  CHECK(second->wait_for_output("10 20\r\n"));
  second->leave(ws_client::farewell::reset);
  CHECK(size_is("40 100"));
}

SCENARIO("B80: two megabytes of characters reach a slow client as they are") {
  print_to_a_slow_client(500'000, 2'000'000);
}

SCENARIO("B80: they do so too if it takes a kilobyte a second for a while") {
  print_to_a_slow_client(1000, 5000);
}

SCENARIO("B80: bytes that are no UTF-8 close no socket") {
  const scene stage;
  const std::string id =
    open_script(stage, "demo", "head -c 300000 /dev/urandom; echo; echo over; sleep 60");
  const auto client = attach(stage, id);
  CHECK(client->wait_for_output("over"));
  CHECK(client->fault() == "");
  CHECK(client->close_code() == 0);
}

SCENARIO("B80: a slow client is not slower for the others, and is told what it missed") {
  const scene stage({.environment = {{"TIDEMARK_SHELL_SCROLLBACK", "64KiB"}}});
  const std::string id = open_script(stage, "demo", "read go; seq 1 700000; echo over; sleep 60");
  const auto slow = attach(stage, id, "", {.bytes_per_second = 60'000});
  slow->type("go\r");
  // Alone it is waited for. Only then is it behind: before, its socket takes as fast as any other.
  double shown = 0;
  int still = 0;
  REQUIRE(poll_until([&] {
    const auto before =
      std::exchange(shown, metric_now(stage, "tidemark_shell_output_bytes_total"));
    still = shown == before && shown > 100'000 ? still + 1 : 0;
    return still == 20;
  }));
  const auto fast = attach(stage, id);
  CHECK(fast->wait_for_output("\r\nover\r\n", 150s));
  const auto cuts = [](const ws_client::messages& so_far) {
    return std::count_if(so_far.begin(), so_far.end(),
                         [](const json& each) { return int_or(each, "cut", 0) > 0; });
  };
  CHECK(slow->wait([&](const auto& so_far) { return cuts(so_far) > 0; }, 60s));
  const auto all = fast->all();
  CHECK(cuts(all) == 1); // what was before it came
  CHECK(metric_now(stage, "tidemark_shell_skipped_bytes_total") > 0);
}

SCENARIO("B80: a paste of 256 KB arrives whole, also while the shell is slow to read it") {
  const scene stage;
  const bool slowly = GENERATE(false, true);
  const std::string id =
    open_script(stage, "demo",
                std::string("stty raw -echo; echo ready; ") + (slowly ? "sleep 1; " : "")
                  + "head -c 262144 | sha256sum; seq 0 100000 | head -c 262144 | sha256sum; "
                    "echo over; sleep 60");
  const auto client = attach(stage, id);
  REQUIRE(client->wait_for_output("ready\n"));
  std::string pasted;
  for (int i = 0; pasted.size() < 262'144; ++i) {
    pasted += std::to_string(i) + "\n";
  }
  pasted.resize(262'144);
  for (std::size_t at = 0; at < pasted.size(); at += 65'536) {
    client->type(pasted.substr(at, 65'536));
  }
  REQUIRE(client->wait_for_output("\nover", 30s));
  const std::string seen = client->output();
  const auto first = seen.find("  -\n");
  const auto second = seen.find("  -\n", first + 1);
  REQUIRE(second != std::string::npos);
  CHECK(seen.substr(first - 64, 64) == seen.substr(second - 64, 64));
}

SCENARIO("a client whose shell reads nothing is still heard when it leaves") {
  const scene stage({.environment = {{"TIDEMARK_HTTP_HEARTBEAT", "100ms"}}});
  const std::string id = open_script(stage, "demo", "stty raw -echo; echo ready; sleep 600");
  const auto client = attach(stage, id);
  REQUIRE(client->wait_for_output("ready"));
  for (int i = 0; i < 8; ++i) {
    client->type(std::string(60'000, 'x'));
  }
  client->leave(ws_client::farewell::fin);
  CHECK(string_or(closing_of(stage, "demo", id), "reason") == "disconnect");
}

SCENARIO("B72: output, pings, control frames, resizes and closing at once on many sockets") {
  meet_in_crowds(10, 5);
}

SCENARIO("B72: the same on a thousand sockets", "[long][.]") {
  meet_in_crowds(50, 20);
}

SCENARIO("hostile messages end their socket with the code that says why, and nothing else") {
  const scene stage({.environment = {{"TIDEMARK_SHELL_MAX_MESSAGE", "64KiB"}}});
  const std::string id = open_shell(stage, "demo");
  const auto bystander = attach(stage, id, "?keep=true");
  const auto code_after = [&](const std::function<void(ws_client&)>& act) {
    const auto client = attach(stage, id, "?keep=true");
    act(*client);
    CHECK(client->wait_for_end());
    CHECK(client->fault() == "");
    return client->close_code();
  };
  CHECK(code_after([](auto& c) { c.send_frame(ws_client::binary, "x"); }) == 1003);
  CHECK(code_after([](auto& c) { c.send_frame(ws_client::text, "{}", true, false); }) == 1002);
  CHECK(code_after([](auto& c) { c.send_frame(ws_client::opcode(3), "x"); }) == 1002);
  CHECK(code_after([](auto& c) { c.send_frame(ws_client::continuation, "x"); }) == 1002);
  CHECK(code_after([](auto& c) { c.send_frame(ws_client::text, "\xFF\xFE"); }) == 1007);
  CHECK(code_after([](auto& c) { c.send_frame(ws_client::text, std::string(70'000, ' ')); })
        == 1009);
  CHECK(code_after([](auto& c) {
          for (int i = 0; i < 40; ++i) {
            c.send_frame(i == 0 ? ws_client::text : ws_client::continuation, std::string(2000, ' '),
                         false);
          }
        })
        == 1009);
  CHECK(code_after([](auto& c) { c.send_bytes("\x81\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF mask"); })
        != 1000);
  WHEN("a message is merely wrong, its client is told and stays") {
    const auto client = attach(stage, id, "?keep=true");
    for (const char* wrong : {"{broken", "[]", R"({"type":"shout"})", R"({"type":"input"})"}) {
      client->send_frame(ws_client::text, wrong);
    }
    client->send_frame(ws_client::text, R"({"type":"input",)", false);
    client->send_frame(ws_client::pinging, "between the fragments");
    client->send_frame(ws_client::continuation, R"("data":"echo $((6*7))\r"})");
    CHECK(client->wait_for_output("42\r\n"));
    CHECK_FALSE(client->wait_for("error").is_null());
    CHECK(client->pongs() == 1);
  }
  bystander->type("echo alive $((1 + 1))\r");
  CHECK(bystander->wait_for_output("alive 2"));
}

SCENARIO("the server's stop ends shells in order, and their clients hear of it") {
  scene stage;
  const std::string id =
    open_script(stage, "demo", "trap '' HUP TERM; setsid sleep 601 & echo ready; sleep 601");
  const std::string gentle = open_shell(stage, "demo");
  const auto client = attach(stage, id);
  const auto other = attach(stage, gentle, "?keep=true");
  REQUIRE(client->wait_for_output("ready"));
  const pid_t pid = pid_of(stage, id);
  CHECK(stage.server.terminate() == 0);
  CHECK_FALSE(process_alive(pid));
  for (const auto* each : {client.get(), other.get()}) {
    CHECK(string_or(each->wait_for("exit"), "reason") == "server");
    CHECK(each->wait_for_end());
    CHECK(each->close_code() == 1001);
  }
  stage.server.start();
  stage.reconnect();
  for (const auto& shell : {id, gentle}) {
    CHECK(string_or(closing_of(stage, "demo", shell), "reason") == "server");
  }
  CHECK(stage.events("demo", "types=shell.closed").size() == 2);
  CHECK(list_shells(stage).empty());
}

SCENARIO("a killed server leaves no shell behind, and its log says so after the restart") {
  scene stage;
  const std::string id =
    open_script(stage, "demo", "trap '' HUP; echo $$ > pid; setsid sleep 602 & sleep 602");
  REQUIRE(poll_until([&] { return exists(stage, "pid"); }));
  const pid_t pid = pid_of(stage, id);
  stage.kill_and_restart();
  const json closed = closing_of(stage, "demo", id); // without a call to the workspace
  CHECK(string_or(closed, "reason") == "recovery");
  CHECK(bool_or(closed, "synthetic", false));
  CHECK(poll_until([&] { return !process_alive(pid); }));
  CHECK(poll_until(
    [&] { return processes_with_environment("HOME=" + stage.server.path("data")).empty(); }));
  CHECK(stage.events("demo", "types=shell.closed").size() == 1);
}
