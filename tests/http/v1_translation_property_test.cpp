#include "tests/http/v1_events.hpp"
#include "tests/support/v1_lines.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace v1_test;

namespace {

/// Text with everything that has ever broken a line splitter or a JSON writer.
std::string random_text(std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"word ",
                                                  "\n",
                                                  "\r\n",
                                                  "\t",
                                                  "\"",
                                                  "\\",
                                                  "\\u0000",
                                                  "data: {}",
                                                  "\n\ndata: x",
                                                  "\xC2\x85",
                                                  "\xE2\x80\xA8",
                                                  "\xE2\x80\xA9",
                                                  "\x0B",
                                                  "\x0C",
                                                  "\x1C",
                                                  "\x1D",
                                                  "\x1E",
                                                  "\x7F",
                                                  "\x01",
                                                  "\xE4\xBD\xA0\xE5\xA5\xBD",
                                                  "\xF0\x9F\x8C\x8A",
                                                  "\xEF\xBF\xBD",
                                                  "</script>",
                                                  "\xC2\xA0",
                                                  "e\xCC\x81"};
  std::string text;
  for (auto n = random() % 6; n > 0; --n)
    text += pieces[random() % pieces.size()];
  return text;
}

/// Plays a random turn and says what a client must end up with.
std::string play(turn_script& turn, std::mt19937_64& random) {
  std::string expected_text;
  bool call_between = false;
  turn.start();
  for (int step = 0; step < 30; ++step) {
    const auto id = std::to_string(step);
    const auto what = random() % 6;
    if (what < 3) {
      std::vector<std::string> parts(random() % 5);
      std::string whole;
      for (auto& part : parts) {
        part = random_text(random);
        whole += part;
      }
      const auto by_deltas = random() % 2 == 0;
      if (by_deltas)
        turn.block("m" + id, parts);
      else
        turn.completed(item("m" + id, "message", object({{"text", whole}})));
      if (whole.empty())
        continue;
      expected_text += (call_between && !expected_text.empty() ? "\n\n" : "") + whole;
      call_between = false;
    } else if (what == 3) {
      turn.call("u" + id).result("u" + id, random_text(random));
      call_between = true;
    } else if (what == 4) {
      turn.block("s" + id, {random_text(random)}, object({{"parent", "call-x"}}));
    } else {
      turn.started(item("r" + id, "reasoning")).delta("r" + id, random_text(random));
    }
    if (random() % 8 == 0)
      turn.pass(61s);
  }
  turn.succeed(expected_text.empty() ? "only this" : random_text(random));
  return expected_text.empty() ? "only this" : expected_text;
}

} // namespace

SCENARIO("contract, Streaming: for any turn, a client that splits lines like Python joins exactly "
         "the agent's text") {
  const auto seed = std::random_device{}();
  for (std::uint64_t round = 0; round < 400; ++round) {
    INFO("seed " << seed << ", round " << round);
    std::mt19937_64 random{seed + round};
    turn_script turn;
    const auto wanted = play(turn, random);
    std::string bytes;
    for (const auto& frame : turn.frames)
      append_v1_frame(bytes, frame);
    const auto seen = python_client(bytes);
    REQUIRE(seen.size() == turn.frames.size());
    std::string joined;
    for (const auto& frame : seen)
      joined += string_or(frame, "chunk");
    REQUIRE(joined == wanted);
    REQUIRE(string_or(seen.back(), "type") == "done");
  }
}
