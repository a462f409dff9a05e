#pragma once

#include "storage/event_log.hpp"

#include <cstddef>

namespace tidemark {

/// Lets events through until a bound is reached.
class bounded_visit {
public:
  bounded_visit(read_limits limits, const event_visitor& visit) : limits_(limits), visit_(visit) {}

  bool operator()(const event_view& e) {
    ++events_;
    bytes_ += e.data.size() + e.raw.size();
    if (!visit_(e))
      stopped_ = true;
    return !done();
  }
  [[nodiscard]] bool done() const {
    return stopped_ || events_ >= limits_.max_events || bytes_ >= limits_.max_bytes;
  }
  [[nodiscard]] std::size_t events() const { return events_; }

private:
  read_limits limits_;
  const event_visitor& visit_;
  std::size_t events_ = 0;
  std::size_t bytes_ = 0;
  bool stopped_ = false;
};

} // namespace tidemark
