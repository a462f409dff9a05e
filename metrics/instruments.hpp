#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Every instrument of the server in one place. docs/operations.md lists them by exposed name.
///
/// Label values come from closed sets or are bounded here (an unknown model becomes `other` after
/// `max_models`): never a path or a session, nor a workspace but for its consumers. Series with closed label sets exist from
/// the start, so that no scrape finds a hole. The one exception is the lag of consumers, which clients
/// name: at most `max_consumer_series`, those that are furthest behind. Thread-safe; a call is a few atomic operations, but
/// those that take seconds lock a histogram and do not belong in a loop over events.
class instruments {
public:
  using seconds = std::chrono::duration<double>;
  static constexpr std::size_t max_models = 16;
  static constexpr std::size_t max_consumer_series = 1000;

  explicit instruments(std::string_view version);
  ~instruments();
  instruments(const instruments&) = delete;
  instruments& operator=(const instruments&) = delete;

  // -- HTTP ------------------------------------------------------------------
  /// `route` is the template (`/api/v1/workspaces/{id}`), `unmatched` for none.
  void http_request(std::string_view method, std::string_view route, int status, seconds took);
  void http_connections(std::int64_t change);
  /// `limit` names the limit: `body`, `header`, `connections`, `request_timeout`, `idle`,
  /// `failed_attempts`.
  void http_limit_hit(std::string_view limit);

  // -- log -------------------------------------------------------------------
  void commit(std::size_t requests, std::size_t events, std::size_t bytes, seconds write,
              seconds sync);
  void commit_failed(std::string_view code);
  void append_refused(std::string_view code);
  void log_accepting(bool accepting);
  /// By retention: whole events, and events that lost what they held.
  void events_removed(std::size_t whole, std::size_t emptied);
  /// Bytes of what `events.removed` events told of, for which `reason`: age, bytes, turns, deltas or
  /// total_bytes.
  void bytes_removed(std::string_view reason, std::size_t bytes);
  /// With `retain.total_bytes`: of all workspaces' events, and how much of it is beyond the limit.
  void bytes_kept(std::size_t bytes, std::size_t beyond);
  /// Asked at each scrape: bytes on disk, WAL bytes, stored streams, head position, free bytes.
  struct log_gauges {
    std::uint64_t bytes = 0, wal_bytes = 0, streams = 0, head = 0, free_bytes = 0;
  };
  void observe_log(std::function<log_gauges()> read);

  // -- workspaces and turns --------------------------------------------------
  void workspaces_active(std::int64_t change);
  void turn_queued();
  void turn_started(seconds waited);
  /// `outcome` is one of succeeded, failed, cancelled, interrupted.
  void turn_ended(std::string_view outcome, seconds took);
  void turns_waiting(std::int64_t change);
  void turns_running(std::int64_t change);
  void pending_results(std::int64_t change);
  /// `via` is one of stream, poll, ack, expired.
  void result_delivered(std::string_view via);
  /// `decision` allow or deny; `by` client, policy, rule, timeout, restart or withdrawn.
  void permission(std::string_view decision, std::string_view by);
  void fault(std::string_view component);

  // -- agents ----------------------------------------------------------------
  /// `start` is one of cold, resume, warm.
  void agent_turn_start(std::string_view start, seconds took);
  void agent_spawn_failed();
  void agents_live(std::int64_t change);
  void agent_killed(std::string_view reason);
  void agent_line(std::size_t bytes);
  void agent_noise();
  void usage(std::string_view model, std::int64_t input, std::int64_t output,
             std::int64_t cache_read, std::int64_t cache_write, double cost_usd);

  // -- shells ----------------------------------------------------------------
  void shell_opened();
  /// `reason` is one of program, client, disconnect, idle, server.
  void shell_closed(std::string_view reason);
  void shell_input(std::size_t bytes);
  void shell_output(std::size_t bytes);
  /// Output that a client did not get because it was too slow.
  void shell_skipped(std::size_t bytes);

  // -- readers ---------------------------------------------------------------
  void readers(std::int64_t change);
  /// `source` is `tail` (live) or `log` (replayed).
  void events_sent(std::string_view source, std::size_t events, std::size_t bytes);
  void slow_reader();
  /// `reason` epoch, trimmed or ahead.
  void gap(std::string_view reason);
  /// Asked at each scrape: how many events wait for each consumer.
  struct consumer_lag {
    std::string workspace;
    std::string consumer;
    std::uint64_t events = 0;
  };
  void observe_consumers(std::function<std::vector<consumer_lag>()> read);
  /// `outcome` is one of delivered, failed, dead.
  void webhook_delivery(std::string_view outcome);

  /// The exposition in the Prometheus text format 0.0.4.
  [[nodiscard]] std::string expose() const;

private:
  struct families;
  std::unique_ptr<families> families_;
};

} // namespace tidemark
