#include "base/time.hpp"

#include <ctime>

#include <fmt/format.h>

namespace tidemark {

timestamp now_utc() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return timestamp{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

std::string iso8601(timestamp t) {
  constexpr std::int64_t second = 1'000'000'000;
  auto seconds = t.nanoseconds / second;
  auto rest = t.nanoseconds % second;
  if (rest < 0) {
    --seconds;
    rest += second;
  }
  const auto as_time_t = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&as_time_t, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     rest / 1'000'000);
}

} // namespace tidemark
