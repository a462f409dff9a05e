#pragma once

#include "http/event_query.hpp"
#include "http/exchange.hpp"

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace tidemark {

/// Readers of endless answers, of whatever family: http.max_readers bounds them together.
using reader_count = std::atomic<std::size_t>;

/// One of them, counted while it exists.
class reader_seat {
public:
  reader_seat(std::shared_ptr<reader_count> count, http_services& services)
    : count_(std::move(count)),
      metrics_(services.metrics),
      granted_(count_->fetch_add(1) < services.options.max_readers) {
    metrics_.readers(1);
  }
  ~reader_seat() {
    count_->fetch_sub(1);
    metrics_.readers(-1);
  }
  reader_seat(const reader_seat&) = delete;
  reader_seat& operator=(const reader_seat&) = delete;

  [[nodiscard]] bool granted() const { return granted_; }

private:
  std::shared_ptr<reader_count> count_;
  instruments& metrics_;
  bool granted_;
};

/// What keeps proxies from storing or holding back an answer that does not end.
std::map<std::string, std::string> endless_headers();

/// Tells a reader without a seat in a way that its form's clients understand: some event stream clients
/// give up for ever on any status but 200. `headers` go with an event stream's answer.
task<void> refuse_reader(exchange& with, event_form form,
                         std::map<std::string, std::string> headers = endless_headers());

} // namespace tidemark
