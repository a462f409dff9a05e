// Where webhooks may lead.
#include "app/public_address.hpp"

#include <catch2/catch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace {

bool is_public(const char* text) {
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, text, &v4.sin_addr) == 1)
    storage.ss_family = AF_INET;
  else if (::inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
    storage.ss_family = AF_INET6;
  else
    FAIL(text);
  return tidemark::is_public_address(reinterpret_cast<const sockaddr&>(storage));
}

} // namespace

SCENARIO("this host, its network and private ones are not public, in any notation") {
  for (const auto* address : {"0.0.0.0",
                              "127.0.0.1",
                              "127.255.255.255",
                              "10.1.2.3",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.1.1",
                              "169.254.169.254",
                              "100.64.0.1",
                              "100.127.255.255",
                              "198.18.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "fe80::1",
                              "fc00::1",
                              "fd12::1",
                              "ff02::1",
                              "fec0::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "64:ff9b::a00:1",
                              "2002:7f00:1::",
                              "2001:db8::1",
                              "2001:0:1::1",
                              "::127.0.0.1"}) {
    INFO(address);
    CHECK_FALSE(is_public(address));
  }
}

SCENARIO("hosts of the internet are public") {
  for (const auto* address :
       {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1",
        "192.167.0.1", "169.253.0.1", "198.17.0.1", "223.255.255.255", "2606:4700::1111",
        "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"}) {
    INFO(address);
    CHECK(is_public(address));
  }
}
