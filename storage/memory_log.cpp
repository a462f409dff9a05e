#include "storage/memory_log.hpp"

#include "storage/bounded_visit.hpp"
#include "storage/commit_planner.hpp"
#include "storage/stream_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>

namespace tidemark {

struct memory_log::state {
  mutable std::mutex mutex; // guards everything below
  stream_table streams;
  std::unordered_map<stream_id, std::vector<event_ptr>> events; // event n at n - 1
  std::vector<event_ptr> all;                                   // position n at n - 1
  std::vector<std::vector<std::string>> terms;                  // likewise
  std::vector<timestamp> times;                                 // likewise: never go back
  std::map<table, std::map<std::string, std::string, std::less<>>> tables;
  std::optional<errc> failure;
  bool latched = false;
  sha256_hasher hasher;

  void store(const append_request& request, const appended& place);
};

namespace {

constexpr std::string_view latched_reason = "the log in memory was told to fail; call try_recover";

/// Visits a bounded stretch of `events`; `first` is the ordinal of the first one.
template <class Ordinal>
read_progress<Ordinal> visit_bounded(const std::vector<event_ptr>& events, Ordinal from,
                                     Ordinal last, read_limits limits, const event_visitor& visit) {
  read_progress<Ordinal> done{from, 0, false};
  std::size_t bytes = 0;
  for (const auto& e : events) {
    if (done.events >= limits.max_events || bytes >= limits.max_bytes)
      break;
    auto view = event_view::of(*e);
    if (!limits.with_raw)
      view.raw = {};
    bytes += view.data.size() + view.raw.size();
    done.next = done.next.next();
    ++done.events;
    if (!visit(view))
      break;
  }
  done.reached_head = done.next > last;
  return done;
}

/// At most `limit` events from ordinal `from` (1 is the first) on.
std::vector<event_ptr> slice(const std::vector<event_ptr>& events, std::uint64_t from,
                             std::size_t limit) {
  if (from > events.size())
    return {};
  const auto begin = events.begin() + static_cast<std::ptrdiff_t>(from - 1);
  const auto count = std::min<std::uint64_t>(limit, events.size() - from + 1);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

} // namespace

memory_log::memory_log() : state_(std::make_unique<state>()) {}
memory_log::~memory_log() = default;

void memory_log::fail_next(errc code) {
  const std::lock_guard lock{state_->mutex};
  state_->failure = code;
}

expected<stream_info> memory_log::acquire(std::string_view name) {
  const std::lock_guard lock{state_->mutex};
  return state_->streams.acquire(name);
}

expected<stream_info> memory_log::find(std::string_view name) const {
  const std::lock_guard lock{state_->mutex};
  if (const auto* found = state_->streams.newest(name))
    return *found;
  return fail(errc::not_found, fmt::format("the log has no stream \"{}\"", name));
}

std::vector<stream_info> memory_log::streams() const {
  const std::lock_guard lock{state_->mutex};
  return state_->streams.stored();
}

log_heads memory_log::heads() const {
  const std::lock_guard lock{state_->mutex};
  return {incarnation(), position{state_->all.size()}, state_->streams.stored()};
}

void memory_log::state::store(const append_request& request, const appended& place) {
  const auto& info = *streams.find(request.stream);
  for (std::size_t i = 0; i < request.events.size(); ++i) {
    const auto& e = request.events[i];
    event_ptr stored = std::make_shared<event>(
      event{info.name, info.id, info.incarnation, place.first.plus(i), place.first_global.plus(i),
            e.time, e.type, e.turn, e.data, e.raw, place.hashes[i]});
    events[info.id].push_back(stored);
    all.push_back(std::move(stored));
    terms.push_back(e.terms);
    times.push_back(times.empty() ? e.time : std::max(times.back(), e.time));
  }
  for (const auto& write : request.derived) {
    if (write.value)
      tables[write.in].insert_or_assign(write.key, *write.value);
    else
      tables[write.in].erase(write.key);
  }
}

std::vector<append_result> memory_log::commit(std::span<const append_request> requests) {
  const std::lock_guard lock{state_->mutex};
  auto& log = *state_;
  commit_planner plan{position{log.all.size() + 1}, log.hasher};
  for (const auto& request : requests)
    if (const auto* info = log.streams.find(request.stream))
      plan.know(*info, log.streams.newest(info->name)->incarnation);

  const auto failure =
    log.latched ? std::optional{errc::io} : std::exchange(log.failure, std::nullopt);
  log.latched = failure == errc::io;
  std::vector<append_result> answers;
  for (const auto& request : requests) {
    if (failure) {
      answers.emplace_back(tl::unexpect,
                           plan.refuse(request, {*failure, std::string{latched_reason}, true}));
    } else if (auto refusal = plan.judge(request)) {
      answers.emplace_back(tl::unexpect, std::move(*refusal));
    } else {
      answers.emplace_back(plan.accept(request));
      log.store(request, *answers.back());
    }
  }
  for (const auto* stream : plan.touched())
    log.streams.put(*stream);
  return answers;
}

position memory_log::head() const {
  const std::lock_guard lock{state_->mutex};
  return position{state_->all.size()};
}

expected<read_progress<offset>> memory_log::read(stream_id stream, offset from, read_limits limits,
                                                 const event_visitor& visit) const {
  from = std::max(from, offset{1});
  std::vector<event_ptr> found;
  offset head;
  {
    const std::lock_guard lock{state_->mutex};
    const auto* info = state_->streams.find(stream);
    if (!info)
      return fail(errc::not_found, fmt::format("the log has no stream {}", stream.value));
    head = info->head;
    if (const auto events = state_->events.find(stream); events != state_->events.end())
      found = slice(events->second, from.value, limits.max_events);
  }
  return visit_bounded(found, from, head, limits, visit);
}

expected<read_progress<position>> memory_log::read_all(position from, read_limits limits,
                                                       const event_visitor& visit) const {
  from = std::max(from, position{1});
  std::vector<event_ptr> found;
  position head;
  {
    const std::lock_guard lock{state_->mutex};
    head = position{state_->all.size()};
    found = slice(state_->all, from.value, limits.max_events);
  }
  return visit_bounded(found, from, head, limits, visit);
}

expected<read_progress<position>> memory_log::search(const term_groups& wanted, position from,
                                                     direction way, read_limits limits,
                                                     const event_visitor& visit) const {
  const auto forward = way == direction::oldest_first;
  std::vector<event_ptr> found;
  {
    const std::lock_guard lock{state_->mutex};
    const auto has = [&](std::size_t i, const std::vector<std::string>& group) {
      return std::ranges::find_first_of(state_->terms[i], group) != state_->terms[i].end();
    };
    for (std::size_t i = 0; i < state_->all.size(); ++i)
      if (std::ranges::all_of(wanted, [&](const auto& group) { return has(i, group); })
          && (forward ? state_->all[i]->global >= from : state_->all[i]->global <= from))
        found.push_back(state_->all[i]);
  }
  if (!forward)
    std::ranges::reverse(found);
  bounded_visit bounded{limits, visit};
  for (const auto& e : found) {
    auto view = event_view::of(*e);
    if (!limits.with_raw)
      view.raw = {};
    const auto go_on = bounded(view);
    from = forward ? e->global.next() : position{e->global.value - 1};
    if (!go_on)
      return read_progress<position>{from, bounded.events(), false};
  }
  return read_progress<position>{forward ? std::max(from, head().next()) : position{0},
                                 bounded.events(), true};
}

expected<std::vector<std::string>> memory_log::terms(std::string_view prefix,
                                                     std::size_t most) const {
  const std::lock_guard lock{state_->mutex};
  std::set<std::string> found;
  for (const auto& of_event : state_->terms)
    std::ranges::copy_if(of_event, std::inserter(found, found.end()),
                         [&](const std::string& term) { return term.starts_with(prefix); });
  std::vector<std::string> out{found.begin(), found.end()};
  out.resize(std::min(out.size(), most));
  return out;
}

expected<position> memory_log::position_at(timestamp time) const {
  const std::lock_guard lock{state_->mutex};
  const auto& times = state_->times;
  return position{static_cast<std::uint64_t>(std::ranges::lower_bound(times, time) - times.begin())
                  + 1};
}

expected<std::optional<std::string>> memory_log::get(table in, std::string_view key) const {
  const std::lock_guard lock{state_->mutex};
  const auto& records = state_->tables[in];
  const auto found = records.find(key);
  return found == records.end() ? std::nullopt : std::optional{found->second};
}

expected<void> memory_log::scan(table in, std::string_view prefix, bool descending,
                                const record_visitor& visit) const {
  std::vector<std::pair<std::string, std::string>> found;
  {
    const std::lock_guard lock{state_->mutex};
    const auto& records = state_->tables[in];
    for (auto record = records.lower_bound(prefix); record != records.end(); ++record) {
      if (!std::string_view{record->first}.starts_with(prefix))
        break;
      found.push_back(*record);
    }
  }
  if (descending)
    std::reverse(found.begin(), found.end());
  for (const auto& [key, value] : found)
    if (!visit(key, value))
      break;
  return {};
}

expected<chain_report> memory_log::verify(stream_id stream, offset mark) const {
  sha256_hasher hasher;
  digest previous{};
  chain_report report;
  const auto check = [&](const event_view& e) {
    const auto payload = hasher.payload(e.turn, e.data, e.raw);
    previous = hasher.link(previous, {e.workspace, e.incarnation, e.at, e.time, e.type, payload});
    if (previous != *e.hash) {
      report.first_bad = e.at;
      report.problem = "the hash does not match the event";
      return false;
    }
    ++report.checked;
    if (e.at == mark)
      report.marked = previous;
    return true;
  };
  const auto everything = read_limits{SIZE_MAX, SIZE_MAX, true};
  if (auto read_all_of_it = read(stream, offset{1}, everything, check); !read_all_of_it)
    return tl::unexpected(read_all_of_it.error());
  return report;
}

expected<void> memory_log::copy_to(const std::filesystem::path&) const {
  return fail(errc::unsupported, "a log in memory has no files to copy");
}

log_health memory_log::health() const {
  const std::lock_guard lock{state_->mutex};
  if (state_->latched)
    return {false, std::string{latched_reason}};
  return {};
}

log_figures memory_log::figures() const {
  const std::lock_guard lock{state_->mutex};
  return {0, 0, state_->streams.stored_count(), position{state_->all.size()}};
}

bool memory_log::try_recover() {
  const std::lock_guard lock{state_->mutex};
  state_->latched = false;
  return true;
}

std::unique_ptr<event_log> make_memory_log() {
  return std::make_unique<memory_log>();
}

} // namespace tidemark
