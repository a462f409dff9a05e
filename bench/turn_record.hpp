#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::bench {

/// What bench/turn_recorder_main.cpp leaves behind and bench/turn_bench_main.cpp reads: one line a
/// moment, `<kind> <nanoseconds of the monotonic clock>`.
namespace turn_record {
inline constexpr const char* command_variable = "TURN_RECORDER_COMMAND";
inline constexpr const char* file_variable = "TURN_RECORDER_FILE";
inline constexpr std::string_view prompt = "prompt"; ///< the prompt's line was read from stdin
inline constexpr std::string_view result = "result"; ///< the result's line is about to be written
} // namespace turn_record

/// The monotonic clock, which all processes of a machine share.
std::int64_t monotonic_ns();

} // namespace tidemark::bench
