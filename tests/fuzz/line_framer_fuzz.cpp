// Any split of the same bytes gives the same lines, and they are those of a plain reading of the
// definition; nothing but the line in hand is held. Input: limit, seed of the split (4 bytes), bytes.
#include "agents/line_framer.hpp"
#include "tests/fuzz/fuzz_input.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define TIDEMARK_COUNTS_MEMORY
#endif
#endif

using namespace tidemark;

namespace {

struct line {
  std::string text;
  bool truncated = false;
  std::uint64_t size = 0;

  bool operator==(const line&) const = default;
};

std::vector<line> by_definition(std::string_view bytes, std::size_t limit) {
  std::vector<line> lines;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    auto text = bytes.substr(0, end);
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    if (text.ends_with('\r'))
      text.remove_suffix(1);
    lines.push_back({std::string{text.substr(0, limit)}, text.size() > limit, text.size()});
  }
  return lines;
}

std::vector<line> framed(const std::vector<std::string_view>& pieces, std::size_t limit) {
  line_framer framer{limit};
  std::vector<line> lines;
  const auto sink = [&](std::string_view text, bool truncated, std::uint64_t size) {
    lines.push_back({std::string{text}, truncated, size});
  };
  for (const auto piece : pieces)
    framer.feed(piece, sink);
  framer.finish(sink);
  framer.finish(sink); // says nothing twice
  return lines;
}

std::size_t allocated_bytes() {
#ifdef TIDEMARK_COUNTS_MEMORY
  return __sanitizer_get_current_allocated_bytes();
#else
  return 0;
#endif
}

void holds_no_more_than_its_limit(const std::vector<std::string_view>& pieces, std::size_t limit) {
  constexpr std::size_t growth = 2; // of a string's capacity
  constexpr std::size_t small_parts = 256;
  line_framer framer{limit};
  const auto before = allocated_bytes();
  for (const auto piece : pieces)
    framer.feed(piece, [](std::string_view, bool, std::uint64_t) {});
  fuzz::require(allocated_bytes() <= before + growth * limit + small_parts,
                "a framer holds at most one line up to its limit");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const auto limit = 1 + in.number(1) * 8;
  const auto seed = in.number(4);
  const auto expected = by_definition(in.rest(), limit);
  for (const auto how : {std::uint64_t{0}, std::uint64_t{1}, seed}) {
    const auto pieces = fuzz::pieces_of(in.rest(), how);
    fuzz::require(framed(pieces, limit) == expected, "every split gives the same lines");
    holds_no_more_than_its_limit(pieces, limit);
  }
  return 0;
}
