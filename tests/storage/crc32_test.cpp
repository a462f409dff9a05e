#include "storage/crc32.hpp"

#include "tests/storage/support.hpp"

using namespace tidemark;
using namespace tidemark::testing;

namespace {

/// By the definition of ISO 3309, bit by bit.
std::uint32_t plain_crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFF'FFFF;
  for (const auto byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? (crc >> 1) ^ 0xEDB8'8320 : crc >> 1;
  }
  return ~crc;
}

} // namespace

SCENARIO("the checksum is CRC-32, whatever the length and the place of the bytes") {
  CHECK(crc32_of("") == 0);
  CHECK(crc32_of("123456789") == 0xCBF4'3926);
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::string text(5000, '\0');
  for (auto& byte : text)
    byte = static_cast<char>(random());
  for (std::size_t length = 0; length <= 400; ++length) {
    const auto part = std::string_view{text}.substr(random() % 64, length);
    CAPTURE(length);
    REQUIRE(crc32_of(part) == plain_crc32(part));
  }
  CHECK(crc32_of(text) == plain_crc32(text));
  for (const char fill : {'\0', '\xFF'})
    CHECK(crc32_of(std::string(1027, fill)) == plain_crc32(std::string(1027, fill)));
}
