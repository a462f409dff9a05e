// An agent for bench/latency_bench_main.cpp: answers the prompt "<count> <gap in ms>" with so many
// text deltas, each the monotonic clock's nanoseconds at the moment its line is written.
#include "base/json.hpp"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

namespace {

void print(const std::string& line) {
  const auto text = line + "\n";
  // One write a line, so that the moment in it is the moment it leaves.
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0)
    std::exit(1);
}

void answer(const std::string& prompt) {
  constexpr std::string_view session = "11111111-1111-4111-8111-111111111111";
  int count = 0;
  int gap_ms = 0;
  std::istringstream{prompt} >> count >> gap_ms;
  const auto event = [&](std::string_view body) {
    print(fmt::format(R"({{"type":"stream_event","event":{},"session_id":"{}"}})", body, session));
  };
  print(fmt::format(
    R"({{"type":"system","subtype":"init","session_id":"{}","tools":[],"model":"none"}})",
    session));
  event(R"({"type":"message_start","message":{"id":"m","role":"assistant","model":"none"}})");
  event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
  std::string text;
  for (int i = 0; i < count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{gap_ms});
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto stamp = fmt::format("{} ", std::chrono::nanoseconds{now}.count());
    text += stamp;
    event(fmt::format(
      R"({{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{}"}}}})",
      stamp));
  }
  event(R"({"type":"content_block_stop","index":0})");
  event(R"({"type":"message_stop"})");
  print(fmt::format(
    R"({{"type":"assistant","message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":"{}"}}]}},"session_id":"{}"}})",
    text, session));
  print(fmt::format(
    R"({{"type":"result","subtype":"success","is_error":false,"result":"{}","session_id":"{}","num_turns":1}})",
    text, session));
}

} // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view{argv[i]} == "--version") {
      std::cout << "0.0.0 (latency agent)\n";
      return 0;
    }
  }
  for (std::string line; std::getline(std::cin, line);) {
    const auto message = tidemark::parse_json(line);
    if (message && tidemark::string_or(*message, "type") == "user")
      answer(tidemark::string_or(tidemark::object_at(*message, "message"), "content"));
  }
}
