// Checkpoints: what a log held at one moment, signed, and how another log contradicts it.
#include "storage/hash_chain.hpp"
#include "storage/log_checkpoint.hpp"
#include "storage/memory_log.hpp"
#include "support.hpp"

using namespace tidemark;
using namespace tidemark::testing;

namespace {

const timestamp taken{1'764'435'909'042'000'000};

digest digest_of(std::uint8_t byte) {
  digest hash{};
  hash.fill(byte);
  return hash;
}

log_checkpoint two_streams() {
  return {epoch{1},
          position{7},
          taken,
          {{"b", epoch{2}, offset{4}, offset{1}, digest_of(0xAB)},
           {"a\"x", epoch{1}, offset{3}, offset{0}, digest_of(1)}}};
}

verifying_key public_half(const signing_key& key) {
  return *verifying_key::parse(key.public_pem());
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

std::optional<stream_standing> standing(const event_log& log, const stream_mark& then) {
  const auto stream = log.find(then.workspace);
  if (!stream)
    return std::nullopt;
  return stream_standing{*stream, *log.verify(stream->id, then.head)};
}

std::optional<std::string> difference(const event_log& log, const stream_mark& then) {
  return contradiction(then, standing(log, then));
}

} // namespace

SCENARIO("the text of a checkpoint is the same however its streams were listed", "[checkpoint]") {
  auto checkpoint = two_streams();
  const auto text = canonical_text(checkpoint);
  const auto repeated = [](std::string_view pair) {
    std::string all;
    for (int i = 0; i < 32; ++i)
      all += pair;
    return all;
  };
  CHECK(text
        == "{\"log_epoch\":1,\"position\":7,\"streams\":[\n{\"epoch\":1,\"hash\":\""
             + repeated("01")
             + "\",\"head\":3,\"trimmed\":0,\"workspace\":\"a\\\"x\"},\n{\"epoch\":2,\"hash\":\""
             + repeated("ab")
             + "\",\"head\":4,\"trimmed\":1,\"workspace\":\"b\"}\n],\"time\":"
               "\"2025-11-29T17:05:09.042Z\",\"version\":1}\n");
  std::swap(checkpoint.streams[0], checkpoint.streams[1]);
  CHECK(canonical_text(checkpoint) == text);
  CHECK(canonical_text(*parse_json(text).and_then(parse_checkpoint)) == text);
  CHECK(canonical_text({epoch{1}, position{0}, taken, {}})
        == "{\"log_epoch\":1,\"position\":0,\"streams\":[\n],"
           "\"time\":\"2025-11-29T17:05:09.042Z\",\"version\":1}\n");
}

SCENARIO("a signed checkpoint is taken from its file only as it was signed, by who signed it",
         "[checkpoint]") {
  const auto key = *signing_key::generate();
  const auto file = checkpoint_file(two_streams(), &key);
  const auto read = parse_checkpoint_file(file);
  REQUIRE(read);
  CHECK(read->content.streams.size() == 2);
  CHECK(check_signature(*read, public_half(key)));

  GIVEN("the same JSON laid out otherwise") {
    const auto pretty = parse_json(file)->dump(2);
    CHECK(check_signature(*parse_checkpoint_file(pretty), public_half(key)));
  }
  GIVEN("an altered file") {
    for (const auto& [what, by] : std::vector<std::pair<std::string, std::string>>{
           {"\"head\":4", "\"head\":3"},
           {"abab", "abac"},
           {"\"workspace\":\"b\"", "\"workspace\":\"c\""},
           {"\"position\":7", "\"position\":8"},
           {"2025-11-29", "2025-11-28"},
           {"\"trimmed\":1", "\"trimmed\":4"}}) {
      INFO(what);
      const auto altered = parse_checkpoint_file(replaced(file, what, by));
      REQUIRE(altered);
      const auto checked = check_signature(*altered, public_half(key));
      REQUIRE_FALSE(checked);
      CHECK_THAT(checked.error().message, Catch::Contains("altered"));
    }
  }
  GIVEN("another key") {
    const auto checked = check_signature(*read, public_half(*signing_key::generate()));
    REQUIRE_FALSE(checked);
    CHECK_THAT(checked.error().message, Catch::Contains("another key"));
  }
  GIVEN("no signature") {
    const auto unsigned_file = parse_checkpoint_file(checkpoint_file(two_streams(), nullptr));
    REQUIRE(unsigned_file);
    CHECK_FALSE(check_signature(*unsigned_file, public_half(key)));
  }
  GIVEN("files that are none") {
    CHECK_FALSE(parse_checkpoint_file(""));
    CHECK_FALSE(parse_checkpoint_file("[]"));
    CHECK_FALSE(parse_checkpoint_file(R"({"checkpoint":{},"signature":null})"));
    CHECK_FALSE(parse_checkpoint_file(replaced(file, "ed25519", "rsa")));
    CHECK_FALSE(parse_checkpoint_file(replaced(file, "\"version\":1", "\"version\":2")));
    CHECK_FALSE(parse_checkpoint_file(replaced(file, "\"head\":4", "\"head\":-4")));
    CHECK_FALSE(
      parse_checkpoint_file(replaced(file, "\"workspace\":\"b\"", R"("workspace":"a\"x")")));
  }
}

SCENARIO("keys are read from the files that openssl makes, and nothing else is taken for one",
         "[checkpoint]") {
  const temporary_directory directory;
  const auto file = directory.path() / "key.pem";
  // `openssl genpkey -algorithm ed25519`, and `openssl pkey -pubout` of it.
  overwrite(file, "-----BEGIN PRIVATE KEY-----\n"
                  "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                  "-----END PRIVATE KEY-----\n");
  const auto key = signing_key::load(file);
  REQUIRE(key);
  // RFC 8032, 7.1, TEST 1: the empty message.
  CHECK(to_hex(key->sign("").public_key)
        == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  CHECK(to_hex(key->sign("").value)
        == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
           "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
  CHECK(signing_key::load(directory.path() / "none").error().code == errc::not_found);
  overwrite(file, "no key");
  CHECK(signing_key::load(file).error().code == errc::invalid_argument);
  CHECK(verifying_key::load(file).error().code == errc::invalid_argument);
  overwrite(file, key->public_pem());
  CHECK(verifying_key::load(file)->bytes() == key->sign("").public_key);
  CHECK_FALSE(signing_key::load(file));
}

SCENARIO(
  "a log holds what its checkpoint says until an event before it is altered, removed or cut off",
  "[checkpoint]") {
  const temporary_directory directory;
  auto log = open_log(directory.path());
  for (const auto* name : {"a", "b"})
    for (int i = 0; i < 3; ++i)
      REQUIRE(append(*log, name, fmt::format("{{\"n\":{}}}", i)));
  const auto checkpoint = checkpoint_of(log->heads(), taken);
  REQUIRE(checkpoint.streams.size() == 2);
  CHECK(checkpoint.head == position{6});
  const auto a = checkpoint.streams[0];
  CHECK(a.workspace == "a");
  CHECK(a.head == offset{3});

  CHECK(difference(*log, a) == std::nullopt);
  REQUIRE(append(*log, "a", "{}")); // what follows is none of its business
  CHECK(difference(*log, a) == std::nullopt);

  GIVEN("a log that has fewer events") {
    memory_log other;
    REQUIRE(append(other, "a", "{\"n\":0}"));
    CHECK_THAT(difference(other, a).value(), Catch::Contains("cut off"));
  }
  GIVEN("a log that never had the workspace") {
    CHECK_THAT(difference(memory_log{}, a).value(), Catch::Contains("missing"));
  }
  GIVEN("a log with another event, whose hashes were all made anew") {
    memory_log other;
    for (const auto* data : {"{\"n\":0}", "{\"n\":9}", "{\"n\":2}", "{}"})
      REQUIRE(append(other, "a", data));
    CHECK_THAT(difference(other, a).value(), Catch::Contains("another hash"));
  }
  GIVEN("a workspace that was deleted and begun again") {
    auto stream = *log->find("a");
    auto last = request_for(stream, {event_of("{}")});
    last.ends_stream = true;
    REQUIRE(append(*log, last));
    CHECK(difference(*log, a) == std::nullopt);
    for (int i = 0; i < 4; ++i)
      REQUIRE(append(*log, "a", "{}"));
    CHECK_THAT(difference(*log, a).value(), Catch::Contains("another one"));
  }
  GIVEN("events that retention has removed") {
    auto now = standing(*log, a);
    now->stream.trimmed = offset{3};
    now->chain.marked.reset();
    CHECK_THAT(contradiction(a, now).value(), Catch::Contains("removed"));
  }
}
