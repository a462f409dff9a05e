// The client's event stream parser gives the events of WHATWG HTML 9.2.6 for any split of the bytes.
// Input: seed of the split (2 bytes), the stream.
#include "app/sse_parser.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace tidemark;

namespace {

struct reading {
  std::vector<sse_event> events;
  std::string last_id;
  std::optional<std::chrono::milliseconds> retry;
};

bool same(const reading& a, const reading& b) {
  const auto same_event = [](const sse_event& x, const sse_event& y) {
    return x.type == y.type && x.data == y.data && x.id == y.id;
  };
  return std::equal(a.events.begin(), a.events.end(), b.events.begin(), b.events.end(), same_event)
         && a.last_id == b.last_id && a.retry == b.retry;
}

/// Complete lines, whatever ends them.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  for (auto end = text.find_first_of("\r\n"); end != text.npos; end = text.find_first_of("\r\n")) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return lines;
}

reading by_definition(std::string_view text) {
  reading made;
  std::string type, data, id;
  for (const auto& line : lines_of(text)) {
    if (line.empty()) {
      made.last_id = id;
      if (!data.empty())
        made.events.push_back(
          {type.empty() ? "message" : type, data.substr(0, data.size() - 1), id});
      type.clear();
      data.clear();
      continue;
    }
    const auto colon = line.find(':');
    const auto name = line.substr(0, colon);
    auto value = colon == line.npos ? std::string{} : line.substr(colon + 1);
    if (value.starts_with(' '))
      value.erase(0, 1);
    if (name == "event")
      type = value;
    else if (name == "data")
      data += value + "\n";
    else if (name == "id" && value.find('\0') == value.npos)
      id = value;
    else if (const auto delay = fuzz::decimal(value); name == "retry" && delay)
      made.retry = std::chrono::milliseconds{*delay};
  }
  return made;
}

reading parsed(const std::vector<std::string_view>& pieces) {
  reading made;
  sse_parser parser;
  for (const auto piece : pieces)
    for (auto& event : parser.feed(piece))
      made.events.push_back(std::move(event));
  made.last_id = parser.last_id();
  made.retry = parser.retry();
  parser.reconnect();
  fuzz::require(parser.last_id() == made.last_id, "a new connection keeps the place");
  return made;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const auto seed = in.number(2);
  const auto expected = by_definition(in.rest());
  for (const auto how : {std::uint64_t{0}, std::uint64_t{1}, seed})
    fuzz::require(same(parsed(fuzz::pieces_of(in.rest(), how)), expected),
                  "every split gives the events of the definition");
  return 0;
}
