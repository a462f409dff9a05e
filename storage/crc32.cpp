#include "storage/crc32.hpp"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tidemark {

namespace {

std::uint32_t continued(std::uint32_t crc, std::string_view bytes) noexcept {
  return static_cast<std::uint32_t>(
    ::crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

#if defined(__x86_64__)

// Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel,
// 2009). Polynomials stand in registers as their bits come: the highest coefficient in bit 0.
constexpr std::uint64_t polynomial = 0x1'DB71'0641; // 33 coefficients

/// x^n modulo the polynomial, as 64 coefficients.
constexpr long long power_of_x(unsigned n) {
  std::uint64_t power = 0x8000'0000; // x^0 among 32
  for (; n > 0; --n)
    power = power & 1 ? (power ^ polynomial) >> 1 : power >> 1;
  return static_cast<long long>(power << 32);
}

/// x^64 divided by the polynomial, as 33 coefficients.
constexpr std::uint64_t reciprocal() {
  std::uint64_t quotient = 0;
  std::uint64_t rest = 1; // of 33 coefficients, those of the dividend shifted in
  for (unsigned place = 0; place <= 32; ++place) {
    if (rest & 1) {
      quotient |= std::uint64_t{1} << place;
      rest ^= polynomial;
    }
    rest >>= 1;
  }
  return quotient;
}

/// Two factors that move 128 coefficients `n` places up. The upper half stands 64 places above the
/// lower one; a product of two numbers in this bit order comes out one place too high.
template <unsigned n>
[[gnu::target("pclmul,sse4.1")]] __m128i moved(__m128i block) {
  const auto factors = _mm_set_epi64x(power_of_x(n - 1), power_of_x(n + 64 - 1));
  return _mm_xor_si128(_mm_clmulepi64_si128(block, factors, 0x00),
                       _mm_clmulepi64_si128(block, factors, 0x11));
}

[[gnu::target("pclmul,sse4.1")]] __m128i block_at(std::string_view bytes, std::size_t index) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data()) + index);
}

/// What is left of the sum, moved 32 places up, after division by the polynomial.
[[gnu::target("pclmul,sse4.1")]] std::uint32_t remainder(__m128i sum) {
  const auto upper = _mm_clmulepi64_si128(sum, _mm_cvtsi64_si128(power_of_x(95)), 0x00);
  const auto lower = _mm_srli_si128(_mm_slli_si128(_mm_srli_si128(sum, 8), 8), 4);
  const auto of_96 = _mm_xor_si128(upper, lower);
  const auto of_64 =
    _mm_xor_si128(of_96, _mm_clmulepi64_si128(of_96, _mm_cvtsi64_si128(power_of_x(63)), 0x00));
  const auto rest = static_cast<std::uint64_t>(_mm_extract_epi64(of_64, 1));

  const auto divisor =
    _mm_set_epi64x(static_cast<long long>(polynomial), static_cast<long long>(reciprocal()));
  const auto high = _mm_cvtsi64_si128(static_cast<long long>(rest & 0xFFFF'FFFF));
  const auto quotient =
    _mm_cvtsi64_si128(_mm_cvtsi128_si64(_mm_clmulepi64_si128(high, divisor, 0x00)) & 0xFFFF'FFFF);
  const auto product =
    static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(quotient, divisor, 0x10)));
  return static_cast<std::uint32_t>((rest ^ product) >> 32);
}

constexpr std::size_t block = sizeof(__m128i);
constexpr std::size_t lanes = 4; // a multiplication takes several cycles: four run at a time

/// Precondition: at least `lanes` blocks.
[[gnu::target("pclmul,sse4.1")]] std::uint32_t folded(std::string_view bytes) noexcept {
  // The register of a CRC starts with all bits set.
  auto a = _mm_xor_si128(block_at(bytes, 0), _mm_cvtsi32_si128(-1));
  auto b = block_at(bytes, 1);
  auto c = block_at(bytes, 2);
  auto d = block_at(bytes, 3);
  for (bytes.remove_prefix(lanes * block); bytes.size() >= lanes * block;
       bytes.remove_prefix(lanes * block)) {
    a = _mm_xor_si128(moved<512>(a), block_at(bytes, 0));
    b = _mm_xor_si128(moved<512>(b), block_at(bytes, 1));
    c = _mm_xor_si128(moved<512>(c), block_at(bytes, 2));
    d = _mm_xor_si128(moved<512>(d), block_at(bytes, 3));
  }
  auto sum = _mm_xor_si128(moved<128>(a), b);
  sum = _mm_xor_si128(moved<128>(sum), c);
  sum = _mm_xor_si128(moved<128>(sum), d);
  for (; bytes.size() >= block; bytes.remove_prefix(block))
    sum = _mm_xor_si128(moved<128>(sum), block_at(bytes, 0));
  return continued(~remainder(sum), bytes);
}

#endif

} // namespace

std::uint32_t crc32_of(std::string_view bytes) noexcept {
#if defined(__x86_64__)
  static const bool multiplies =
    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (multiplies && bytes.size() >= lanes * block)
    return folded(bytes);
#endif
  return continued(0, bytes);
}

} // namespace tidemark
