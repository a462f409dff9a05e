#include "app/api_client.hpp"
#include "app/doctor.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tidemark;

namespace {

namespace fs = std::filesystem;

/// Takes connections on a port of loopback and never says a word, like a server that hangs.
struct silent_listener {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port = 0;
  silent_listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(fd, 1) == 0);
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
  }
  ~silent_listener() { ::close(fd); }
  silent_listener(const silent_listener&) = delete;
  silent_listener& operator=(const silent_listener&) = delete;
};

struct scratch {
  fs::path path = fs::temp_directory_path() / ("tidemark-doctor-" + std::to_string(::getpid()));
  scratch() { fs::create_directories(path); }
  ~scratch() { fs::remove_all(path); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  [[nodiscard]] std::string script(const std::string& name, const std::string& text) const {
    const auto file = path / name;
    std::ofstream{file} << "#!/bin/sh\n" << text;
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
};

} // namespace

SCENARIO("the agent is found, or the remedy is named") {
  const scratch here;
  agent_options agent;
  agent.kind = "claude";
  agent.binary = (here.path / "missing").string();
  const auto missing = check_agent(agent);
  CHECK(missing.found == finding::bad);
  CHECK_THAT(missing.detail, Catch::Contains(agent.binary));
  CHECK_THAT(missing.remedy, Catch::Contains("TIDEMARK_CLAUDE_BIN"));

  agent.binary = here.script("fine", "echo 2.1.0\necho more\n");
  const auto fine = check_agent(agent);
  CHECK(fine.found == finding::good);
  CHECK_THAT(fine.detail, Catch::EndsWith("(2.1.0)"));

  agent.binary = here.script("mute", "exit 0\n");
  CHECK(check_agent(agent).found == finding::bad);
}

SCENARIO("a key for the model is looked for where agents get it from") {
  const scratch here;
  agent_options agent;
  agent.kind = "claude";
  agent.settings_path = (here.path / "settings.json").string();
  CHECK(check_model_access(agent).found == finding::bad);
  CHECK_THAT(check_model_access(agent).remedy, Catch::Contains("ANTHROPIC_API_KEY"));

  agent.server_environment["ANTHROPIC_API_KEY"] = "sk-test-key";
  CHECK(check_model_access(agent).found == finding::bad); // set, but agents do not get it
  agent.passed_names = {"ANTHROPIC_API_KEY"};
  CHECK(check_model_access(agent).found == finding::good);

  for (const auto* placeholder : {"sk-ant-...", "your-api-key", "<key>", "xxxx", "…", "CHANGEME"}) {
    INFO(placeholder);
    agent.server_environment["ANTHROPIC_API_KEY"] = placeholder;
    CHECK(check_model_access(agent).found == finding::bad);
    CHECK_THAT(check_model_access(agent).detail, Catch::Contains("placeholder"));
  }

  agent.passed_names.clear();
  std::ofstream{agent.settings_path}
    << R"({"active_provider":"p","providers":{"p":{"auth_token":"t"}}})";
  CHECK(check_model_access(agent).found == finding::good);
  std::ofstream{agent.settings_path} << "{broken";
  for (const auto* kind : {"claude", "demo"}) {
    agent.kind = kind; // turns of either would fail
    CHECK(check_model_access(agent).found == finding::bad);
    CHECK_THAT(check_model_access(agent).detail, Catch::Contains(agent.settings_path));
  }
}

SCENARIO("a data directory that cannot be written is bad, with the remedy") {
  const scratch here;
  settings what;
  what.data_directory = (here.path / "data").string();
  CHECK(check_data_directory(what).found == finding::good);
  CHECK_FALSE(fs::exists(what.data_directory)); // a check changes nothing

  std::ofstream{here.path / "file"} << "x";
  what.data_directory = (here.path / "file" / "data").string();
  const auto bad = check_data_directory(what);
  CHECK(bad.found == finding::bad);
  CHECK_THAT(bad.remedy, Catch::Contains("TIDEMARK_DATA_DIR"));
}

SCENARIO("a call of a server that takes it and never answers fails once patience is over") {
  const silent_listener hanging;
  api_address address;
  address.url = "http://127.0.0.1:" + std::to_string(hanging.port);
  address.patience = std::chrono::milliseconds{50};
  const auto answer = api_client{address}.call("GET", "/health");
  REQUIRE_FALSE(answer);
  REQUIRE(answer.error().code == errc::unavailable);
}

SCENARIO("a port that is taken and an open address without a token are bad") {
  std::optional<silent_listener> taken{std::in_place};
  http_options http;
  http.port = taken->port;
  CHECK(check_address_and_port(http).found == finding::bad);
  CHECK(check_address_and_port(http, running_server{"7", false}).found == finding::bad);
  CHECK(check_address_and_port(http, running_server{"7", true}).found == finding::good);
  CHECK(check_address_and_port(http, running_server{"7", true, false}).found == finding::bad);
  taken.reset();
  CHECK(check_address_and_port(http).found == finding::good);

  http.host = "0.0.0.0";
  CHECK(check_address_and_port(http).found == finding::bad);
  http.token = "short";
  CHECK(check_address_and_port(http).found == finding::warning);
}

SCENARIO("a settings file that is a pipe is a finding, not something to wait for") {
  const scratch here;
  agent_options agent;
  agent.kind = "claude";
  agent.workspace_root = here.path;
  agent.settings_path = here.path / "settings.json";
  REQUIRE(::mkfifo(agent.settings_path.c_str(), 0600) == 0);
  const auto own = check_model_access(agent);
  CHECK(own.found == finding::bad);
  CHECK_THAT(own.detail, Catch::Contains(agent.settings_path));

  fs::remove(agent.settings_path);
  fs::create_directories(here.path / ".claude");
  REQUIRE(::mkfifo((here.path / ".claude" / "settings.json").c_str(), 0600) == 0);
  const auto project = check_model_access(agent);
  CHECK(project.found == finding::bad);
  CHECK_THAT(project.detail, Catch::Contains(".claude/settings.json"));
}
