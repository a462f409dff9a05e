#include "replay/hub.hpp"

#include "replay/sse_frame.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tidemark {

namespace {

/// What a hot event holds in memory, roughly: strings, control blocks, deque slot.
std::size_t cost_of(const hot_event& e) {
  constexpr std::size_t overhead = 512;
  return overhead + e.frame_bytes() + e.what->data.size() + (e.what->raw ? e.what->raw->size() : 0);
}

struct topic {
  std::deque<hot_event_ptr> tail;
  std::size_t tail_bytes = 0;
  std::map<std::uint64_t, hub::waker> wakers;
  offset last;
  bool ended = false;
  std::list<stream_id>::iterator place; ///< in state::recency; valid while `tail` is not empty
};

using topic_map = std::unordered_map<stream_id, topic>;

} // namespace

struct hub::state {
  explicit state(limits bounds) : limit(bounds) {}

  const limits limit;
  mutable std::mutex mutex; ///< guards everything below
  topic_map topics;
  std::list<stream_id> recency; ///< streams with a tail, least recently published first
  std::size_t total_bytes = 0;
  std::map<std::uint64_t, waker> wakers_of_all;
  std::uint64_t next_key = 1;
  std::size_t registrations = 0;

  void push(topic& to, hot_event_ptr e) {
    if (to.tail.empty())
      to.place = recency.insert(recency.end(), e->what->stream);
    else
      recency.splice(recency.end(), recency, to.place);
    const auto cost = cost_of(*e);
    to.last = e->what->at;
    to.tail.push_back(std::move(e));
    to.tail_bytes += cost;
    total_bytes += cost;
    while (to.tail.size() > 1 && to.tail_bytes > limit.max_bytes_per_stream)
      pop(to);
  }

  void pop(topic& from) {
    const auto cost = cost_of(*from.tail.front());
    from.tail.pop_front();
    from.tail_bytes -= cost;
    total_bytes -= cost;
    if (from.tail.empty())
      recency.erase(from.place);
  }

  void make_room() {
    while (total_bytes > limit.max_bytes_total && recency.size() > 1) {
      const auto victim = topics.find(recency.front());
      while (!victim->second.tail.empty())
        pop(victim->second);
      drop_if_unused(victim);
    }
  }

  void drop_if_unused(topic_map::iterator t) {
    if (t->second.tail.empty() && t->second.wakers.empty())
      topics.erase(t);
  }
};

hub::hub() : hub(limits{}) {}
hub::hub(limits bounds) : state_(std::make_unique<state>(bounds)) {}
hub::~hub() = default;

const std::string& hot_event::frame() const {
  std::call_once(encoded_, [this] { append_sse(frame_, event_view::of(*what), false); });
  return frame_;
}

std::size_t hot_event::frame_bytes() const {
  constexpr std::size_t envelope = 320;
  return envelope + what->data.size();
}

std::string_view hot_event::line() const {
  constexpr std::string_view before = "\ndata: ";
  auto rest = std::string_view{frame()}.substr(frame().find(before) + before.size());
  rest.remove_suffix(1); // of the two line feeds that end a frame
  return rest;
}

void hub::publish(std::span<const event_ptr> events, std::span<const stream_id> ended_streams) {
  std::vector<hot_event_ptr> hot;
  hot.reserve(events.size());
  for (const auto& e : events)
    hot.push_back(std::make_shared<const hot_event>(e));

  std::vector<waker> to_wake;
  {
    const std::lock_guard lock{state_->mutex};
    std::vector<stream_id> touched;
    for (auto& e : hot) {
      const auto stream = e->what->stream;
      if (touched.empty() || touched.back() != stream)
        touched.push_back(stream);
      state_->push(state_->topics[stream], std::move(e));
    }
    std::ranges::sort(touched);
    const auto repeated = std::ranges::unique(touched);
    touched.erase(repeated.begin(), repeated.end());
    for (auto stream : ended_streams)
      state_->topics[stream].ended = true;
    for (auto stream : touched)
      for (const auto& [key, wake] : state_->topics[stream].wakers)
        to_wake.push_back(wake);
    for (const auto& [key, wake] : state_->wakers_of_all)
      to_wake.push_back(wake);
    state_->make_room();
  }
  for (const auto& wake : to_wake)
    wake();
}

hub::registration hub::subscribe(stream_id stream, waker wake) {
  const std::lock_guard lock{state_->mutex};
  const auto key = state_->next_key++;
  state_->topics[stream].wakers.emplace(key, std::move(wake));
  ++state_->registrations;
  return {*this, stream, key};
}

hub::registration hub::subscribe_all(waker wake) {
  const std::lock_guard lock{state_->mutex};
  const auto key = state_->next_key++;
  state_->wakers_of_all.emplace(key, std::move(wake));
  ++state_->registrations;
  return {*this, stream_id{}, key};
}

bool hub::read_tail(stream_id stream, offset from, std::size_t max_bytes,
                    std::vector<hot_event_ptr>& out) const {
  const std::lock_guard lock{state_->mutex};
  const auto found = state_->topics.find(stream);
  if (found == state_->topics.end() || found->second.tail.empty())
    return false;
  const auto& tail = found->second.tail;
  const auto first = tail.front()->what->at;
  if (from < first)
    return false;
  std::size_t bytes = 0;
  for (auto i = from.value - first.value; i < tail.size() && bytes < max_bytes; ++i) {
    bytes += tail[i]->frame_bytes();
    out.push_back(tail[i]);
  }
  return true;
}

offset hub::last_published(stream_id stream) const {
  const std::lock_guard lock{state_->mutex};
  const auto found = state_->topics.find(stream);
  return found == state_->topics.end() ? offset{} : found->second.last;
}

bool hub::ended(stream_id stream) const {
  const std::lock_guard lock{state_->mutex};
  const auto found = state_->topics.find(stream);
  return found != state_->topics.end() && found->second.ended;
}

std::size_t hub::readers() const {
  const std::lock_guard lock{state_->mutex};
  return state_->registrations;
}

void hub::wake_all() {
  std::vector<waker> to_wake;
  {
    const std::lock_guard lock{state_->mutex};
    for (const auto& [stream, t] : state_->topics)
      for (const auto& [key, wake] : t.wakers)
        to_wake.push_back(wake);
    for (const auto& [key, wake] : state_->wakers_of_all)
      to_wake.push_back(wake);
  }
  for (const auto& wake : to_wake)
    wake();
}

// -- registration --------------------------------------------------------------

hub::registration::registration(registration&& other) noexcept
  : owner_(std::exchange(other.owner_, nullptr)),
    stream_(other.stream_),
    key_(other.key_) {}

hub::registration& hub::registration::operator=(registration&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(stream_, other.stream_);
  std::swap(key_, other.key_);
  return *this;
}

hub::registration::~registration() {
  if (!owner_)
    return;
  // Destroyed after the lock is released: a waker may own much.
  waker dropped;
  const std::lock_guard lock{owner_->state_->mutex};
  --owner_->state_->registrations;
  if (auto everywhere = owner_->state_->wakers_of_all.extract(key_); !everywhere.empty()) {
    dropped = std::move(everywhere.mapped());
    return;
  }
  const auto found = owner_->state_->topics.find(stream_);
  if (found == owner_->state_->topics.end())
    return;
  if (auto own = found->second.wakers.extract(key_); !own.empty())
    dropped = std::move(own.mapped());
  owner_->state_->drop_if_unused(found);
}

} // namespace tidemark
