#include "http/turn_environment.hpp"

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t max_variable_bytes = 128 << 10; // Linux: MAX_ARG_STRLEN
constexpr std::size_t max_environment_bytes = 1 << 20;
constexpr std::size_t added_bytes = 2; // `=` and the terminating zero

} // namespace

expected<void> check_environment_size(const std::map<std::string, std::string>& environment,
                                      std::string_view field) {
  std::size_t all = 0;
  for (const auto& [name, value] : environment) {
    const auto size = name.size() + value.size() + added_bytes;
    if (size > max_variable_bytes)
      return fail(errc::too_large,
                  fmt::format("\"{}\": \"{}\" and its value are larger than {} bytes", field,
                              name.substr(0, 64), max_variable_bytes - added_bytes));
    all += size;
  }
  if (all > max_environment_bytes)
    return fail(errc::too_large,
                fmt::format("\"{}\": all variables together are larger than {} bytes", field,
                            max_environment_bytes));
  return {};
}

} // namespace tidemark
