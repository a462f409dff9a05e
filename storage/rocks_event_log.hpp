#pragma once

#include "storage/blob_store.hpp"
#include "storage/commit_planner.hpp"
#include "storage/data_directory.hpp"
#include "storage/rocks_database.hpp"
#include "storage/rocks_log.hpp"
#include "storage/stream_table.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace rocksdb {
class Env;
class WriteBatch;
} // namespace rocksdb

namespace tidemark {

/// The log on RocksDB. Private to storage/; storage/rocks_log.hpp opens it.
///
/// What is durable is in `streams_` and `head_`: they move after the sync, and every read ends at
/// them, so nothing is visible before it is durable, whatever the database already shows.
class rocks_event_log final : public event_log {
public:
  /// `below` stands in for the operating system, so that tests can have disks that fail; null for
  /// the real one. It outlives the log.
  static expected<std::unique_ptr<event_log>> open(rocks_log_options options,
                                                   rocksdb::Env* below = nullptr);
  ~rocks_event_log() override;

  expected<stream_info> acquire(std::string_view name) override;
  [[nodiscard]] expected<stream_info> find(std::string_view name) const override;
  [[nodiscard]] std::vector<stream_info> streams() const override;
  [[nodiscard]] log_heads heads() const override;
  std::vector<append_result> commit(std::span<const append_request> requests) override;
  [[nodiscard]] std::chrono::nanoseconds time_committing() const override;
  [[nodiscard]] epoch incarnation() const override;
  [[nodiscard]] position head() const override;
  expected<removed> remove(const removal& what) override;
  expected<read_progress<offset>> read(stream_id stream, offset from, read_limits limits,
                                       const event_visitor& visit) const override;
  expected<read_progress<position>> read_all(position from, read_limits limits,
                                             const event_visitor& visit) const override;
  expected<read_progress<position>> search(const term_groups& wanted, position from, direction way,
                                           read_limits limits,
                                           const event_visitor& visit) const override;
  [[nodiscard]] expected<std::vector<std::string>> terms(std::string_view prefix,
                                                         std::size_t most) const override;
  [[nodiscard]] position searchable_from() const override;
  [[nodiscard]] expected<position> position_at(timestamp time) const override;
  [[nodiscard]] expected<std::optional<std::string>> get(table in,
                                                         std::string_view key) const override;
  expected<void> scan(table in, std::string_view prefix, bool descending,
                      const record_visitor& visit) const override;
  using event_log::verify;
  [[nodiscard]] expected<chain_report> verify(stream_id stream, offset mark) const override;
  expected<void> copy_to(const std::filesystem::path& directory) const override;
  [[nodiscard]] log_health health() const override;
  [[nodiscard]] log_figures figures() const override;
  bool try_recover() override;

private:
  /// Keeps the database open while a reader uses it: a reopen waits for it.
  class lease;
  class locator;
  /// How far a walk over a stream came; `next` is the event that failed, if one did.
  struct walked {
    offset next;
    bool stopped = false; ///< by the visitor
    std::optional<error> failure = {};
  };
  struct log_state {
    stream_table streams;
    position head;
    timestamp last_commit;
    position searchable_from{1};
    epoch incarnation{1};
  };

  rocks_event_log(rocks_log_options options, data_directory directory, rocksdb::Env* below);

  // -- opening (rocks_event_log.cpp) -------------------------------------------
  [[nodiscard]] expected<std::unique_ptr<rocks_database>> open_database(bool create) const;
  static expected<log_state> load(const rocks_database& database);
  static expected<void> load_head(const rocks_database& database, log_state& state);
  /// Makes sure that a log that had events still has some.
  expected<void> compare_with_mark(position head);
  expected<void> mark_searchable();
  static expected<epoch> load_incarnation(const rocks_database& database);
  /// Gives a log that came from a backup an incarnation of its own, and its streams their next epochs.
  expected<void> begin_new_epochs();
  expected<void> mark_blobs_counted();
  bool reopen();
  [[nodiscard]] bool takes_bytes() const;
  [[nodiscard]] expected<stream_info> info_of(stream_id stream) const;
  [[nodiscard]] expected<lease> borrow() const;

  // -- writing (rocks_log_commit.cpp) ------------------------------------------
  [[nodiscard]] commit_planner begin_plan(std::span<const append_request> requests);
  [[nodiscard]] std::optional<error> obstacle(std::uint64_t bytes) const;
  [[nodiscard]] std::optional<error> lack_of_space(std::uint64_t bytes) const;
  /// Why nothing is written any more, if the directory was ever seen removed or moved away.
  [[nodiscard]] std::optional<error> displacement() const;
  /// Gives a request its place and adds it to the batch, or refuses it.
  append_result place(const append_request& request, commit_planner& plan);
  /// Stores the raw lines that are too long for a record; empty if there are none.
  expected<std::vector<std::optional<records::blob_ref>>>
  store_long_lines(const append_request& request);
  expected<void> write(const commit_planner& plan, commit_figures& cost);
  std::vector<append_result> refuse_all(std::span<const append_request> requests,
                                        const error& why) const;
  void latch(std::string reason);

  // -- removing (rocks_log_remove.cpp) -----------------------------------------
  /// Adds to the batch that the events after `stream.trimmed` up to `last` go, and moves it there.
  expected<std::uint64_t> trim(stream_info& stream, offset last);
  /// Adds to the batch that these events lose what they held.
  expected<std::uint64_t> empty(const stream_info& stream, std::span<const emptied_event> events);
  [[nodiscard]] expected<std::string> stored_event(const stream_info& stream, offset at) const;
  void add_derived(std::span<const table_write> records);
  /// Adds to the batch that the event at `from` no longer refers to its long raw line.
  void release(const records::event_record& from);
  /// Once that is durable: removes the lines that no event refers to.
  void remove_released();

  // -- reading (rocks_log_read.cpp, rocks_log_search.cpp) --------------------------------------------
  walked walk(const rocks_database& database, const stream_info& stream, offset from, offset last,
              bool with_raw, const event_visitor& visit) const;
  /// Visits the events of one commit from position `from` on; the position to go on from.
  expected<position> walk_commit(const rocks_database& database, position first,
                                 const records::commit_record& commit, position from, bool with_raw,
                                 const event_visitor& visit) const;
  /// Decodes one record and visits it. True to go on.
  expected<bool> visit_record(const stream_info& stream, offset at, std::string_view record,
                              bool with_raw, const event_visitor& visit) const;
  /// An event that is not in the database: `trimmed` if it was removed since `stream` was read.
  [[nodiscard]] error absent(const stream_info& stream, offset at) const;
  [[nodiscard]] chain_report verify_once(const rocks_database& database, const stream_info& stream,
                                         offset mark, std::optional<error>& failure) const;

  const rocks_log_options options_;
  const data_directory directory_;
  rocksdb::Env* const below_;
  blob_store blobs_;
  sha256_hasher hasher_;                       // used by the committing thread only
  bool commits_marked_ = false;                // likewise: the directory is known to hold events
  std::unique_ptr<rocksdb::WriteBatch> batch_; // likewise: of the commit under way
  std::string record_;                         // likewise: of the event under way
  std::string posting_;                        // likewise: of the term under way
  std::vector<records::blob_ref> released_;    // likewise: of the removal under way
  bool blobs_counted_ = false; // every reference to a long raw line has a posting of its own
  mutable std::atomic<bool> displaced_ = false;
  std::atomic<std::chrono::nanoseconds::rep> committing_ =
    0; // written by the committing thread only

  mutable std::mutex mutex_; // guards everything below
  mutable std::condition_variable changed_;
  std::unique_ptr<rocks_database>
    database_; // replaced by the committing thread only, without readers
  mutable std::size_t readers_ = 0;
  bool reopening_ = false;
  log_state state_;
  std::string failure_;             // why nothing may be acknowledged; empty if it may
  std::uint64_t refused_bytes_ = 0; // of the largest append refused as `full` since one was written
};

class rocks_event_log::lease {
public:
  explicit lease(const rocks_event_log& owner) : owner_(&owner) {}
  lease(lease&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
  lease& operator=(lease&&) = delete;
  ~lease();
  [[nodiscard]] const rocks_database& database() const noexcept { return *owner_->database_; }

private:
  const rocks_event_log* owner_;
};

} // namespace tidemark
