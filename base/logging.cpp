#include "base/logging.hpp"

#include "base/time.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tidemark::logging {

namespace {

spdlog::level::level_enum native(level at) {
  switch (at) {
  case level::debug: return spdlog::level::debug;
  case level::info: return spdlog::level::info;
  case level::warning: return spdlog::level::warn;
  case level::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string_view name(level at) {
  switch (at) {
  case level::debug: return "debug";
  case level::info: return "info";
  case level::warning: return "warn";
  case level::error: return "error";
  }
  return "info";
}

spdlog::logger& sink() {
  static const auto logger = [] {
    auto made = std::make_shared<spdlog::logger>("tidemark",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *logger;
}

/// One entry is one line, whatever a child process or a client put into the message.
std::string single_line(std::string_view message) {
  std::string line{message};
  for (auto& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      c = ' ';
  return line;
}

} // namespace

expected<level> parse_level(std::string_view text) {
  for (auto candidate : {level::debug, level::info, level::warning, level::error})
    if (text == name(candidate) || (candidate == level::warning && text == "warning"))
      return candidate;
  return fail(errc::invalid_argument, "a log level is debug, info, warning or error");
}

void set_level(level lowest) {
  sink().set_level(native(lowest));
}

void write(level at, std::string_view component, std::string_view message) {
  if (!sink().should_log(native(at)))
    return;
  sink().log(native(at), fmt::format("{} {:5} {}: {}", iso8601(now_utc()), name(at), component,
                                     single_line(message)));
}

} // namespace tidemark::logging
