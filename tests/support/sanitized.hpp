#pragma once

namespace tidemark::test {

/// Under a sanitizer, which keeps freed memory for a while (address) or several bytes about each
/// (thread), the memory that is resident says nothing about what the program holds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// How many times longer things may take; the thread sanitizer slows a program down by as much.
#if defined(__SANITIZE_THREAD__)
inline constexpr int patience = 5;
#else
inline constexpr int patience = 1;
#endif

} // namespace tidemark::test
