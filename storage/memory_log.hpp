#pragma once

#include "storage/event_log.hpp"

#include <memory>

namespace tidemark {

/// The log in memory: the same promises but for durability. For tests of the layers above and for
/// simulations. Thread-safe; visitors run without a lock held, over what was there at the call.
class memory_log final : public event_log {
public:
  memory_log();
  ~memory_log() override;

  /// The next `commit` writes nothing and refuses every request with `code`. After `io` the log
  /// stays latched, as a real one does, until `try_recover`; after any other code it goes on.
  void fail_next(errc code);

  expected<stream_info> acquire(std::string_view name) override;
  [[nodiscard]] expected<stream_info> find(std::string_view name) const override;
  [[nodiscard]] std::vector<stream_info> streams() const override;
  [[nodiscard]] log_heads heads() const override;
  std::vector<append_result> commit(std::span<const append_request> requests) override;
  [[nodiscard]] epoch incarnation() const override { return epoch{1}; }
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
  [[nodiscard]] position searchable_from() const override { return position{1}; }
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
  struct state;
  std::unique_ptr<state> state_;
};

std::unique_ptr<event_log> make_memory_log();

} // namespace tidemark
