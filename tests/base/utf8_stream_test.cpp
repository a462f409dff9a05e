#include "base/utf8_stream.hpp"

#include "base/json.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <string>

using namespace tidemark;

namespace {

/// The joined text when `bytes` come in pieces of `size`.
std::string in_pieces(const std::string& bytes, std::size_t size) {
  utf8_stream stream;
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += size)
    out += stream.take(std::string_view{bytes}.substr(at, size));
  return out + stream.finish();
}

} // namespace

SCENARIO("contract, Shell: UTF-8 sequences that are split across reads arrive whole") {
  const std::string text = "a\xC3\xA4\xE6\xBC\xA2\xF0\x9F\x8C\x8A z";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    INFO("pieces of " << size);
    CHECK(in_pieces(text, size) == text);
  }
  utf8_stream stream;
  CHECK(stream.take("\xF0\x9F").empty());
  CHECK(stream.take("\x8C\x8Ax") == "\xF0\x9F\x8C\x8Ax");
}

SCENARIO("B80: what is no UTF-8 becomes U+FFFD, wherever it is split") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  // Bytes that begin, go on, cannot be, and plain ones.
  const std::string alphabet{"a\x80\xBF\xC0\xC2\xE0\xED\xA0\xEF\xF0\x90\xF4\xF5\xFF\n", 15};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (auto left = random() % 12; left > 0; --left)
      bytes += alphabet[random() % alphabet.size()];
    const auto whole = repair_utf8(bytes);
    for (std::size_t size = 1; size <= 4; ++size)
      REQUIRE(in_pieces(bytes, size) == whole);
  }
}

SCENARIO("a sequence that never ends is shown when nothing follows") {
  utf8_stream stream;
  CHECK(stream.take("x\xE6\xBC") == "x");
  CHECK(stream.finish() == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(stream.finish().empty());
}
