#include "storage/memory_log.hpp"

#include "storage/bounded_visit.hpp"
#include "storage/chain_check.hpp"
#include "storage/commit_planner.hpp"
#include "storage/stream_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>

namespace tidemark {

namespace {

constexpr std::string_view latched_reason = "the log in memory was told to fail; call try_recover";

/// An event and, if retention has emptied it, the hash of what it held.
struct stored_event {
  event_ptr what; ///< null if retention has removed it
  std::optional<digest> emptied;
};

event_view view_of(const stored_event& e, bool with_raw) {
  auto view = event_view::of(*e.what);
  if (!with_raw)
    view.raw = {};
  if (e.emptied)
    view.emptied = &*e.emptied;
  return view;
}

} // namespace

struct memory_log::state {
  mutable std::mutex mutex; // guards everything below
  stream_table streams;
  std::unordered_map<stream_id, std::vector<position>> places; // of event n at n - 1
  std::vector<stored_event> all;                               // position n at n - 1
  std::vector<std::vector<std::string>> terms;                 // likewise
  std::vector<timestamp> times;                                // likewise: never go back
  std::map<table, std::map<std::string, std::string, std::less<>>> tables;
  std::optional<errc> failure;
  bool latched = false;
  sha256_hasher hasher;

  void store(const append_request& request, const appended& place);
  void write(const std::vector<table_write>& records);
  stored_event& at(stream_id stream, offset place) {
    return all[places.at(stream)[place.value - 1].value - 1];
  }
};

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
    places[info.id].push_back(place.first_global.plus(i));
    all.push_back(
      {std::make_shared<event>(event{info.name, info.id, info.incarnation, place.first.plus(i),
                                     place.first_global.plus(i), e.time, e.type, e.turn, e.data,
                                     e.raw, place.hashes[i]}),
       std::nullopt});
    terms.push_back(e.terms);
    times.push_back(times.empty() ? e.time : std::max(times.back(), e.time));
  }
  write(request.derived);
}

void memory_log::state::write(const std::vector<table_write>& records) {
  for (const auto& write : records) {
    if (write.value)
      tables[write.in].insert_or_assign(write.key, *write.value);
    else
      tables[write.in].erase(write.key);
  }
}

expected<removed> memory_log::remove(const removal& what) {
  const std::lock_guard lock{state_->mutex};
  auto& log = *state_;
  if (log.latched || std::exchange(log.failure, std::nullopt) == errc::io) {
    log.latched = true;
    return fail(errc::io, std::string{latched_reason});
  }
  const auto* known = log.streams.find(what.stream);
  if (!known)
    return fail(errc::not_found, fmt::format("the log has no stream {}", what.stream.value));
  auto stream = *known;
  if (what.incarnation != stream.incarnation)
    return fail(errc::fenced, "the stream is at another epoch");
  if (what.last > offset{0} && what.last >= stream.head)
    return fail(errc::invalid_argument, "the last event of a stream cannot be removed");
  removed done;
  for (; stream.trimmed < what.last; ++done.events) {
    stream.trimmed = stream.trimmed.next();
    auto& gone = log.at(what.stream, stream.trimmed);
    stream.trimmed_hash = gone.what->hash;
    gone = {};
  }
  for (const auto& [at, data] : what.emptied) {
    if (at <= stream.trimmed || at > stream.head)
      continue;
    auto& e = log.at(what.stream, at);
    if (e.emptied)
      continue;
    e.emptied = log.hasher.payload(e.what->turn, e.what->data,
                                   e.what->raw ? *e.what->raw : std::string_view{});
    auto left = *e.what;
    left.data = data;
    left.raw = nullptr;
    e.what = std::make_shared<event>(std::move(left));
    ++done.emptied;
  }
  for (const auto& [at, terms] : what.postings)
    log.terms[at.value - 1].clear();
  log.write(what.derived);
  log.streams.put(std::move(stream));
  return done;
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
  std::vector<stored_event> found;
  offset head;
  {
    const std::lock_guard lock{state_->mutex};
    const auto* info = state_->streams.find(stream);
    if (!info)
      return fail(errc::not_found, fmt::format("the log has no stream {}", stream.value));
    if (from <= info->trimmed)
      return fail(errc::trimmed, fmt::format("events up to {} of \"{}\" were removed by retention",
                                             info->trimmed.value, info->name));
    head = info->head;
    for (auto at = from; at <= head && found.size() < limits.max_events; at = at.next())
      found.push_back(state_->at(stream, at));
  }
  bounded_visit bounded{limits, visit};
  for (const auto& e : found) {
    from = e.what->at.next();
    if (!bounded(view_of(e, limits.with_raw)))
      break;
  }
  return read_progress<offset>{from, bounded.events(), from > head};
}

expected<read_progress<position>> memory_log::read_all(position from, read_limits limits,
                                                       const event_visitor& visit) const {
  return search({}, std::max(from, position{1}), direction::oldest_first, limits, visit);
}

expected<read_progress<position>> memory_log::search(const term_groups& wanted, position from,
                                                     direction way, read_limits limits,
                                                     const event_visitor& visit) const {
  const auto forward = way == direction::oldest_first;
  std::vector<stored_event> found;
  position last;
  {
    const std::lock_guard lock{state_->mutex};
    last = position{state_->all.size()};
    const auto has = [&](std::size_t i, const std::vector<std::string>& group) {
      return std::ranges::find_first_of(state_->terms[i], group) != state_->terms[i].end();
    };
    for (std::size_t i = 0; i < state_->all.size(); ++i) {
      const position at{i + 1};
      if (state_->all[i].what && (forward ? at >= from : at <= from)
          && std::ranges::all_of(wanted, [&](const auto& group) { return has(i, group); }))
        found.push_back(state_->all[i]);
    }
  }
  if (!forward)
    std::ranges::reverse(found);
  bounded_visit bounded{limits, visit};
  for (const auto& e : found) {
    const auto at = e.what->global;
    const auto go_on = bounded(view_of(e, limits.with_raw));
    from = forward ? at.next() : position{at.value - 1};
    if (!go_on)
      return read_progress<position>{from, bounded.events(),
                                     forward ? from > last : from == position{0}};
  }
  return read_progress<position>{forward ? std::max(from, last.next()) : position{0},
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
  std::optional<stream_info> info;
  {
    const std::lock_guard lock{state_->mutex};
    if (const auto* known = state_->streams.find(stream))
      info = *known;
  }
  if (!info)
    return fail(errc::not_found, fmt::format("the log has no stream {}", stream.value));
  chain_check check{*info, mark};
  const auto take = [&](const event_view& e) { return e.at <= info->head && check.add(e); };
  if (auto whole = read(stream, info->first(), {SIZE_MAX, SIZE_MAX, true}, take); !whole)
    return tl::unexpected(whole.error());
  return check.finish();
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
