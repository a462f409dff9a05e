#include "metrics/instruments.hpp"

#include "base/json.hpp"

#include "metrics/process_figures.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tidemark {

namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

using label_values = std::vector<std::string>;

const Histogram::BucketBoundaries call_seconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                               0.25,   0.5,   1,      2.5,   5,    10,    60};
const Histogram::BucketBoundaries disk_seconds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                               0.025,  0.05,    0.1,    0.5,   1,      5};
const Histogram::BucketBoundaries turn_seconds{0.05, 0.1, 0.5, 1,   2.5, 5,    10,
                                               30,   60,  120, 300, 600, 1800, 3600};
const Histogram::BucketBoundaries batch_events{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000};

const label_values outcomes{"succeeded", "failed", "cancelled", "interrupted"};
const label_values deliveries{"stream", "poll", "ack", "expired"};
const label_values starts{"cold", "resume", "warm"};
const label_values sources{"tail", "log"};
const label_values gap_reasons{"epoch", "trimmed", "ahead"};
const label_values http_limits{"body",        "header",          "failed_attempts",
                               "connections", "request_timeout", "idle",
                               "readers",     "write_timeout"};
const label_values error_codes{"wrong_offset", "fenced",  "too_large", "full",
                               "io",           "corrupt", "other"};
const label_values kill_reasons{"cancel",  "interrupt", "silence",  "mute",     "deaf", "idle",
                                "evicted", "changed",   "shutdown", "leftover", "other"};
const label_values components{"workspace", "agent_session", "directory", "shell",
                              "http",      "log",           "probe",     "other"};
const label_values removal_kinds{"events", "deltas"};
const label_values removal_reasons{"age", "bytes", "turns", "deltas", "total_bytes"};
const label_values methods{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"};
const label_values webhook_outcomes{"delivered", "failed", "dead"};
const label_values shell_ends{"program", "client", "disconnect", "idle", "server"};
const label_values token_kinds{"input", "output", "cache_read", "cache_write"};

/// One counter a label value; values outside the set count as the last one.
class counter_set {
public:
  counter_set(prometheus::Registry& registry, const std::string& name, const std::string& help,
              const std::string& label, const label_values& values) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    for (const auto& value : values)
      counters_.emplace(value, &family.Add({{label, value}}));
    last_ = counters_.at(values.back());
  }

  Counter& at(std::string_view value) const {
    const auto found = counters_.find(value);
    return found == counters_.end() ? *last_ : *found->second;
  }

private:
  std::map<std::string, Counter*, std::less<>> counters_;
  Counter* last_ = nullptr;
};

Counter& counter(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

Gauge& gauge(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

Histogram& histogram(prometheus::Registry& registry, const std::string& name,
                     const std::string& help, const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

/// `value` if it is in the set, else the set's last value.
const std::string& bounded(const label_values& set, std::string_view value) {
  const auto found = std::ranges::find(set, value);
  return found == set.end() ? set.back() : *found;
}

} // namespace

struct instruments::families {
  explicit families(std::string_view version) {
    prometheus::BuildGauge()
      .Name("tidemark_build_info")
      .Help("Always 1; the label tells the version")
      .Register(registry)
      .Add({{"version", std::string{version}}})
      .Set(1);
    start_time.Set(process_start_seconds());
  }

  prometheus::Registry registry;
  prometheus::Registry& r = registry;

  // -- HTTP ------------------------------------------------------------------
  prometheus::Family<Counter>& requests =
    prometheus::BuildCounter()
      .Name("tidemark_http_requests_total")
      .Help("Requests answered, by method, route template and status")
      .Register(registry);
  Histogram& request_seconds = histogram(
    r, "tidemark_http_request_seconds",
    "Time from a request's first byte to its answer; event streams not included", call_seconds);
  Gauge& connections = gauge(r, "tidemark_http_connections", "Open connections");
  counter_set limit_hits{r, "tidemark_http_limit_hits_total",
                         "Requests refused or connections closed by a limit", "limit", http_limits};

  // -- log -------------------------------------------------------------------
  Counter& events_appended =
    counter(r, "tidemark_log_events_appended_total", "Events that became durable");
  Counter& bytes_appended =
    counter(r, "tidemark_log_bytes_appended_total", "Bytes of events that became durable");
  Histogram& commit_events =
    histogram(r, "tidemark_log_commit_events", "Events in one group commit", batch_events);
  Histogram& commit_seconds = histogram(
    r, "tidemark_log_commit_seconds", "Duration of one group commit, sync included", disk_seconds);
  Histogram& sync_seconds = histogram(r, "tidemark_log_wal_sync_seconds",
                                      "Duration of one sync of the write-ahead log", disk_seconds);
  Counter& requests_committed =
    counter(r, "tidemark_log_appends_total", "Appends that became durable");
  counter_set commits_failed{r, "tidemark_log_commits_failed_total", "Group commits that failed",
                             "code", error_codes};
  counter_set appends_refused{r, "tidemark_log_appends_refused_total", "Appends refused", "code",
                              error_codes};
  counter_set removed{r, "tidemark_log_events_removed_total",
                      "Events that retention took, whole or what they held", "what", removal_kinds};
  counter_set removed_bytes{r, "tidemark_log_bytes_removed_total",
                            "Bytes of events that retention took, by the rule that asked for it",
                            "reason", removal_reasons};
  Gauge& kept_bytes = gauge(r, "tidemark_log_kept_bytes",
                            "With retain.total_bytes: bytes of all workspaces' events that are to "
                            "stay, at the last look");
  Gauge& kept_beyond =
    gauge(r, "tidemark_log_kept_beyond_bytes",
          "How much of these is beyond retain.total_bytes, because no more may go");
  Gauge& accepting = gauge(r, "tidemark_log_accepting",
                           "1 while the log accepts appends, 0 while it is latched or full");
  Gauge& log_bytes = gauge(r, "tidemark_log_size_bytes", "Size of the log's files");
  Gauge& wal_bytes = gauge(r, "tidemark_log_wal_size_bytes", "Size of the write-ahead log");
  Gauge& free_bytes = gauge(r, "tidemark_log_free_bytes", "Free space of the log's file system");
  Gauge& streams_stored = gauge(r, "tidemark_streams_stored", "Streams in the log");
  Gauge& head = gauge(r, "tidemark_log_head_position", "Position of the last durable event");

  // -- workspaces and turns --------------------------------------------------
  Gauge& active = gauge(r, "tidemark_streams_active", "Workspaces with a live actor");
  Counter& queued = counter(r, "tidemark_turns_queued_total", "Turns accepted");
  Histogram& queue_wait =
    histogram(r, "tidemark_turn_queue_wait_seconds", "Time from acceptance to start", turn_seconds);
  counter_set turns{r, "tidemark_turns_total", "Turns ended, by outcome", "outcome", outcomes};
  Histogram& turn_duration =
    histogram(r, "tidemark_turn_seconds", "Time from start to end of a turn", turn_seconds);
  Gauge& waiting = gauge(r, "tidemark_turns_waiting", "Turns in queues");
  Gauge& running = gauge(r, "tidemark_turns_running", "Turns that run");
  Gauge& pending =
    gauge(r, "tidemark_pending_results", "Results held for clients that dropped off");
  counter_set delivered{r, "tidemark_results_delivered_total",
                        "Results that left the server, by way", "via", deliveries};
  prometheus::Family<Counter>& permissions =
    prometheus::BuildCounter()
      .Name("tidemark_permission_decisions_total")
      .Help("Permission requests decided, by decision and by whom")
      .Register(registry);
  counter_set faults{r, "tidemark_faults_total", "Supervised parts that failed and were restarted",
                     "component", components};

  // -- agents ----------------------------------------------------------------
  counter_set agent_starts{
    r, "tidemark_agent_turn_starts_total",
    "Turns handed to an agent: new process, resumed conversation, live process", "start", starts};
  Histogram& agent_start_seconds =
    histogram(r, "tidemark_agent_start_seconds",
              "Time from handing a turn to the session until the agent's process has the prompt",
              call_seconds);
  Counter& spawn_failures =
    counter(r, "tidemark_agent_spawn_failures_total", "Agent processes that could not be started");
  Gauge& live = gauge(r, "tidemark_agents_live", "Live agent processes");
  counter_set killed{r, "tidemark_agents_killed_total",
                     "Agent processes ended by the server, by reason", "reason", kill_reasons};
  Counter& lines = counter(r, "tidemark_agent_lines_total", "Lines read from agents");
  Counter& line_bytes = counter(r, "tidemark_agent_bytes_total", "Bytes read from agents");
  Counter& noise = counter(r, "tidemark_agent_noise_total", "Lines that were not the protocol");
  prometheus::Family<Counter>& tokens =
    prometheus::BuildCounter()
      .Name("tidemark_tokens_total")
      .Help("Tokens used, by model (at most 16, then `other`) and kind")
      .Register(registry);
  prometheus::Family<Counter>& cost = prometheus::BuildCounter()
                                        .Name("tidemark_cost_usd_total")
                                        .Help("Cost reported by agents, by model")
                                        .Register(registry);

  // -- shells ----------------------------------------------------------------
  Gauge& shells = gauge(r, "tidemark_shells_open", "Shells whose processes live");
  Counter& shells_opened = counter(r, "tidemark_shells_opened_total", "Shells opened");
  counter_set shells_closed{r, "tidemark_shells_closed_total", "Shells ended, by reason", "reason",
                            shell_ends};
  Counter& shell_in = counter(r, "tidemark_shell_input_bytes_total", "Bytes typed into shells");
  Counter& shell_out = counter(r, "tidemark_shell_output_bytes_total", "Bytes shown by shells");
  Counter& shell_cut =
    counter(r, "tidemark_shell_skipped_bytes_total",
            "Output that clients did not get because another one of the shell was faster");

  // -- readers ---------------------------------------------------------------
  Gauge& sse_readers = gauge(r, "tidemark_readers", "Open event streams");
  counter_set events_read{r, "tidemark_events_sent_total",
                          "Events sent to readers: live from the tail or replayed from the log",
                          "source", sources};
  counter_set bytes_read{r, "tidemark_event_bytes_sent_total", "Bytes of events sent to readers",
                         "source", sources};
  Counter& slow = counter(r, "tidemark_slow_readers_total",
                          "Readers dropped because they took no byte within the write timeout");
  counter_set gaps{r, "tidemark_gaps_total",
                   "Resumes that could not go on from where the reader was", "reason", gap_reasons};

  Gauge& consumers = gauge(r, "tidemark_consumers", "Consumers, webhooks included");
  prometheus::Family<Gauge>& consumer_lags =
    prometheus::BuildGauge()
      .Name("tidemark_consumer_lag")
      .Help("Events that a consumer has not acknowledged; of the 1000 consumers furthest behind")
      .Register(registry);
  counter_set webhook_deliveries{r, "tidemark_webhook_deliveries_total",
                                 "Attempts to deliver an event to a webhook, by outcome", "outcome",
                                 webhook_outcomes};

  // -- process ---------------------------------------------------------------
  Gauge& start_time =
    gauge(r, "process_start_time_seconds", "Start of the process since the Unix epoch");
  Gauge& cpu = gauge(r, "process_cpu_seconds", "User and system CPU time");
  Gauge& resident = gauge(r, "process_resident_memory_bytes", "Resident memory");
  Gauge& descriptors = gauge(r, "process_open_fds", "Open file descriptors");
  Gauge& max_descriptors = gauge(r, "process_max_fds", "Limit of open file descriptors");

  std::mutex models_mutex; ///< guards `models`
  std::set<std::string, std::less<>> models;

  std::mutex reader_mutex; ///< guards `read_log` and serialises scrapes
  std::function<log_gauges()> read_log;
  std::function<std::vector<consumer_lag>()> read_consumers; ///< guarded likewise
  std::vector<Gauge*> lag_series;                            ///< of the last scrape; likewise

  /// Consumers come and go, and those that are shown change: the series are made anew.
  void show_consumers() {
    if (!read_consumers)
      return;
    auto lags = read_consumers();
    consumers.Set(static_cast<double>(lags.size()));
    for (auto* series : lag_series)
      consumer_lags.Remove(series);
    lag_series.clear();
    const auto shown = std::min(lags.size(), max_consumer_series);
    std::ranges::partial_sort(lags, lags.begin() + static_cast<std::ptrdiff_t>(shown),
                              std::ranges::greater{}, &consumer_lag::events);
    for (std::size_t i = 0; i < shown; ++i) {
      auto& series =
        consumer_lags.Add({{"workspace", lags[i].workspace}, {"consumer", lags[i].consumer}});
      series.Set(static_cast<double>(lags[i].events));
      lag_series.push_back(&series);
    }
  }

  /// A name is what an agent says: neither their number nor their length is ours to trust.
  std::string bounded_model(std::string_view model) {
    constexpr std::size_t longest_name = 100;
    auto name = repair_utf8(model.substr(0, longest_name));
    const std::lock_guard lock{models_mutex};
    if (models.contains(name))
      return name;
    if (name.empty() || models.size() >= max_models)
      return "other";
    return *models.insert(std::move(name)).first;
  }
};

instruments::instruments(std::string_view version)
  : families_(std::make_unique<families>(version)) {
  families_->accepting.Set(1);
}
instruments::~instruments() = default;

void instruments::http_request(std::string_view method, std::string_view route, int status,
                               seconds took) {
  families_->requests
    .Add({{"method", bounded(methods, method)},
          {"route", std::string{route}},
          {"status", std::to_string(status)}})
    .Increment();
  families_->request_seconds.Observe(took.count());
}

void instruments::http_connections(std::int64_t change) {
  families_->connections.Increment(static_cast<double>(change));
}

void instruments::http_limit_hit(std::string_view limit) {
  families_->limit_hits.at(limit).Increment();
}

void instruments::commit(std::size_t requests, std::size_t events, std::size_t bytes, seconds write,
                         seconds sync) {
  auto& f = *families_;
  f.requests_committed.Increment(static_cast<double>(requests));
  f.events_appended.Increment(static_cast<double>(events));
  f.bytes_appended.Increment(static_cast<double>(bytes));
  f.commit_events.Observe(static_cast<double>(events));
  f.commit_seconds.Observe(write.count());
  f.sync_seconds.Observe(sync.count());
}

void instruments::commit_failed(std::string_view code) {
  families_->commits_failed.at(code).Increment();
}

void instruments::append_refused(std::string_view code) {
  families_->appends_refused.at(code).Increment();
}

void instruments::events_removed(std::size_t whole, std::size_t emptied) {
  families_->removed.at("events").Increment(static_cast<double>(whole));
  families_->removed.at("deltas").Increment(static_cast<double>(emptied));
}

void instruments::bytes_removed(std::string_view reason, std::size_t bytes) {
  families_->removed_bytes.at(reason).Increment(static_cast<double>(bytes));
}

void instruments::bytes_kept(std::size_t bytes, std::size_t beyond) {
  families_->kept_bytes.Set(static_cast<double>(bytes));
  families_->kept_beyond.Set(static_cast<double>(beyond));
}

void instruments::log_accepting(bool accepting) {
  families_->accepting.Set(accepting ? 1 : 0);
}

void instruments::observe_log(std::function<log_gauges()> read) {
  const std::lock_guard lock{families_->reader_mutex};
  families_->read_log = std::move(read);
}

void instruments::workspaces_active(std::int64_t change) {
  families_->active.Increment(static_cast<double>(change));
}

void instruments::turn_queued() {
  families_->queued.Increment();
}

void instruments::turn_started(seconds waited) {
  families_->queue_wait.Observe(waited.count());
}

void instruments::turn_ended(std::string_view outcome, seconds took) {
  families_->turns.at(outcome).Increment();
  families_->turn_duration.Observe(took.count());
}

void instruments::turns_waiting(std::int64_t change) {
  families_->waiting.Increment(static_cast<double>(change));
}

void instruments::turns_running(std::int64_t change) {
  families_->running.Increment(static_cast<double>(change));
}

void instruments::pending_results(std::int64_t change) {
  families_->pending.Increment(static_cast<double>(change));
}

void instruments::result_delivered(std::string_view via) {
  families_->delivered.at(via).Increment();
}

void instruments::permission(std::string_view decision, std::string_view by) {
  static const label_values decisions{"allow", "deny"};
  static const label_values deciders{"client", "policy", "rule", "timeout", "restart", "withdrawn"};
  families_->permissions
    .Add({{"decision", bounded(decisions, decision)}, {"by", bounded(deciders, by)}})
    .Increment();
}

void instruments::fault(std::string_view component) {
  families_->faults.at(component).Increment();
}

void instruments::agent_turn_start(std::string_view start, seconds took) {
  families_->agent_starts.at(start).Increment();
  families_->agent_start_seconds.Observe(took.count());
}

void instruments::agent_spawn_failed() {
  families_->spawn_failures.Increment();
}

void instruments::agents_live(std::int64_t change) {
  families_->live.Increment(static_cast<double>(change));
}

void instruments::agent_killed(std::string_view reason) {
  families_->killed.at(reason).Increment();
}

void instruments::agent_line(std::size_t bytes) {
  families_->lines.Increment();
  families_->line_bytes.Increment(static_cast<double>(bytes));
}

void instruments::agent_noise() {
  families_->noise.Increment();
}

void instruments::usage(std::string_view model, std::int64_t input, std::int64_t output,
                        std::int64_t cache_read, std::int64_t cache_write, double cost_usd) {
  const auto name = families_->bounded_model(model);
  const std::int64_t counts[] = {input, output, cache_read, cache_write};
  for (std::size_t kind = 0; kind < token_kinds.size(); ++kind)
    families_->tokens.Add({{"model", name}, {"kind", token_kinds[kind]}})
      .Increment(static_cast<double>(std::max<std::int64_t>(counts[kind], 0)));
  families_->cost.Add({{"model", name}}).Increment(std::max(cost_usd, 0.0));
}

void instruments::shell_opened() {
  families_->shells.Increment();
  families_->shells_opened.Increment();
}

void instruments::shell_closed(std::string_view reason) {
  families_->shells.Decrement();
  families_->shells_closed.at(reason).Increment();
}

void instruments::shell_input(std::size_t bytes) {
  families_->shell_in.Increment(static_cast<double>(bytes));
}

void instruments::shell_output(std::size_t bytes) {
  families_->shell_out.Increment(static_cast<double>(bytes));
}

void instruments::shell_skipped(std::size_t bytes) {
  families_->shell_cut.Increment(static_cast<double>(bytes));
}

void instruments::readers(std::int64_t change) {
  families_->sse_readers.Increment(static_cast<double>(change));
}

void instruments::events_sent(std::string_view source, std::size_t events, std::size_t bytes) {
  families_->events_read.at(source).Increment(static_cast<double>(events));
  families_->bytes_read.at(source).Increment(static_cast<double>(bytes));
}

void instruments::slow_reader() {
  families_->slow.Increment();
}

void instruments::gap(std::string_view reason) {
  families_->gaps.at(reason).Increment();
}

void instruments::observe_consumers(std::function<std::vector<consumer_lag>()> read) {
  const std::lock_guard lock{families_->reader_mutex};
  families_->read_consumers = std::move(read);
}

void instruments::webhook_delivery(std::string_view outcome) {
  families_->webhook_deliveries.at(outcome).Increment();
}

std::string instruments::expose() const {
  auto& f = *families_;
  const std::lock_guard lock{f.reader_mutex};
  if (f.read_log) {
    const auto log = f.read_log();
    f.log_bytes.Set(static_cast<double>(log.bytes));
    f.wal_bytes.Set(static_cast<double>(log.wal_bytes));
    f.streams_stored.Set(static_cast<double>(log.streams));
    f.head.Set(static_cast<double>(log.head));
    f.free_bytes.Set(static_cast<double>(log.free_bytes));
  }
  f.show_consumers();
  const auto process = read_process_figures();
  f.cpu.Set(process.cpu_seconds);
  f.resident.Set(static_cast<double>(process.resident_bytes));
  f.descriptors.Set(static_cast<double>(process.open_descriptors));
  f.max_descriptors.Set(static_cast<double>(process.max_descriptors));
  return prometheus::TextSerializer{}.Serialize(f.registry.Collect());
}

} // namespace tidemark
