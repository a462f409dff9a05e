#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tidemark {

/// Counts wrong tokens by the address that they come from, so that guessing gets slow: an address has
/// `burst` attempts, and gets one back every `refill`. Pure but for its own state; one thread at a
/// time. Memory is bounded: it remembers the `max_addresses` that failed last.
class failed_attempts {
public:
  using clock = std::chrono::steady_clock;
  static constexpr int burst = 10;
  static constexpr std::chrono::seconds refill{6};
  static constexpr std::size_t max_addresses = 4096;

  /// One wrong token from there.
  void add(std::string_view address, clock::time_point now);

  /// How long until the address has an attempt again; zero if it has one.
  [[nodiscard]] std::chrono::seconds wait_of(std::string_view address, clock::time_point now) const;

private:
  struct record {
    std::string address;
    clock::time_point forgiven; ///< when all its attempts are back
  };
  std::list<record> newest_first_;
  std::unordered_map<std::string, std::list<record>::iterator> by_address_;
};

/// The part of an IP address that belongs to one client: IPv4 whole, of IPv6 the /64 network, which
/// one client has whole. Other text is returned as it is.
std::string client_network(const std::string& address);

} // namespace tidemark
