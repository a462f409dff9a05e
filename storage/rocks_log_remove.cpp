// What retention takes out of the log. Events go one by one, not by range: a range tombstone costs every
// read beside it, and the iterators of readers start behind the trim anyway.
#include "storage/rocks_event_log.hpp"

#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>

#include <fmt/format.h>

namespace tidemark {

namespace {

std::optional<error> objection(const stream_info& stream, const removal& what) {
  if (what.incarnation != stream.incarnation)
    return error{errc::fenced, fmt::format("\"{}\" is at epoch {}, the removal at {}", stream.name,
                                           stream.incarnation.value, what.incarnation.value)};
  if (what.last > offset{0} && what.last >= stream.head)
    return error{errc::invalid_argument,
                 fmt::format("the last event of \"{}\" cannot be removed", stream.name)};
  if (std::ranges::any_of(what.emptied, [&](const auto& e) { return e.at > stream.head; }))
    return error{errc::invalid_argument,
                 fmt::format("\"{}\" ends before an event that is to be emptied", stream.name)};
  return std::nullopt;
}

} // namespace

expected<std::string> rocks_event_log::stored_event(const stream_info& stream, offset at) const {
  std::string record;
  const auto status = database_->db().Get({}, database_->handle(family::events),
                                          keys::event_key(stream.id, at), &record);
  if (status.IsNotFound())
    return fail(errc::corrupt, fmt::format("event {} of \"{}\" is missing", at.value, stream.name));
  if (!status.ok())
    return tl::unexpected(
      to_error(status, fmt::format("cannot read event {} of \"{}\"", at.value, stream.name)));
  return record;
}

expected<std::uint64_t> rocks_event_log::trim(stream_info& stream, offset last) {
  if (last <= stream.trimmed)
    return 0;
  const auto anchor = stored_event(stream, last);
  if (!anchor)
    return tl::unexpected(anchor.error());
  const auto decoded = records::decode_event(*anchor);
  if (!decoded)
    return tl::unexpected(decoded.error());
  const auto end = keys::event_key(stream.id, last.next());
  const rocksdb::Slice bound{end};
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> stored{
    database_->db().NewIterator(options, database_->handle(family::events))};
  for (stored->Seek(keys::event_key(stream.id, stream.first())); stored->Valid(); stored->Next()) {
    // What is damaged goes like the rest; its long line stays.
    if (const auto e = records::decode_event(stored->value().ToStringView()))
      release(*e);
    batch_->Delete(database_->handle(family::events), stored->key());
  }
  if (!stored->status().ok())
    return tl::unexpected(to_error(
      stored->status(), fmt::format("cannot read the first events of \"{}\"", stream.name)));
  const auto count = last.value - stream.trimmed.value;
  stream.trimmed = last;
  stream.trimmed_hash = decoded->hash;
  batch_->Put(database_->handle(family::streams), keys::stream_key(stream.name, stream.incarnation),
              records::encode(stream));
  return count;
}

expected<std::uint64_t> rocks_event_log::empty(const stream_info& stream,
                                               std::span<const emptied_event> events) {
  std::uint64_t count = 0;
  for (const auto& [at, data] : events) {
    if (at <= stream.trimmed)
      continue;
    const auto stored = stored_event(stream, at);
    auto e = stored ? records::decode_event(*stored) : tl::unexpected(stored.error());
    if (!e)
      return tl::unexpected(e.error());
    if (e->emptied)
      continue;
    std::string long_line;
    if (e->blob) {
      auto content = blobs_.get(*e->blob);
      if (!content)
        return tl::unexpected(content.error());
      long_line = std::move(*content);
      e->raw = long_line;
    }
    // As it is stored: what somebody has altered does not become unaltered by going.
    e->emptied = hasher_.payload(e->turn, e->data, e->raw);
    release(*e);
    e->raw = {};
    e->blob.reset();
    e->data = data;
    records::encode(*e, record_);
    batch_->Put(database_->handle(family::events), keys::event_key(stream.id, at), record_);
    ++count;
  }
  return count;
}

void rocks_event_log::release(const records::event_record& from) {
  if (!from.blob || !blobs_counted_)
    return;
  posting_ = keys::blob_prefix(to_hex(from.blob->hash));
  keys::move_posting_key(posting_, posting_.size(), from.global);
  batch_->Delete(database_->handle(family::terms), posting_);
  released_.push_back(*from.blob);
}

// A crash before this leaves files that nothing refers to, which do no harm.
void rocks_event_log::remove_released() {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  for (const auto& line : std::exchange(released_, {})) {
    const auto prefix = keys::blob_prefix(to_hex(line.hash));
    const std::unique_ptr<rocksdb::Iterator> references{
      database_->db().NewIterator(options, database_->handle(family::terms))};
    references->Seek(prefix);
    const auto is_wanted = references->Valid() && references->key().starts_with(prefix);
    if (references->status().ok() && !is_wanted)
      blobs_.remove(line);
  }
}

expected<removed> rocks_event_log::remove(const removal& what) {
  if (options_.read_only)
    return fail(errc::unavailable, "the log was opened to be read only");
  if (auto gone = displacement())
    return tl::unexpected(std::move(*gone));
  auto stream = info_of(what.stream);
  if (!stream)
    return tl::unexpected(stream.error());
  {
    const std::lock_guard lock{mutex_};
    if (!failure_.empty() || !database_)
      return tl::unexpected(error{errc::io, failure_, true});
  }
  if (auto why = objection(*stream, what))
    return tl::unexpected(std::move(*why));
  // A disk below its reserve is no obstacle: this gives space back.
  if (!batch_)
    batch_ = std::make_unique<rocksdb::WriteBatch>();
  batch_->Clear();
  released_.clear();
  removed done;
  const auto trimmed = trim(*stream, what.last);
  if (!trimmed)
    return tl::unexpected(trimmed.error());
  const auto emptied = empty(*stream, what.emptied);
  if (!emptied)
    return tl::unexpected(emptied.error());
  done.events = *trimmed;
  done.emptied = *emptied;
  for (const auto& [at, terms] : what.postings)
    for (const auto& term : terms) {
      posting_ = keys::posting_prefix(term);
      keys::move_posting_key(posting_, posting_.size(), at);
      batch_->Delete(database_->handle(family::terms), posting_);
    }
  add_derived(what.derived);
  if (batch_->Count() == 0)
    return done;
  {
    // Readers first: whoever misses an event finds here that it was removed.
    const std::lock_guard lock{mutex_};
    state_.streams.put(*stream);
  }
  rocksdb::WriteOptions options;
  options.sync = options_.when_done == durability::sync;
  if (const auto status = database_->db().Write(options, batch_.get()); !status.ok()) {
    auto why = to_error(status, "the write-ahead log could not be written");
    latch(why.message);
    return fail(errc::io, why.message);
  }
  remove_released();
  return done;
}

} // namespace tidemark
