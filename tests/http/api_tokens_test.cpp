// Tokens by name and scope, and what slows guessing.
#include "http/api_tokens.hpp"
#include "http/failed_attempts.hpp"
#include "http/gatekeeper.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

const std::string moment = "2026-11-30T01:02:03.000Z";

api_token named(const std::string& name, const std::string& secret, std::set<scope> scopes) {
  api_token token;
  token.name = name;
  token.hash = hash_of_token(secret);
  token.scopes = std::move(scopes);
  token.created = moment;
  return token;
}

/// A gatekeeper over a file.
struct gate_with_file {
  explicit gate_with_file(const std::vector<api_token>& tokens, const std::string& internal = "") {
    options.token = internal;
    options.tokens_file = directory / "tokens.json";
    write(tokens);
  }
  void write(const std::vector<api_token>& tokens) const {
    write_file(options.tokens_file + ".new", tokens_text(tokens));
    std::filesystem::rename(options.tokens_file + ".new", options.tokens_file);
  }

  temp_dir directory;
  http_options options;
};

/// No file can be opened as long as it lives.
class no_descriptors {
public:
  no_descriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit none{0, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

private:
  rlimit before_{};
};

int status_of(const tl::expected<caller, refused_entry>& outcome) {
  return outcome ? 200 : outcome.error().status;
}

} // namespace

SCENARIO("a tokens file is read back as it was written") {
  auto first = named("ci", "a", {scope::read, scope::write});
  first.expires = "2027-01-31T12:00:00.000Z";
  const auto second = named("ops", "b", {scope::admin});
  const auto read = parse_tokens(tokens_text({first, second}));
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK(read->at(0).name == "ci");
  CHECK(read->at(0).hash == first.hash);
  CHECK(read->at(0).scopes == first.scopes);
  CHECK(read->at(0).expires == first.expires);
  CHECK(read->at(0).id() == first.id());
  CHECK(read->at(0).id() != read->at(1).id());
  CHECK_FALSE(read->at(1).expires);
}

SCENARIO("a tokens file with a mistake is refused and the entry named") {
  const auto entry = [](const std::string& members) {
    return R"({"tokens":[{"name":"a","scopes":["read"],"sha256":")" + std::string(64, '0') + "\""
           + members + "}]}";
  };
  REQUIRE(parse_tokens(entry("")));
  CHECK(parse_tokens(R"({"tokens":[]})"));
  for (const auto& file :
       {std::string{}, std::string{"[]"}, std::string{"{}"}, std::string{R"({"tokens":{}})"},
        std::string{R"({"tokens":[],"more":1})"}, std::string{R"({"tokens":[1]})"},
        entry(R"(,"expire":"2027-01-31T12:00:00.000Z")"), entry(R"(,"expires":"tomorrow")"),
        entry(R"(,"expires":5)"), entry(R"(,"name":"a b")"), entry(R"(,"scopes":[])"),
        entry(R"(,"scopes":["root"])"), entry(R"(,"scopes":[1])"), entry(R"(,"scopes":"read")"),
        entry(R"(,"sha256":"00")")}) {
    INFO(file);
    const auto read = parse_tokens(file);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_argument);
  }
  const auto second = parse_tokens(R"({"tokens":[{"name":"a","scopes":["read"],"sha256":")"
                                   + std::string(64, '0') + R"("},{"name":""}]})");
  CHECK_THAT(second.error().describe(), Catch::Contains("entry 2"));
}

SCENARIO("scopes stand for themselves, admin for all") {
  const auto reader = named("a", "a", {scope::read});
  CHECK(reader.grants(scope::none));
  CHECK(reader.grants(scope::read));
  CHECK_FALSE(reader.grants(scope::write));
  CHECK_FALSE(reader.grants(scope::admin));
  CHECK_FALSE(named("a", "a", {scope::write}).grants(scope::read));
  for (const auto needed : {scope::none, scope::read, scope::write, scope::admin})
    CHECK(named("a", "a", {scope::admin}).grants(needed));
}

SCENARIO("new tokens are long, different and go into a header as they are") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto token = new_token();
    CHECK(token.size() == 47);
    CHECK(token.starts_with("tmk_"));
    CHECK(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "-_")
          == std::string::npos);
    seen.insert(token);
  }
  CHECK(seen.size() == 100);
}

SCENARIO("an address has some wrong tokens free, then waits, and is forgiven with time") {
  failed_attempts failures;
  failed_attempts::clock::time_point now{std::chrono::hours{1}};
  for (int i = 0; i < failed_attempts::burst; ++i) {
    CHECK(failures.wait_of("a", now) == seconds{0});
    failures.add("a", now);
  }
  CHECK(failures.wait_of("a", now) == failed_attempts::refill);
  CHECK(failures.wait_of("b", now) == seconds{0});
  for (int i = 0; i < 1000; ++i) // going on does not make it longer
    failures.add("a", now);
  CHECK(failures.wait_of("a", now) == failed_attempts::refill);
  now += failed_attempts::refill;
  CHECK(failures.wait_of("a", now) == seconds{0});
  failures.add("a", now);
  CHECK(failures.wait_of("a", now) > seconds{0});
}

SCENARIO("failed attempts of many addresses take bounded memory, the newest are remembered") {
  failed_attempts failures;
  const failed_attempts::clock::time_point now{std::chrono::hours{1}};
  const auto fail_often = [&](const std::string& address) {
    for (int i = 0; i < failed_attempts::burst; ++i)
      failures.add(address, now);
  };
  fail_often("first");
  for (std::size_t i = 0; i < failed_attempts::max_addresses; ++i)
    failures.add("other-" + std::to_string(i), now);
  CHECK(failures.wait_of("first", now) == seconds{0});
  fail_often("last");
  CHECK(failures.wait_of("last", now) > seconds{0});
}

SCENARIO("an IPv6 client is known by its network, an IPv4 one by its address") {
  CHECK(client_network("192.0.2.7") == "192.0.2.7");
  CHECK(client_network("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64");
  CHECK(client_network("2001:db8:1:2:ffff::1") == client_network("2001:db8:1:2::9"));
  CHECK(client_network("2001:db8:1:3::9") != client_network("2001:db8:1:2::9"));
  CHECK(client_network("::ffff:192.0.2.7") == "192.0.2.7");
}

SCENARIO("a caller is let in by its token and for what its scopes grant") {
  const gate_with_file file{
    {named("eye", "look", {scope::read}), named("hand", "do", {scope::write})}, "internal-token"};
  gatekeeper gate{file.options};
  REQUIRE(gate.load());
  CHECK_FALSE(gate.open());
  const auto eye = gate.admit("look", "x", scope::read);
  REQUIRE(eye);
  CHECK(eye->name == "eye");
  CHECK(status_of(gate.admit("look", "x", scope::write)) == 403);
  CHECK(status_of(gate.admit("do", "x", scope::read)) == 403);
  CHECK(gate.admit("do", "x", scope::write)->name == "hand");
  CHECK(gate.admit("internal-token", "x", scope::admin)->name == "internal");
  CHECK(status_of(gate.admit("loo", "x", scope::read)) == 401);
  CHECK(status_of(gate.admit("", "x", scope::read)) == 401);
  CHECK(status_of(gate.admit(std::nullopt, "x", scope::read)) == 401);
  CHECK(gate.admit(std::nullopt, "x", scope::none));
}

SCENARIO("without any token everybody is let in as a client") {
  const http_options options;
  gatekeeper gate{options};
  REQUIRE(gate.load());
  CHECK(gate.open());
  CHECK(gate.admit(std::nullopt, "x", scope::admin)->name == "client");
  CHECK(gate.admits(caller{}, scope::admin));
}

SCENARIO("a change of the tokens file counts without a restart") {
  const gate_with_file file{{named("a", "old", {scope::read})}};
  gatekeeper gate{file.options};
  REQUIRE(gate.load());
  const auto who = gate.admit("old", "x", scope::read);
  REQUIRE(who);
  CHECK(gate.admits(*who, scope::read));
  // Each time from somewhere else: ten wrong tokens from one address would shut it out.
  auto admitted = [&gate, from = 0](const std::string& token) mutable {
    return gate.admit(token, "y" + std::to_string(++from), scope::read);
  };
  file.write({named("a", "new", {scope::read})});
  CHECK(poll_until([&] { return admitted("new").has_value(); }));
  CHECK(status_of(gate.admit("old", "x", scope::read)) == 401);
  CHECK_FALSE(gate.admits(*who, scope::read));

  WHEN("the new file is broken") {
    write_file(file.options.tokens_file, "{");
    CHECK(status_of(gate.admit("other", "z", scope::read)) == 401);
    // Looked at for sure by now or in a second; in force either way.
    CHECK(admitted("new"));
  }
  WHEN("the file cannot be read for a moment, without having changed since") {
    file.write({named("a", "newest", {scope::read})});
    {
      const no_descriptors shortage;
      const auto looked_by = std::chrono::steady_clock::now() + std::chrono::milliseconds{1500};
      CHECK(poll_until(
        [&] { return !admitted("new") || std::chrono::steady_clock::now() > looked_by; }));
      CHECK(admitted("new"));
    }
    CHECK(poll_until([&] { return admitted("newest").has_value(); }));
    CHECK(status_of(admitted("new")) == 401);
  }
  WHEN("something else than a file takes its place") {
    std::filesystem::remove(file.options.tokens_file);
    SECTION("a pipe") {
      REQUIRE(::mkfifo(file.options.tokens_file.c_str(), 0600) == 0);
    }
    SECTION("a device without end") {
      std::filesystem::create_symlink("/dev/zero", file.options.tokens_file);
    }
    const auto looked_by = std::chrono::steady_clock::now() + std::chrono::milliseconds{1500};
    CHECK(
      poll_until([&] { return !admitted("new") || std::chrono::steady_clock::now() > looked_by; }));
    CHECK(admitted("new")); // the former tokens stay, and nobody waits
  }
  WHEN("a file that everybody may write takes its place") {
    file.write({named("a", "planted", {scope::admin})});
    std::filesystem::permissions(file.options.tokens_file, std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);
    CHECK_FALSE(
      poll_until([&] { return admitted("planted").has_value(); }, std::chrono::milliseconds{1500}));
    CHECK(admitted("new"));
  }
  WHEN("the file is gone") {
    std::filesystem::remove(file.options.tokens_file);
    CHECK(poll_until([&] { return status_of(admitted("new")) == 401; }));
  }
  WHEN("its token has expired") {
    auto short_lived = named("a", "new", {scope::read});
    short_lived.expires = "2020-01-01T00:00:00.000Z";
    file.write({short_lived});
    CHECK(poll_until([&] { return status_of(admitted("new")) == 401; }));
  }
}

SCENARIO("a tokens file that is missing, broken or everybody's is refused at start") {
  const gate_with_file file{{named("a", "t", {scope::read})}};
  REQUIRE(gatekeeper{file.options}.load());
  std::filesystem::permissions(file.options.tokens_file, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const auto open_to_all = gatekeeper{file.options}.load();
  REQUIRE_FALSE(open_to_all);
  CHECK_THAT(open_to_all.error().message, Catch::Contains("chmod go-w"));
  std::filesystem::remove(file.options.tokens_file);
  const auto missing = gatekeeper{file.options}.load();
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().message, Catch::Contains("tidemark token create"));
  write_file(file.options.tokens_file, "{");
  CHECK_FALSE(gatekeeper{file.options}.load());
}

SCENARIO(
  "guessing from one address ends in 429, also for the right token, but not for a known one") {
  const gate_with_file file{
    {named("a", "known", {scope::read}), named("b", "right", {scope::read})}};
  gatekeeper gate{file.options};
  REQUIRE(gate.load());
  REQUIRE(gate.admit("known", "here", scope::read));
  for (int i = 0; i < failed_attempts::burst; ++i)
    CHECK(status_of(gate.admit("guess-" + std::to_string(i), "here", scope::read)) == 401);
  const auto guess = gate.admit("one more", "here", scope::read);
  CHECK(status_of(guess) == 429);
  CHECK(guess.error().retry_after > seconds{0});
  CHECK(status_of(gate.admit("right", "here", scope::read)) == 429);
  CHECK(status_of(gate.admit("known", "here", scope::read)) == 200);
  CHECK(status_of(gate.admit("right", "elsewhere", scope::read)) == 200);
  CHECK(status_of(gate.admit(std::nullopt, "here", scope::read)) == 401);
}
