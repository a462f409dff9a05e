#include "app/public_address.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace tidemark {
namespace {

struct network_v4 {
  std::uint32_t prefix;
  unsigned bits;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

constexpr std::array<network_v4, 15> reserved_v4{{{v4(0, 0, 0, 0), 8},
                                                  {v4(10, 0, 0, 0), 8},
                                                  {v4(100, 64, 0, 0), 10},
                                                  {v4(127, 0, 0, 0), 8},
                                                  {v4(169, 254, 0, 0), 16},
                                                  {v4(172, 16, 0, 0), 12},
                                                  {v4(192, 0, 0, 0), 24},
                                                  {v4(192, 0, 2, 0), 24},
                                                  {v4(192, 88, 99, 0), 24},
                                                  {v4(192, 168, 0, 0), 16},
                                                  {v4(198, 18, 0, 0), 15},
                                                  {v4(198, 51, 100, 0), 24},
                                                  {v4(203, 0, 113, 0), 24},
                                                  {v4(224, 0, 0, 0), 4},
                                                  {v4(240, 0, 0, 0), 4}}};

bool is_public_v4(std::uint32_t address) {
  return std::ranges::none_of(reserved_v4, [&](const network_v4& net) {
    return (address ^ net.prefix) >> (32 - net.bits) == 0;
  });
}

std::uint32_t v4_at(const std::uint8_t* bytes) {
  return v4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

bool is_public_v6(const std::uint8_t* bytes) {
  const auto starts_with = [&](std::initializer_list<std::uint8_t> prefix) {
    return std::equal(prefix.begin(), prefix.end(), bytes);
  };
  if (starts_with({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) // ::ffff:a.b.c.d
    return is_public_v4(v4_at(bytes + 12));
  if (starts_with({0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) // 64:ff9b::a.b.c.d
    return is_public_v4(v4_at(bytes + 12));
  if (starts_with({0x20, 0x02})) // 6to4
    return is_public_v4(v4_at(bytes + 2));
  if (starts_with({0x20, 0x01, 0x0d, 0xb8})) // documentation
    return false;
  if (starts_with({0x20, 0x01}) && bytes[2] < 2) // 2001::/23: Teredo and protocols of their own
    return false;
  return (bytes[0] & 0xe0) == 0x20; // 2000::/3 is all that is given out
}

} // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return is_public_v4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    return is_public_v6(in.sin6_addr.s6_addr);
  }
  return false;
}

} // namespace tidemark
