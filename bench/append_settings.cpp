#include "bench/append_settings.hpp"

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace tidemark::bench {

std::string append_settings::event_data() const {
  constexpr std::size_t frame = std::string_view{R"({"text":""})"}.size();
  return fmt::format(R"({{"text":"{}"}})", std::string(bytes > frame ? bytes - frame : 0, 'x'));
}

append_settings parse_append_settings(int argc, char** argv, std::vector<append_load> loads) {
  append_settings given;
  append_load only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--seconds"))
      given.seconds = std::strtod(argv[i + 1], nullptr);
    else if (!std::strcmp(argv[i], "--bytes"))
      given.bytes = std::strtoul(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--directory"))
      given.directory = argv[i + 1];
    else if (!std::strcmp(argv[i], "--durability") && !std::strcmp(argv[i + 1], "os"))
      given.when_done = durability::os;
    else if (!std::strcmp(argv[i], "--streams"))
      only.streams = std::strtoul(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--depth"))
      only.depth = std::strtoul(argv[i + 1], nullptr, 10);
  }
  given.loads = only.in_flight() > 1 ? std::vector{only} : std::move(loads);
  return given;
}

} // namespace tidemark::bench
