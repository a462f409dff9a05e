#include "app/webhook_url.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

SCENARIO("addresses that events can be sent to are taken") {
  for (const auto* url :
       {"https://example.com/hook", "http://example.com", "HTTPS://EXAMPLE.com:8443/a?token=b%20c",
        "http://localhost:1/", "http://127.0.0.1:65535/x", "http://[2001:db8::1]:80/",
        "https://xn--mnchen-3ya.example/", "https://a_b.example./", "https://example.com?x=1"}) {
    INFO(url);
    const auto fits = check_webhook_url(url);
    INFO((fits ? "" : fits.error().message));
    CHECK(fits);
  }
}

SCENARIO("what is no address for events is refused with the part that is wrong") {
  struct row {
    std::string url;
    const char* says;
  };
  const auto each = GENERATE(
    row{"", "must be the address"}, row{"example.com", "http://"}, row{"//example.com/", "http://"},
    row{"ftp://example.com/", "http://"}, row{"file:///etc/passwd", "http://"},
    row{"gopher://example.com/", "http://"}, row{"http:/example.com/", "http://"},
    row{"http://", "no host"}, row{"https:///x", "no host"}, row{"http://?x", "no host"},
    row{"http://#x", "no host"}, row{"http://:80/", "host"}, row{"http://h:99999/", "ort"},
    row{"http://h:abc/", "ort"}, row{"http://h:-1/", "ort"}, row{"http://h:0/", "port 0"},
    row{"https://user:pass@example.com/", "user or password"},
    row{"https://user@example.com/", "user or password"},
    row{"https://@example.com/", "user or password"}, row{"https://example.com/#x", "fragment"},
    row{"https://example.com/#", "fragment"}, row{"https://example.com/a b", "space"},
    row{" https://example.com/", "space"}, row{"https://example.com/\n", "control"},
    row{"https://example.com/\r\nX: y", "control"}, row{"https://exa\tmple.com/", "control"},
    row{std::string{"https://example.com/\0x", 22}, "control"},
    row{"https://example.com/\x7f", "control"}, row{"https://m\xc3\xbcnchen.example/", "xn--"},
    row{"https://example\xe3\x80\x82"
        "com/",
        "ASCII"},
    row{"http://a..b/", "empty part"}, row{"http://.../", "empty part"},
    row{"http://./", "empty part"}, row{"http://-a.example/", "hyphen"},
    row{"http://[::1/", "IPv6"}, row{"http://[fe80::1%25eth0]/", "interface"},
    row{"http://a,b/", "host"}, row{"http://a\\b/", "host"}, row{"http://h%00/", "host"},
    row{"http://" + std::string(64, 'a') + ".example/", "longer"},
    row{"http://" + std::string(3000, 'a') + "/", "longer"});
  INFO(each.url);
  const auto fits = check_webhook_url(each.url);
  REQUIRE_FALSE(fits);
  CHECK(fits.error().code == errc::invalid_argument);
  CHECK_THAT(fits.error().message, Catch::Contains(each.says));
}
