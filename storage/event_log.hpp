#pragma once

#include "base/error.hpp"
#include "storage/event.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// The events of a stream up to `last` that were written while it was at an earlier epoch: a restore from a
/// backup gives a stream its next epoch and keeps its events, whose hashes cover the epoch of then.
struct past_epoch {
  epoch incarnation;
  offset last;

  friend bool operator==(const past_epoch&, const past_epoch&) = default;
};

/// What the log knows about one incarnation of a workspace's stream.
struct stream_info {
  std::string name; ///< the workspace id
  stream_id id;
  epoch incarnation;
  offset head;    ///< last durable event; 0 if there is none yet
  offset trimmed; ///< last event removed by retention; 0 if none. The first readable is one more
  digest head_hash{};
  bool ended = false; ///< its last event was written with `ends_stream`; only reads are possible
  std::vector<past_epoch> past =
    {};                  ///< oldest first; empty unless the log was restored from a backup
  digest trimmed_hash{}; ///< of event `trimmed`: the first readable event follows from it

  [[nodiscard]] offset first() const { return trimmed.next(); }
  /// The epoch that the hash of an event covers: the present one, or that from before a restore.
  [[nodiscard]] epoch written_under(offset at) const {
    for (const auto& before : past)
      if (at <= before.last)
        return before.incarnation;
    return incarnation;
  }
};

/// Tables for records that follow from events. They are written in the batch of their events,
/// so they can never disagree with them.
enum class table : std::uint8_t {
  turns, ///< one record a turn: queries and recovery without a scan
  meta   ///< snapshots, workspace summaries, pending results, idempotency keys, schema version
};

/// Puts (`value` set) or deletes (`value` empty) one record.
struct table_write {
  table in = table::meta;
  std::string key;
  std::optional<std::string> value;
};

/// Events for one stream, appended all or none, in order, next to the records derived from them.
struct append_request {
  stream_id stream;
  epoch incarnation; ///< the epoch the writer believes in; another one is refused as `fenced`
  offset expected;   ///< the head the writer believes in; another one is refused as `wrong_offset`
  std::vector<new_event> events;
  std::vector<table_write> derived = {};
  bool ends_stream = false;
};

/// Where the events of one request went.
struct appended {
  offset first;
  offset last;
  position first_global;      ///< the events of one request have consecutive positions
  std::vector<digest> hashes; ///< one an event
};

/// The answer to one append. On `wrong_offset` and `fenced` the facts say what the log has.
/// Codes: `wrong_offset`, `fenced`, `not_found` (unknown stream), `too_large` (an event over
/// `max_event_bytes`), `full` (no space: nothing was written), `io` (latched: see health()).
struct append_refusal {
  error why;
  offset head;
  epoch incarnation;
};
using append_result = tl::expected<appended, append_refusal>;

/// An event whose content goes. It keeps its place, time, type, turn and hash, and the chain goes on
/// over the hash of what it held.
struct emptied_event {
  offset at;
  std::string data; ///< what readers get instead: one JSON object made by dump_json
};

/// What search finds an event by.
struct event_terms {
  position at;
  std::vector<std::string> terms;
};

/// One step of a removal by retention that an `events.removed` event of the same stream has told already
/// (storage/removal_note.hpp): a step of its own is neither visible nor provable. Written all or none.
struct removal {
  stream_id stream;
  epoch incarnation;
  offset last;                             ///< events up to it go; 0: none goes
  std::vector<emptied_event> emptied = {}; ///< after `last`; in order
  std::vector<event_terms> postings = {};  ///< of the events that go
  std::vector<table_write> derived = {};   ///< records that go with them
};

/// What one removal did. What was gone already does not count.
struct removed {
  std::uint64_t events = 0;
  std::uint64_t emptied = 0;
};

struct read_limits {
  std::size_t max_events = 1024;
  std::size_t max_bytes = 1 << 20; ///< stops after the event that reaches it, so one always comes
  bool with_raw = false;
};

/// Which way a reader goes through the log.
enum class direction : std::uint8_t { oldest_first, newest_first };

/// Events that carry at least one term of every group. No group: every event.
using term_groups = std::vector<std::vector<std::string>>;

/// How far a bounded read came. The next read starts at `next`.
template <class Ordinal>
struct read_progress {
  Ordinal next;
  std::size_t events = 0;
  bool reached_head = false; ///< nothing is left in the direction of the read
};

/// Called once an event, in order. Return false to stop early.
using event_visitor = std::function<bool(const event_view&)>;
/// Called once a record, in key order. Return false to stop early.
using record_visitor = std::function<bool(std::string_view key, std::string_view value)>;

struct log_health {
  bool accepting = true;
  std::string reason; ///< what keeps it from accepting and what to do; empty if accepting
};

/// Figures for /metrics; cheap to read, any thread.
struct log_figures {
  std::uint64_t bytes_on_disk = 0;
  std::uint64_t wal_bytes = 0;
  std::uint64_t streams = 0;
  position head;
};

/// The outcome of recomputing one stream's hash chain.
struct chain_report {
  std::uint64_t checked = 0;
  std::optional<offset> first_bad;   ///< empty if every event matches
  std::string problem;               ///< what is wrong with `first_bad`
  offset first;                      ///< the first event that is still there
  std::uint64_t removed = 0;         ///< events before it, removed by retention
  std::uint64_t emptied = 0;         ///< of those checked: events whose content retention removed
  std::optional<digest> marked = {}; ///< the hash of the event asked for, if the chain came as far
};

/// The log at one moment.
struct log_heads {
  epoch incarnation;
  position head;
  std::vector<stream_info> streams; ///< as `event_log::streams` gives them
};

/// An ordered, durable log of events in streams. The embedded implementation is storage/rocks_log.hpp.
///
/// Guarantees
/// - Offsets of a stream are dense (1, 2, 3 …) and never reused; positions are dense over all streams.
///   Retention removes from the front of a stream only.
/// - What `commit` answered with `appended` survives SIGKILL and, with durability `sync`, power loss.
/// - A reader never sees an event before its commit was synced.
///
/// Threads: `commit` is called by one thread at a time; everything else from any thread.
/// Calls may block on the disk: never make them on an I/O thread or a scheduler's worker.
/// Nothing here assumes that the log is local: a clustered implementation fits behind it.
class event_log {
public:
  /// Largest `data` + `raw` of one event.
  static constexpr std::size_t max_event_bytes = 64 << 20;

  event_log() = default;
  event_log(const event_log&) = delete;
  event_log& operator=(const event_log&) = delete;
  virtual ~event_log() = default;

  /// The live incarnation of `name`; begins one (head 0, next epoch) if there is none or the last
  /// one ended. A stream that gets no event before a crash leaves no trace.
  virtual expected<stream_info> acquire(std::string_view name) = 0;

  /// The newest incarnation of `name`, live or ended. `not_found` if the name was never used.
  [[nodiscard]] virtual expected<stream_info> find(std::string_view name) const = 0;

  /// The newest incarnation of every name that has at least one event, in name order.
  [[nodiscard]] virtual std::vector<stream_info> streams() const = 0;

  /// The heads of all streams and that of the log, all of one moment.
  [[nodiscard]] virtual log_heads heads() const = 0;

  /// Group commit: assigns offsets and positions, writes all accepted requests in one batch with
  /// one sync, then answers each. Requests are judged in order, each against the ones before it.
  virtual std::vector<append_result> commit(std::span<const append_request> requests) = 0;

  /// How long `commit` has worked since the log was opened: a second of it a second is a log that can take no
  /// more. 0 for a log that has no disk. Cheap, any thread.
  [[nodiscard]] virtual std::chrono::nanoseconds time_committing() const { return {}; }

  /// The log's own incarnation: 1, and another one once it was restored from a backup, so that no reader
  /// of positions goes on in a history that is not the one it has read. Cheap, any thread.
  [[nodiscard]] virtual epoch incarnation() const = 0;

  /// The position of the last durable event; 0 if there is none. Cheap, any thread.
  [[nodiscard]] virtual position head() const = 0;

  /// Removes events, or what they held, for good: readers of them hear `trimmed`, the others go on. The
  /// caller keeps a step to some thousand events, because commits wait for it; a step whose work was done
  /// before is no error. Called by the thread that commits. Errors: `not_found`, `fenced`,
  /// `invalid_argument` (the last event of a stream stays), `corrupt`, `io` (latched: see health()).
  virtual expected<removed> remove(const removal& what) = 0;

  /// Visits the events of one stream from `from` on. Errors: `not_found`, `trimmed`, `corrupt`, `io`.
  /// `from` beyond the head is not an error: it visits nothing.
  virtual expected<read_progress<offset>> read(stream_id stream, offset from, read_limits limits,
                                               const event_visitor& visit) const = 0;

  /// Visits the events of all streams in commit order, from position `from` on.
  virtual expected<read_progress<position>> read_all(position from, read_limits limits,
                                                     const event_visitor& visit) const = 0;

  /// Visits the events that carry the terms of `wanted`, from position `from` on in the direction
  /// `way`. Its cost follows the shortest of the groups' lists, not the log. Events before
  /// `searchable_from()` carry no terms; events that retention removed are passed over.
  virtual expected<read_progress<position>> search(const term_groups& wanted, position from,
                                                   direction way, read_limits limits,
                                                   const event_visitor& visit) const = 0;

  /// The terms in use that start with `prefix`, in byte order, at most `most`.
  [[nodiscard]] virtual expected<std::vector<std::string>> terms(std::string_view prefix,
                                                                 std::size_t most) const = 0;

  /// The first event that was written with its terms: a log that is older than search has others.
  [[nodiscard]] virtual position searchable_from() const = 0;

  /// The first position that was not committed before `time`; one past the head if there is none.
  /// An event's own time is never after that of its commit.
  [[nodiscard]] virtual expected<position> position_at(timestamp time) const = 0;

  /// One record, or nothing. Errors: `corrupt`, `io`.
  [[nodiscard]] virtual expected<std::optional<std::string>> get(table in,
                                                                 std::string_view key) const = 0;

  /// Visits the records whose keys start with `prefix`; `descending` starts at the last one.
  virtual expected<void> scan(table in, std::string_view prefix, bool descending,
                              const record_visitor& visit) const = 0;

  /// Recomputes the hash chain of one stream from its first readable event on, which must follow from the
  /// remembered hash of the last one removed. What is gone must be told by the stream's own
  /// `events.removed` events (storage/chain_check.hpp). `mark` is the event whose hash the report is to
  /// name; 0: none.
  [[nodiscard]] virtual expected<chain_report> verify(stream_id stream, offset mark) const = 0;
  [[nodiscard]] expected<chain_report> verify(stream_id stream) const {
    return verify(stream, offset{0});
  }

  /// Copies the log as it is into `directory`, which must not exist: all that was acknowledged before the
  /// call, and perhaps some of what is committed meanwhile. Commits go on. Where that is possible the
  /// copy shares the log's own files, so it must be read only. A failed copy leaves nothing behind.
  /// Errors: `unsupported` (a log without files), `full`, `io`, `unavailable`.
  virtual expected<void> copy_to(const std::filesystem::path& directory) const = 0;

  [[nodiscard]] virtual log_health health() const = 0;
  [[nodiscard]] virtual log_figures figures() const = 0;

  /// Tries to accept again after a failure (full disk, latched database). Called by the thread
  /// that commits. True if the log accepts now.
  virtual bool try_recover() = 0;
};

} // namespace tidemark
