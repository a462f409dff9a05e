#include "storage/rocks_event_log.hpp"

#include "storage/bounded_visit.hpp"
#include "storage/chain_check.hpp"
#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"

#include <rocksdb/db.h>

#include <algorithm>

#include <fmt/format.h>

namespace tidemark {

namespace {

/// RocksDB's own readahead begins anew, and small, with every read of a few hundred events.
constexpr std::size_t readahead_bytes = 128 << 10;
constexpr std::uint64_t worth_readahead = 100; // events

/// Commits without an event that is still there, which one read passes over: some milliseconds.
constexpr std::size_t most_passed = 4096;

/// Looks at a chain that is bad each time while its stream changes under them.
constexpr int most_attempts = 3;

error damaged(const stream_info& stream, offset at, std::string_view what) {
  return {errc::corrupt, fmt::format("event {} of \"{}\" {}; restore the log from a backup",
                                     at.value, stream.name, what)};
}

} // namespace

expected<bool> rocks_event_log::visit_record(const stream_info& stream, offset at,
                                             std::string_view record, bool with_raw,
                                             const event_visitor& visit) const {
  const auto decoded = records::decode_event(record);
  if (!decoded)
    return tl::unexpected(
      error{decoded.error().code,
            fmt::format("event {} of \"{}\": {}", at.value, stream.name, decoded.error().message)});
  event_view view{
    stream.name,   stream.id,     stream.incarnation, at, decoded->global, decoded->time,
    decoded->type, decoded->turn, decoded->data,      {}, &decoded->hash,  nullptr};
  if (decoded->emptied)
    view.emptied = &*decoded->emptied;
  std::string long_line;
  if (with_raw && decoded->blob) {
    auto content = blobs_.get(*decoded->blob);
    // Retention may have taken it since the record was read.
    const auto now = content ? expected<std::string>{} : stored_event(stream, at);
    if (!content && (!now || *now != record)) {
      if (now)
        return visit_record(stream, at, *now, with_raw, visit);
      return tl::unexpected(absent(stream, at));
    }
    if (!content)
      return fail(content.error().code,
                  fmt::format("the raw line of event {} of \"{}\"", at.value, stream.name),
                  content.error());
    long_line = std::move(*content);
    view.raw = long_line;
  } else if (with_raw) {
    view.raw = decoded->raw;
  }
  return visit(view);
}

// A reader that knew the stream before a trim and looks into the database after it.
error rocks_event_log::absent(const stream_info& stream, offset at) const {
  const auto present = info_of(stream.id);
  if (present && at <= present->trimmed)
    return {errc::trimmed, fmt::format("events up to {} of \"{}\" were removed by retention",
                                       present->trimmed.value, stream.name)};
  return damaged(stream, at, "is missing");
}

rocks_event_log::walked rocks_event_log::walk(const rocks_database& database,
                                              const stream_info& stream, offset from, offset last,
                                              bool with_raw, const event_visitor& visit) const {
  const auto end = keys::event_key(stream.id, last.next());
  const rocksdb::Slice bound{end};
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  if (last.value - from.value >= worth_readahead)
    options.readahead_size = readahead_bytes;
  const std::unique_ptr<rocksdb::Iterator> records{
    database.db().NewIterator(options, database.handle(family::events))};
  auto next = from;
  auto key = keys::event_key(stream.id, from);
  for (records->Seek(key); records->Valid(); records->Next()) {
    if (records->key() != rocksdb::Slice{key})
      return {next, false, absent(stream, next)};
    const auto go_on = visit_record(stream, next, records->value().ToStringView(), with_raw, visit);
    if (!go_on)
      return {next, false, go_on.error()};
    next = next.next();
    keys::move_event_key(key, next);
    if (!*go_on)
      return {next, true};
  }
  if (!records->status().ok())
    return {next, false,
            to_error(records->status(),
                     fmt::format("cannot read event {} of \"{}\"", next.value, stream.name))};
  if (next <= last)
    return {next, false, absent(stream, next)};
  return {next};
}

expected<read_progress<offset>> rocks_event_log::read(stream_id stream, offset from,
                                                      read_limits limits,
                                                      const event_visitor& visit) const {
  const auto info = info_of(stream);
  if (!info)
    return tl::unexpected(info.error());
  from = std::max(from, offset{1});
  if (from <= info->trimmed)
    return fail(errc::trimmed, fmt::format("events up to {} of \"{}\" were removed by retention",
                                           info->trimmed.value, info->name));
  if (from > info->head || limits.max_events == 0)
    return read_progress<offset>{from, 0, from > info->head};
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  bounded_visit bounded{limits, visit};
  const auto done =
    walk(open->database(), *info, from, info->head, limits.with_raw, std::ref(bounded));
  if (done.failure)
    return tl::unexpected(*done.failure);
  return read_progress<offset>{done.next, bounded.events(), done.next > info->head};
}

expected<read_progress<position>> rocks_event_log::read_all(position from, read_limits limits,
                                                            const event_visitor& visit) const {
  from = std::max(from, position{1});
  const auto last = head();
  if (from > last || limits.max_events == 0)
    return read_progress<position>{from, 0, from > last};
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  const auto end = keys::commit_key(last.next());
  const rocksdb::Slice bound{end};
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> commits{
    open->database().db().NewIterator(options, open->database().handle(family::commits))};

  bounded_visit bounded{limits, visit};
  auto next = from;
  std::size_t passed = 0; // commits: those whose events were removed cost a step as well
  for (commits->SeekForPrev(keys::commit_key(from));
       commits->Valid() && !bounded.done() && passed < most_passed; commits->Next()) {
    const auto first = keys::parse_commit_key(commits->key().ToStringView());
    const auto commit = records::decode_commit(commits->value().ToStringView());
    if (!first || !commit)
      return fail(errc::corrupt,
                  fmt::format("the commit before position {} is not readable", next.value));
    const auto seen = bounded.events();
    auto walked_to =
      walk_commit(open->database(), *first, *commit, next, limits.with_raw, std::ref(bounded));
    if (!walked_to)
      return tl::unexpected(walked_to.error());
    next = *walked_to;
    if (bounded.events() == seen)
      ++passed;
    if (!bounded.done() && next < first->plus(commit->events()))
      return read_progress<position>{next, bounded.events(), false};
  }
  if (!commits->status().ok())
    return tl::unexpected(to_error(commits->status(), "cannot read the commits"));
  if (!bounded.done() && passed < most_passed && next <= last)
    return fail(errc::corrupt, fmt::format("the commit of position {} is missing", next.value));
  return read_progress<position>{next, bounded.events(), next > last};
}

expected<position> rocks_event_log::walk_commit(const rocks_database& database, position first,
                                                const records::commit_record& commit, position from,
                                                bool with_raw, const event_visitor& visit) const {
  auto run_start = first;
  for (const auto& run : commit.runs) {
    const auto run_end = run_start.plus(run.count);
    if (from < run_end) {
      if (from < run_start)
        return fail(errc::corrupt, fmt::format("the commit of position {} is missing", from.value));
      const auto info = info_of(run.stream);
      if (!info)
        return fail(errc::corrupt,
                    fmt::format("position {} belongs to an unknown stream", from.value),
                    info.error());
      const auto at = run.first.plus(from.value - run_start.value);
      const offset last{run.first.value + run.count - 1};
      const auto left = std::clamp(info->first(), at, last.next()); // after what retention removed
      const auto done =
        left > last ? walked{left} : walk(database, *info, left, last, with_raw, visit);
      from = from.plus(done.next.value - at.value);
      if (done.failure && done.failure->code == errc::trimmed)
        return from; // it was removed under this read: the next one passes it over
      if (done.failure)
        return tl::unexpected(*done.failure);
      if (done.stopped)
        return from;
    }
    run_start = run_end;
  }
  return from;
}

expected<std::optional<std::string>> rocks_event_log::get(table in, std::string_view key) const {
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  std::string value;
  const auto which = in == table::turns ? family::turns : family::meta;
  const auto status = open->database().db().Get({}, open->database().handle(which), key, &value);
  if (status.IsNotFound())
    return std::nullopt;
  if (!status.ok())
    return tl::unexpected(to_error(status, "cannot read a record"));
  return value;
}

expected<void> rocks_event_log::scan(table in, std::string_view prefix, bool descending,
                                     const record_visitor& visit) const {
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  const auto end = keys::end_of_prefix(prefix);
  const rocksdb::Slice bound{end};
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  if (!end.empty())
    options.iterate_upper_bound = &bound;
  const auto which = in == table::turns ? family::turns : family::meta;
  const std::unique_ptr<rocksdb::Iterator> records{
    open->database().db().NewIterator(options, open->database().handle(which))};
  if (descending)
    records->SeekToLast();
  else
    records->Seek(prefix);
  for (; records->Valid() && records->key().starts_with(prefix);
       descending ? records->Prev() : records->Next())
    if (!visit(records->key().ToStringView(), records->value().ToStringView()))
      break;
  if (!records->status().ok())
    return tl::unexpected(to_error(records->status(), "cannot read records"));
  return {};
}

chain_report rocks_event_log::verify_once(const rocks_database& database, const stream_info& stream,
                                          offset mark, std::optional<error>& failure) const {
  chain_check check{stream, mark};
  const auto take = [&](const event_view& e) { return check.add(e); };
  const auto done = walk(database, stream, stream.first(), stream.head, true, take);
  failure = done.failure;
  if (failure)
    check.fail_at(done.next, failure->describe());
  return check.finish();
}

expected<chain_report> rocks_event_log::verify(stream_id stream, offset mark) const {
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  for (int attempt = 1;;) {
    const auto info = info_of(stream);
    if (!info)
      return tl::unexpected(info.error());
    std::optional<error> failure;
    auto report = verify_once(open->database(), *info, mark, failure);
    if (failure && failure->code == errc::io)
      return tl::unexpected(*failure);
    if (failure && failure->code == errc::trimmed)
      continue; // from behind the trim that went over it
    // What retention takes meanwhile is told by an event that this look did not reach.
    const auto now = info_of(stream);
    const auto changed = now && (now->head != info->head || now->trimmed != info->trimmed);
    if (!report.first_bad || !changed || attempt++ == most_attempts)
      return report;
  }
}

} // namespace tidemark
