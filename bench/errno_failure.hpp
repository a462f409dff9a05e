#pragma once

#include <cerrno>
#include <system_error>

namespace tidemark::bench {

/// Throws what errno says, in front of it what was being done.
[[noreturn]] inline void fail_with_errno(const char* doing) {
  throw std::system_error{errno, std::generic_category(), doing};
}

} // namespace tidemark::bench
