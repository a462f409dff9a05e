#include "http/failed_attempts.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>

namespace tidemark {

void failed_attempts::add(std::string_view address, clock::time_point now) {
  auto key = std::string{address};
  const auto found = by_address_.find(key);
  if (found != by_address_.end()) {
    newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
  } else {
    newest_first_.push_front({key, now});
    by_address_.emplace(std::move(key), newest_first_.begin());
  }
  auto& forgiven = newest_first_.front().forgiven;
  // No further than the burst: who goes on trying does not lock itself out for hours.
  forgiven = std::min(std::max(forgiven, now) + refill, now + burst * refill);
  if (newest_first_.size() > max_addresses) {
    by_address_.erase(newest_first_.back().address);
    newest_first_.pop_back();
  }
}

std::chrono::seconds failed_attempts::wait_of(std::string_view address,
                                              clock::time_point now) const {
  const auto found = by_address_.find(std::string{address});
  if (found == by_address_.end())
    return {};
  const auto owed = found->second->forgiven - now;
  const auto spare = (burst - 1) * refill;
  if (owed <= spare)
    return {};
  return std::chrono::ceil<std::chrono::seconds>(owed - spare);
}

std::string client_network(const std::string& address) {
  boost::system::error_code failed;
  const auto parsed = boost::asio::ip::make_address(address, failed);
  if (failed || !parsed.is_v6())
    return address;
  const auto six = parsed.to_v6();
  if (six.is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, six).to_string();
  auto bytes = six.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return boost::asio::ip::make_address_v6(bytes).to_string() + "/64";
}

} // namespace tidemark
