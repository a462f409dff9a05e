// Whatever an agent prints and its user does meanwhile: no exception, every item completed once,
// every ask settled, one end a turn, valid JSON out, the agent's line kept byte for byte.
// Input: seed of the split (2 bytes), then lines; those that begin with `!` are the user's doings.
#include "agents/line_framer.hpp"
#include "tests/agents/claude_lines.hpp"
#include "tests/fuzz/fuzz_input.hpp"

#include <cmath>

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

constexpr std::size_t max_line = 4096;

class play {
public:
  void line(std::string_view text, bool truncated, std::uint64_t size) {
    if (text.starts_with('!') && !truncated)
      return act(text);
    const auto began = talk_.events.size();
    const auto ended = talk_.ends.size();
    const auto made = talk_.line(text, truncated, size);
    require(talk_.ends.size() <= ended + 1 && talk_.ends.size() <= turns_, "one end a turn");
    in_turn_ = in_turn_ && !made.end;
    check_replies(made.replies);
    for (auto i = began; i < talk_.events.size(); ++i) {
      const auto& raw = talk_.events[i].raw;
      require(!raw || (i == began && *raw == text), "the first event carries the line as it came");
    }
  }

  void finish() {
    talk_.exit({0, 0}, "stderr");
    require(talk_.ends.size() == turns_, "every turn that was not given up has ended once");
    const auto broken = talk_.broken_promise();
    require(broken.empty(), "an adapter's promises", broken);
    for (const auto& event : talk_.events)
      check_event(event);
    for (const auto& end : talk_.ends)
      check_end(end);
  }

private:
  void act(std::string_view what) {
    auto& agent = *talk_.agent;
    if (what == "!begin" && !in_turn_) {
      check_replies(agent.begin_turn("next"));
      in_turn_ = true;
      ++turns_;
    } else if (what == "!interrupt") {
      check_replies(agent.interrupt());
    } else if ((what == "!allow" || what == "!deny") && !talk_.asks.empty()) {
      const auto how = what == "!allow" ? decision::allow : decision::deny;
      check_replies(agent.answer(talk_.asks.back().id, how, "because"));
      require(agent.answer(talk_.asks.back().id, how, "again").empty(), "an ask is settled once");
    } else if (what == "!abandon" && in_turn_) {
      talk_.add(agent.abandon_turn());
      in_turn_ = false;
      --turns_; // the server ends such a turn
    }
  }

  static void check_replies(std::string_view bytes) {
    require(bytes.empty() || bytes.ends_with('\n'), "replies are whole lines");
    for (fuzz::input lines{bytes}; !lines.empty();)
      require(json::accept(lines.line()), "a reply is one line of JSON", bytes);
  }

  static void check_event(const agent_event& event) {
    const auto text = dump_json(event.data);
    require(event.data.is_object() && json::accept(text), "an event's data is a JSON object", text);
    require(text.find_first_of("\r\n") == text.npos, "it is one line", text);
  }

  static void check_end(const turn_result& end) {
    require((end.how == outcome::succeeded) == !end.why.has_value(), "failures say why");
    require(std::isfinite(end.cost_usd) && end.cost_usd >= 0, "a cost is a number from 0");
    require(!end.why || (!end.why->message.empty() && end.why->message != "success"),
            "a reason says something");
  }

  test::conversation talk_; // begins the first turn
  std::size_t turns_ = 1;
  bool in_turn_ = true;
};

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const auto seed = in.number(2);
  play all;
  line_framer framer{max_line};
  const auto sink = [&](auto line, auto truncated, auto length) {
    all.line(line, truncated, length);
  };
  for (const auto piece : fuzz::pieces_of(in.rest(), seed))
    framer.feed(piece, sink);
  framer.finish(sink);
  all.finish();
  return 0;
}
