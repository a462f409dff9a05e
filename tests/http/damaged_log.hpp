#pragma once

#include "storage/event_log.hpp"

#include <atomic>

namespace tidemark::testing {

/// Another log, of which one event cannot be read, as if its block on the disk were damaged.
class damaged_log final : public event_log {
public:
  explicit damaged_log(event_log& whole) : whole_(whole) {}

  std::atomic<std::uint64_t> damaged_at = 0; ///< the offset, in every stream; 0: none

  expected<stream_info> acquire(std::string_view name) override { return whole_.acquire(name); }
  [[nodiscard]] expected<stream_info> find(std::string_view name) const override {
    return whole_.find(name);
  }
  [[nodiscard]] std::vector<stream_info> streams() const override { return whole_.streams(); }
  [[nodiscard]] log_heads heads() const override { return whole_.heads(); }
  std::vector<append_result> commit(std::span<const append_request> requests) override {
    return whole_.commit(requests);
  }
  expected<removed> remove(const removal& what) override { return whole_.remove(what); }
  std::atomic<std::uint64_t> restored = 1; ///< the log's incarnation
  [[nodiscard]] epoch incarnation() const override { return epoch{restored}; }
  std::atomic<std::chrono::nanoseconds::rep> committing = 0; ///< what it says of its commits
  [[nodiscard]] std::chrono::nanoseconds time_committing() const override {
    return std::chrono::nanoseconds{committing};
  }
  [[nodiscard]] position head() const override { return whole_.head(); }
  expected<read_progress<offset>> read(stream_id stream, offset from, read_limits limits,
                                       const event_visitor& visit) const override {
    bool met = false;
    const auto up_to_damage = [&](const event_view& e) {
      met = e.at.value == damaged_at;
      return !met && visit(e);
    };
    auto progress = whole_.read(stream, from, limits, up_to_damage);
    if (met)
      return fail(errc::corrupt, "a block does not match its checksum");
    return progress;
  }
  expected<read_progress<position>> read_all(position from, read_limits limits,
                                             const event_visitor& visit) const override {
    return whole_.read_all(from, limits, visit);
  }
  expected<read_progress<position>> search(const term_groups& wanted, position from, direction way,
                                           read_limits limits,
                                           const event_visitor& visit) const override {
    bool met = false;
    const auto up_to_damage = [&](const event_view& e) {
      met = e.at.value == damaged_at;
      return !met && visit(e);
    };
    auto progress = whole_.search(wanted, from, way, limits, up_to_damage);
    if (met)
      return fail(errc::corrupt, "a block does not match its checksum");
    return progress;
  }
  [[nodiscard]] expected<std::vector<std::string>> terms(std::string_view prefix,
                                                         std::size_t most) const override {
    return whole_.terms(prefix, most);
  }
  [[nodiscard]] position searchable_from() const override { return whole_.searchable_from(); }
  [[nodiscard]] expected<position> position_at(timestamp time) const override {
    return whole_.position_at(time);
  }
  [[nodiscard]] expected<std::optional<std::string>> get(table in,
                                                         std::string_view key) const override {
    return whole_.get(in, key);
  }
  expected<void> scan(table in, std::string_view prefix, bool descending,
                      const record_visitor& visit) const override {
    return whole_.scan(in, prefix, descending, visit);
  }
  using event_log::verify;
  [[nodiscard]] expected<chain_report> verify(stream_id stream, offset mark) const override {
    auto report = whole_.verify(stream, mark);
    if (report && damaged_at != 0) {
      report->checked = damaged_at - 1;
      report->first_bad = offset{damaged_at};
      report->problem = "its hash is another";
    }
    return report;
  }
  expected<void> copy_to(const std::filesystem::path& directory) const override {
    return whole_.copy_to(directory);
  }
  [[nodiscard]] log_health health() const override { return whole_.health(); }
  [[nodiscard]] log_figures figures() const override { return whole_.figures(); }
  bool try_recover() override { return whole_.try_recover(); }

private:
  event_log& whole_;
};

} // namespace tidemark::testing
