// Search by term, and the way from a position or a time to an event. A posting is a key without a value
// in the family `terms`: the term, a zero byte and the position, 8 bytes big-endian.
#include "storage/rocks_event_log.hpp"

#include "storage/bounded_visit.hpp"
#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"
#include "storage/term_search.hpp"

#include <rocksdb/db.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace tidemark {

namespace {

/// Leaps of one search between two looks at its limits: some milliseconds.
constexpr std::size_t steps_at_a_time = 4096;

rocksdb::ReadOptions in_total_order() {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  return options;
}

class stored_postings final : public posting_list {
public:
  stored_postings(const rocks_database& database, std::string_view term, position last,
                  direction way)
    : key_(keys::posting_prefix(term)),
      prefix_bytes_(key_.size()),
      last_(last),
      way_(way),
      postings_(database.db().NewIterator(in_total_order(), database.handle(family::terms))) {}

  expected<std::optional<position>> seek(position from) override {
    keys::move_posting_key(key_, prefix_bytes_, std::min(from, last_));
    if (way_ == direction::oldest_first)
      postings_->Seek(key_);
    else
      postings_->SeekForPrev(key_);
    if (!postings_->status().ok())
      return tl::unexpected(to_error(postings_->status(), "cannot read what search finds"));
    if (!postings_->Valid())
      return std::nullopt;
    const auto at = keys::parse_posting_key(postings_->key().ToStringView(),
                                            std::string_view{key_}.substr(0, prefix_bytes_));
    // What is beyond the head is not durable yet.
    if (!at || *at > last_ || (way_ == direction::oldest_first && *at < from))
      return std::nullopt;
    return at;
  }

private:
  std::string key_;
  std::size_t prefix_bytes_;
  position last_;
  direction way_;
  std::unique_ptr<rocksdb::Iterator> postings_;
};

} // namespace

/// Finds the events at positions, which mostly come in order: remembers the commit of the last one.
class rocks_event_log::locator {
public:
  locator(const rocks_event_log& log, const rocks_database& database)
    : log_(log),
      database_(database),
      commits_(database.db().NewIterator(in_total_order(), database.handle(family::commits))) {}

  /// Visits the event at `at`; true to go on, also if retention has removed it.
  expected<bool> visit(position at, bool with_raw, const event_visitor& visit) {
    if (auto found = find_commit(at); !found)
      return tl::unexpected(found.error());
    auto run_start = first_;
    for (const auto& run : commit_.runs) {
      if (at < run_start.plus(run.count))
        return visit_event(run, run.first.plus(at.value - run_start.value), with_raw, visit);
      run_start = run_start.plus(run.count);
    }
    return fail(errc::corrupt, fmt::format("the commit of position {} is missing", at.value));
  }

private:
  expected<void> find_commit(position at) {
    if (commit_.events() > 0 && first_ <= at && at < first_.plus(commit_.events()))
      return {};
    commits_->SeekForPrev(keys::commit_key(at));
    if (!commits_->status().ok())
      return tl::unexpected(to_error(commits_->status(), "cannot read the commits"));
    const auto first =
      commits_->Valid() ? keys::parse_commit_key(commits_->key().ToStringView()) : std::nullopt;
    auto commit = first ? records::decode_commit(commits_->value().ToStringView())
                        : fail(errc::corrupt, "there is none");
    if (!commit)
      return fail(errc::corrupt, fmt::format("the commit of position {} is not readable", at.value),
                  commit.error());
    first_ = *first;
    commit_ = std::move(*commit);
    return {};
  }

  expected<bool> visit_event(const commit_run& run, offset at, bool with_raw,
                             const event_visitor& visit) {
    const auto info = log_.info_of(run.stream);
    if (!info)
      return tl::unexpected(info.error());
    if (at <= info->trimmed)
      return true;
    const auto key = keys::packed_event_key(run.stream, at);
    record_.Reset(); // RocksDB wants it empty: it may hold a block of a table file in memory
    const auto status =
      database_.db().Get({}, database_.handle(family::events), {key.data(), key.size()}, &record_);
    if (status.IsNotFound() && log_.absent(*info, at).code == errc::trimmed)
      return true;
    if (!status.ok())
      return tl::unexpected(
        to_error(status, fmt::format("cannot read event {} of \"{}\"", at.value, info->name)));
    return log_.visit_record(*info, at, record_.ToStringView(), with_raw, visit);
  }

  const rocks_event_log& log_;
  const rocks_database& database_;
  std::unique_ptr<rocksdb::Iterator> commits_;
  position first_;
  records::commit_record commit_;
  rocksdb::PinnableSlice record_;
};

expected<read_progress<position>> rocks_event_log::search(const term_groups& wanted, position from,
                                                          direction way, read_limits limits,
                                                          const event_visitor& visit) const {
  const auto forward = way == direction::oldest_first;
  if (wanted.empty() && forward)
    return read_all(from, limits, visit);
  const auto last = head();
  from = forward ? std::max(from, position{1}) : std::min(from, last);
  const auto is_over = [&](position at) { return forward ? at > last : at == position{0}; };
  if (is_over(from) || limits.max_events == 0)
    return read_progress<position>{from, 0, is_over(from)};
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  const auto& database = open->database();

  std::vector<std::vector<std::unique_ptr<posting_list>>> groups;
  for (const auto& terms : wanted) {
    auto& lists = groups.emplace_back();
    for (const auto& term : terms)
      lists.push_back(std::make_unique<stored_postings>(database, term, last, way));
  }
  term_search postings{std::move(groups), way};
  locator events{*this, database};
  bounded_visit bounded{limits, visit};
  std::size_t passed = 0; // places of events that retention removed
  while (!bounded.done() && passed < steps_at_a_time && !is_over(from)) {
    const auto found = postings.next(from, steps_at_a_time);
    if (!found)
      return tl::unexpected(found.error());
    from = found->next;
    if (found->exhausted)
      return read_progress<position>{forward ? last.next() : position{0}, bounded.events(), true};
    if (!found->match)
      break; // the reader decides whether to go on
    const auto seen = bounded.events();
    const auto go_on = events.visit(*found->match, limits.with_raw, std::ref(bounded));
    if (!go_on)
      return tl::unexpected(go_on.error());
    if (bounded.events() == seen)
      ++passed;
    from = forward ? from.next() : position{from.value - 1};
  }
  return read_progress<position>{from, bounded.events(), is_over(from)};
}

expected<std::vector<std::string>> rocks_event_log::terms(std::string_view prefix,
                                                          std::size_t most) const {
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  const std::unique_ptr<rocksdb::Iterator> postings{
    open->database().db().NewIterator(in_total_order(), open->database().handle(family::terms))};
  std::vector<std::string> found;
  postings->Seek({prefix.data(), prefix.size()});
  while (postings->Valid() && found.size() < most) {
    const auto key = postings->key().ToStringView();
    if (!key.starts_with(prefix))
      break;
    found.emplace_back(key.substr(0, key.find('\0')));
    postings->Seek(found.back() + '\1'); // the first key after all of this term
  }
  if (!postings->status().ok())
    return tl::unexpected(to_error(postings->status(), "cannot read what search finds"));
  return found;
}

position rocks_event_log::searchable_from() const {
  const std::lock_guard lock{mutex_};
  return state_.searchable_from;
}

expected<position> rocks_event_log::position_at(timestamp time) const {
  const auto last = head();
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  const std::unique_ptr<rocksdb::Iterator> commits{
    open->database().db().NewIterator(in_total_order(), open->database().handle(family::commits))};
  // Times of commits never go back: bisect. All before `low` is too early, nothing from `high` on is.
  auto low = position{1};
  auto high = last.next();
  while (low < high) {
    const position middle{low.value + (high.value - low.value) / 2};
    commits->SeekForPrev(keys::commit_key(middle));
    const auto first =
      commits->Valid() ? keys::parse_commit_key(commits->key().ToStringView()) : std::nullopt;
    const auto commit = first ? records::decode_commit(commits->value().ToStringView())
                              : fail(errc::corrupt, "there is none");
    if (!commit)
      return fail(errc::corrupt,
                  fmt::format("the commit of position {} is not readable", middle.value),
                  commit.error());
    if (commit->time < time)
      low = std::min(first->plus(commit->events()), high);
    else
      high = *first;
  }
  return low;
}

} // namespace tidemark
