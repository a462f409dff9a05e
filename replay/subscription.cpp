#include "replay/subscription.hpp"

#include <utility>

namespace tidemark {

subscription::subscription(const event_log& log, hub& source, stream_info stream, offset after,
                           hub::waker wake, bool with_raw)
  : log_(log),
    hub_(source),
    stream_(std::move(stream)),
    delivered_(after),
    with_raw_(with_raw),
    registration_(source.subscribe(stream_.id, std::move(wake))) {}

bool subscription::at_final_head() const {
  if (stream_.ended)
    return delivered_ >= stream_.head;
  return hub_.ended(stream_.id) && delivered_ >= hub_.last_published(stream_.id);
}

subscription::state subscription::poll(std::size_t max_bytes, std::vector<hot_event_ptr>& out) {
  out.clear();
  if (hub_.read_tail(stream_.id, delivered_.next(), max_bytes, out)) {
    if (out.empty())
      return at_final_head() ? state::ended : state::idle;
    delivered_ = out.back()->what->at;
    return state::ready;
  }
  if (at_final_head())
    return state::ended;
  // Nothing hot: at the head only if the log said so and nothing was published since.
  const auto nothing_new = reached_head_ && hub_.last_published(stream_.id) <= delivered_;
  return nothing_new ? state::idle : state::behind;
}

expected<void> subscription::read_log(read_limits limits, const event_visitor& visit) {
  limits.with_raw = with_raw_;
  const auto hand_out = [&](const event_view& e) {
    delivered_ = e.at;
    return visit(e);
  };
  const auto progress = log_.read(stream_.id, delivered_.next(), limits, hand_out);
  if (!progress)
    return tl::make_unexpected(progress.error());
  reached_head_ = progress->reached_head;
  return {};
}

expected<void> subscription::read_log(std::size_t max_bytes, std::vector<hot_event_ptr>& out) {
  out.clear();
  read_limits limits;
  limits.max_bytes = max_bytes;
  const auto collect = [&](const event_view& e) {
    event copy{std::string{e.workspace},
               e.stream,
               e.incarnation,
               e.at,
               e.global,
               e.time,
               std::string{e.type},
               std::string{e.turn},
               std::string{e.data},
               nullptr,
               e.hash ? *e.hash : digest{}};
    if (!e.raw.empty())
      copy.raw = std::make_shared<const std::string>(e.raw);
    out.push_back(
      std::make_shared<const hot_event>(std::make_shared<const event>(std::move(copy))));
    return true;
  };
  return read_log(limits, collect);
}

} // namespace tidemark
