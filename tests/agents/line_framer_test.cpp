#include "agents/line_framer.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <string>
#include <vector>

using namespace tidemark;

namespace {

struct seen_line {
  std::string text;
  bool truncated = false;
  std::uint64_t size = 0;
  bool operator==(const seen_line&) const = default;
};

std::ostream& operator<<(std::ostream& out, const seen_line& line) {
  return out << '[' << line.text << ' ' << line.truncated << ' ' << line.size << ']';
}

std::vector<seen_line> frame(const std::vector<std::string>& pieces, std::size_t limit) {
  std::vector<seen_line> lines;
  const auto sink = [&](std::string_view line, bool truncated, std::uint64_t size) {
    lines.push_back({std::string{line}, truncated, size});
  };
  line_framer framer{limit};
  for (const auto& piece : pieces)
    framer.feed(piece, sink);
  framer.finish(sink);
  return lines;
}

} // namespace

SCENARIO("lines end at LF, one CR before it is dropped, the last line needs no LF") {
  const auto lines = frame({"a\r\n\nb\r\r\nc\rd\nlast"}, 100);
  const std::vector<seen_line> wanted{
    {"a", false, 1}, {"", false, 0}, {"b\r", false, 2}, {"c\rd", false, 3}, {"last", false, 4}};
  REQUIRE(lines == wanted);
}

SCENARIO("a line over the limit costs only itself and says how long it was") {
  const auto lines = frame({"12345\n", "123", "456", "7890\r\n", "12345\r\n", "ok\n"}, 5);
  const std::vector<seen_line> wanted{
    {"12345", false, 5}, {"12345", true, 10}, {"12345", false, 5}, {"ok", false, 2}};
  REQUIRE(lines == wanted);
}

SCENARIO("however a stream is cut into reads, its lines are the same") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  const std::vector<std::string> bits{
    "\n", "\r\n", "\r", "{\"text\":\"안녕\"}", "世界", "🙂", "x", std::string(40, 'y'), "\n\n"};
  for (int round = 0; round < 300; ++round) {
    std::string stream;
    for (int i = 0; i < 30; ++i)
      stream += bits[random() % bits.size()];
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < stream.size();) {
      const auto size = 1 + random() % (round % 2 == 0 ? 3 : 50);
      pieces.push_back(stream.substr(at, size));
      at += size;
    }
    const auto limit = 1 + random() % 60;
    REQUIRE(frame(pieces, limit) == frame({stream}, limit));
  }
}
