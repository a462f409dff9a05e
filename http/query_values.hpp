#pragma once

#include "base/error.hpp"
#include "http/request_parameters.hpp"
#include "replay/cursor.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Values of query parameters. Errors are `invalid_argument` and name the parameter.
namespace tidemark {

tl::unexpected<error> bad_parameter(std::string_view name, std::string_view rule);

/// A decimal number without sign, whole.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// A number above 0; empty if it is not given.
expected<std::optional<std::uint64_t>> count_of(const request_parameters& with, const char* name);

/// `true`, `false`, `1` or `0`; given without a value it is true.
expected<bool> flag_of(const request_parameters& with, const char* name);

/// What commas separate; empty parts count as nothing.
std::vector<std::string> list_of(const request_parameters& with, const char* name);

/// `30s`, `500ms` or `30` (seconds).
expected<std::chrono::milliseconds> parse_wait(std::string_view text);

/// `wait`, at most `longest`; 0 if it is not given.
expected<std::chrono::milliseconds> wait_of(const request_parameters& with,
                                            std::chrono::milliseconds longest);

/// Where a reader was: `Last-Event-ID` wins over `after`, `last_event_id`, `lastEventId`. Empty if
/// none is given or all are empty.
expected<std::optional<cursor>> cursor_of(const request_parameters& with);

} // namespace tidemark
