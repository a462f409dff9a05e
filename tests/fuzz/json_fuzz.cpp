// JSON as agents and clients really send it: nothing throws, what a strict parser takes is read as it
// reads it, lone surrogates and broken UTF-8 are mended, and what is written is one safe line.
#include "base/json.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

constexpr std::size_t max_values = 50;

void check_line(const std::string& line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(line[i]);
    const auto after = std::string_view{line}.substr(i + 1);
    require(byte >= 0x20 && byte != 0x7F, "no control character is raw", line);
    require(byte != 0xC2 || static_cast<std::uint8_t>(after.front()) >= 0xA0, "none of C1", line);
    require(byte != 0xE2 || !(after.starts_with("\x80\xA8") || after.starts_with("\x80\xA9")),
            "no line separator", line);
  }
}

void check_value(const json& value) {
  const auto line = dump_json(value);
  check_line(line);
  const auto again = parse_json(line);
  require(again.has_value() && *again == value, "what is written reads as it was", line);
  if (!value.is_object())
    return;
  for (const auto& [key, each] : value.items()) {
    const auto* name = key.c_str();
    require(string_or(value, name, "-")
              == (each.is_string() && name == key ? each.get<std::string>()
                                                  : string_or(value, name, "-")),
            "a text is the text");
    int_or(value, name, 7);
    number_or(value, name, 7);
    bool_or(value, name, true);
    object_at(value, name);
    array_at(value, name);
  }
}

std::size_t count_values(const json& value) {
  std::size_t sum = 1;
  if (value.is_structured())
    for (const auto& each : value)
      sum += count_values(each);
  return sum;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto read = parse_json(text);
  // The library takes a NUL for the end of the text, whatever follows it.
  if (text.find('\0') == text.npos && json::accept(text)) {
    const auto depth_refused = !read && read.error().message.find("nested") != std::string::npos;
    require(depth_refused || (read.has_value() && *read == json::parse(text)),
            "what a strict parser takes is read as it reads it");
  }
  if (read)
    check_value(*read);
  if (const auto few = parse_json(text, max_values))
    require(count_values(*few) <= max_values + 1, "no more values than allowed");
  const auto repaired = repair_utf8(text);
  require(repair_utf8(repaired) == repaired, "mended text needs no mending");
  const auto quoted = quote_json(text);
  check_line(quoted);
  const auto unquoted = parse_json(quoted);
  require(unquoted.has_value() && unquoted->is_string(), "a quoted text reads as a text", quoted);
  if (repaired == text)
    require(unquoted->get<std::string>() == text, "a text comes back out of its quotes", quoted);
  const auto surrogate = parse_json("\"\\ud800" + quoted.substr(1));
  require(surrogate.has_value() && surrogate->is_string(), "a lone surrogate is mended", quoted);
  return 0;
}
