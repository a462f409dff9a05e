#pragma once

namespace tidemark::test {

/// Under a sanitizer, which keeps freed memory for a while (address) or several bytes about each
/// (thread), the memory that is resident says nothing about what the program holds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

} // namespace tidemark::test
