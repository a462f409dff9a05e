#include "app/server.hpp"

#include "actors/agent_host.hpp"
#include "actors/consumer.hpp"
#include "actors/directory.hpp"
#include "actors/janitor.hpp"
#include "actors/log_writer.hpp"
#include "actors/shell_host.hpp"
#include "actors/turn_files.hpp"
#include "actors/webhooks.hpp"
#include "app/exit_code.hpp"
#include "app/process_limits.hpp"
#include "app/shutdown.hpp"
#include "app/webhook_sender.hpp"
#include "app/webhook_url.hpp"
#include "http/auth.hpp"
#include "http/server.hpp"
#include "process/orphans.hpp"
#include "storage/instance.hpp"
#include "storage/staged_backups.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

struct actor_config : caf::actor_system_config {
  explicit actor_config(const settings& what) {
    const auto cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    // `sharing`: the default policy makes calls from I/O threads several times slower and polls when idle.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", what.worker_threads == 0 ? cores : what.worker_threads);
    set("scheduler.max-throughput", std::size_t{100});
  }
};

int cannot_start(const error& why) {
  logging::error("server", "cannot start: {}", why.describe());
  return exit_cannot_start;
}

expected<void> check_address(const http_options& http) {
  if (http.asks_token() || is_loopback(http.host))
    return {};
  if (!http.insecure_no_auth)
    return fail(
      errc::invalid_argument,
      fmt::format(
        "{} is no loopback address and no token is set: set INTERNAL_API_TOKEN, or listen on "
        "127.0.0.1 (--host)",
        http.host));
  logging::warning(
    "server", "serving {} WITHOUT A TOKEN: anyone who reaches it can run commands here", http.host);
  return {};
}

void check_limits(const settings& what) {
  const auto have = raise_open_files();
  const auto need =
    needed_open_files(what.http.max_connections, what.agent.max_live + what.shell.max);
  if (have < need)
    logging::warning(
      "server",
      "the limit of open files is {}, full load needs {}: raise it (ulimit -n, LimitNOFILE=) "
      "or lower http.max_connections",
      have, need);
}

void clear_leftovers(const settings& what) {
  const auto killed = kill_marked(what.agent.instance);
  if (!killed.empty())
    logging::warning("server", "killed {} processes that agents of an earlier run had left",
                     killed.size());
}

/// Ends with the reason of the first of the watched actors that goes down before shutdown.
caf::behavior watch(caf::event_based_actor* self, log_writer_actor writer,
                    directory_actor directory, webhooks_actor webhooks) {
  self->monitor(writer);
  self->monitor(directory);
  self->monitor(webhooks);
  self->set_down_handler([self, writer_address = writer.address(),
                          webhooks_address = webhooks.address()](const caf::down_msg& down) {
    const auto part = down.source == writer_address     ? "log writer"
                      : down.source == webhooks_address ? "webhooks"
                                                        : "directory";
    fail_server(fmt::format("the {} has failed: {}", part, self->system().render(down.reason)));
  });
  return {[](caf::unit_t) {}};
}

/// How far every consumer is behind. Blocks on the disk.
std::vector<instruments::consumer_lag> lags_in(const event_log& log) {
  std::vector<instruments::consumer_lag> out;
  const auto consumers = all_consumers(log);
  if (!consumers) {
    logging::error("server", "the consumers cannot be read: {}", consumers.error().describe());
    return out;
  }
  for (const auto& [workspace, all] : *consumers)
    if (const auto stream = log.find(workspace))
      for (const auto& [name, who] : all)
        out.push_back({workspace, name, lag_of(who, *stream)});
  return out;
}

template <class Handle>
void stop_actor(caf::scoped_actor& self, const Handle& who, std::string_view name,
                std::chrono::milliseconds limit) {
  self->request(who, limit, stop_atom::value)
    .receive([](bool) {},
             [&](const caf::error& why) {
               logging::warning("server", "{} did not end in order: {}", name,
                                self->system().render(why));
             });
}

/// The running server. Members stand in the order of their start; destruction is the reverse.
class server {
public:
  server(const settings& what, event_log& log, instruments& metrics)
    : what_(what),
      log_(log),
      metrics_(metrics),
      events_(hub::limits{what.tail_stream_bytes, what.tail_bytes}),
      blocking_(what.blocking_threads),
      background_(log),
      backups_(log, what.log.directory),
      backups_timer_(background_.get_executor()),
      actors_config_(what),
      actors_(actors_config_),
      agents_(actors_, what.agent, metrics),
      terminals_(actors_, what.shell, what.agent, metrics) {
    metrics_.observe_log([&log, directory = what.log.directory] {
      const auto figures = log.figures();
      std::error_code ignored;
      const auto space = std::filesystem::space(directory, ignored);
      return instruments::log_gauges{figures.bytes_on_disk, figures.wal_bytes, figures.streams,
                                     figures.head.value, ignored ? 0 : space.available};
    });
    metrics_.observe_consumers([&log] { return lags_in(log); });
    spawn_actors();
    watch_backups();
  }

  /// Serves from here on. Returns the port.
  expected<std::uint16_t> start() {
    std::error_code failed; // then the path stays as it was given
    const auto root = std::filesystem::weakly_canonical(what_.agent.workspace_root, failed);
    services_.reset(new http_services{what_.http,
                                      log_,
                                      events_,
                                      metrics_,
                                      directory_,
                                      probe_,
                                      blocking_,
                                      background_,
                                      failed ? what_.agent.workspace_root : root.string(),
                                      TIDEMARK_VERSION,
                                      what_.agent.rights,
                                      stopping_,
                                      quiet_,
                                      what_.agent.settings_path,
                                      patches_,
                                      shells_,
                                      what_.shell.max_message_bytes,
                                      what_.rules.max_prompt_bytes,
                                      webhooks_,
                                      &backups_,
                                      check_webhook_url,
                                      what_.retain});
    http_ = std::make_unique<http_server>(actors_, *services_);
    auto port = http_->start();
    if (port)
      caf::anon_send(probe_, probe_atom::value);
    return port;
  }

  /// The ordered end: no new work, running turns end as interrupted and durable, their readers hear
  /// of it, then everything beneath them goes.
  void stop(shutdown_watchdog& watchdog) {
    const auto began = std::chrono::steady_clock::now();
    watchdog.now_ending("the listener");
    if (http_)
      http_->refuse_new();
    caf::anon_send_exit(watch_, caf::exit_reason::user_shutdown);
    {
      caf::scoped_actor self{actors_};
      watchdog.now_ending("the webhooks");
      // It uses what goes next, so nothing goes before it has ended; the watchdog bounds that.
      stop_actor(self, webhooks_, "webhooks", 1h);
      webhook_sender_.reset();
      watchdog.now_ending("the janitor");
      if (janitor_)
        stop_actor(self, janitor_, "janitor", 2s);
      watchdog.now_ending("the shells");
      if (shells_) // before the workspaces, whose events tell of their end
        stop_actor(self, shells_, "shells", what_.shell.hangup_grace + 2s);
      watchdog.now_ending("the workspaces");
      stop_actor(self, directory_, "directory", 5s);
      watchdog.now_ending("the connections");
      if (http_)
        http_->stop(time_for_readers(began));
      watchdog.now_ending("the agent probe and the log writer");
      stop_actor(self, probe_, "probe", 1s);
      if (patches_)
        stop_actor(self, patches_, "patch reader", 1s);
      stop_actor(self, writer_, "log writer", 1s);
    }
    watchdog.now_ending("the I/O threads");
    http_.reset();
    services_.reset();
    if (shells_)
      caf::anon_send_exit(shells_, caf::exit_reason::user_shutdown);
    shells_ = shells_actor{};
    watchdog.now_ending("work on the disk");
    blocking_.stop();
    background_.stop();
    blocking_.join();
    background_.join();
    // A handle that is left over would keep the actor system from ending.
    janitor_ = janitor_actor{};
    watch_ = caf::actor{};
    probe_ = agent_probe_actor{};
    patches_ = patch_reader_actor{};
    webhooks_ = webhooks_actor{};
    directory_ = directory_actor{};
    writer_ = log_writer_actor{};
    watchdog.now_ending("the actors and their agents");
  }

private:
  /// How long readers may take to get the last events: what the parts after them leave of the limit.
  [[nodiscard]] std::chrono::milliseconds
  time_for_readers(std::chrono::steady_clock::time_point began) const {
    const auto used = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
    const std::chrono::milliseconds left = what_.shutdown_limit - used - 2500ms;
    return std::clamp<std::chrono::milliseconds>(left, 500ms, 3000ms);
  }

  /// A copy that its client has forgotten keeps files that the log no longer needs.
  void watch_backups() {
    backups_timer_.expires_after(1min);
    backups_timer_.async_wait([this](const boost::system::error_code& ended) {
      if (ended)
        return;
      backups_.expire();
      watch_backups();
    });
  }

  void spawn_actors() {
    log_writer_deps writer_deps{log_, events_, metrics_};
    writer_deps.max_batch_events = what_.batch_events;
    writer_deps.max_batch_bytes = what_.batch_bytes;
    writer_ = spawn_log_writer(actors_, writer_deps);
    auto rules = what_.rules;
    rules.holds_turns = what_.passive;
    directory_deps deps{log_,
                        writer_,
                        metrics_,
                        rules,
                        what_.agent.workspace_root,
                        [this](const std::string& workspace, workspace_actor owner) {
                          return agents_.spawn_session(workspace, std::move(owner));
                        }};
    deps.idle_after = what_.workspace_idle;
    deps.max_restarts = what_.workspace_restarts;
    directory_ = spawn_directory(actors_, std::move(deps));
    probe_ = agents_.spawn_probe();
    if (what_.agent.snapshots || has_turn_files(agents_.options())) // which go with their turns
      patches_ = agents_.spawn_patch_reader();
    if (what_.shell.enabled)
      shells_ = terminals_.spawn(directory_);
    auto pushing = what_.webhooks;
    pushing.enabled = !what_.passive;
    webhooks_ =
      spawn_webhooks(actors_, {log_, events_, directory_, metrics_, *webhook_sender_, pushing});
    if (!what_.passive) {
      janitor_deps upkeep{log_, writer_, directory_, metrics_, what_.retain};
      upkeep.total_bytes = what_.retain_total;
      upkeep.recordings = patches_;
      upkeep.every = what_.retain_sweep;
      janitor_ = spawn_janitor(actors_, std::move(upkeep));
    }
    watch_ = actors_.spawn(watch, writer_, directory_, webhooks_);
  }

  const settings& what_;
  event_log& log_;
  instruments& metrics_;
  hub events_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> quiet_ = false;
  boost::asio::thread_pool blocking_;
  background_pool background_;
  staged_backups backups_;
  boost::asio::steady_timer backups_timer_;
  actor_config actors_config_;
  caf::actor_system actors_;
  agent_host agents_;
  shell_host terminals_;
  log_writer_actor writer_;
  directory_actor directory_;
  janitor_actor janitor_; ///< empty: the server is passive
  agent_probe_actor probe_;
  patch_reader_actor patches_; ///< empty: nothing is recorded
  shells_actor shells_;        ///< empty: switched off
  std::unique_ptr<webhook_sender> webhook_sender_ = make_webhook_sender(what_.webhooks);
  webhooks_actor webhooks_;
  caf::actor watch_;
  std::unique_ptr<http_services> services_;
  std::unique_ptr<http_server> http_;
};

/// Reports what each commit cost.
rocks_log_options measured(rocks_log_options options, instruments& metrics) {
  options.on_commit = [&metrics](const commit_figures& f) {
    metrics.commit(f.requests, f.events, f.bytes, f.write, f.sync);
  };
  return options;
}

expected<std::string> prepare_directories(const settings& what) {
  for (const auto& directory : {what.agent.workspace_root, what.agent.state_directory}) {
    std::error_code failed;
    std::filesystem::create_directories(directory, failed);
    if (failed)
      return fail(errc::io, fmt::format("cannot create {}: {}", directory, failed.message()));
  }
  return load_or_create_instance(what.data_directory);
}

/// Serves until told to stop and leaves `watchdog` behind, which guards what is still to end.
int serve(const settings& what, server& running, std::optional<shutdown_watchdog>& watchdog,
          std::ostream& out) {
  const auto guard = [&]() -> shutdown_watchdog& {
    return watchdog.emplace(what.shutdown_limit, exit_failed,
                            [&what] { kill_marked(what.agent.instance); });
  };
  const auto port = running.start();
  if (!port) {
    running.stop(guard());
    return cannot_start(port.error());
  }
  out << "tidemark listening on " << server_url(what.http.host, *port) << std::endl;
  const auto why = wait_for_stop();
  if (why.fault.empty())
    logging::info("server", "stopping on signal {}", why.signal);
  else
    logging::error("server", "stopping: {}", why.fault);
  running.stop(guard());
  return why.fault.empty() ? exit_ok : exit_cannot_start;
}

} // namespace

std::string server_url(std::string_view host, std::uint16_t port) {
  const bool bare_v6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  return fmt::format("http://{}{}{}:{}", bare_v6 ? "[" : "", host, bare_v6 ? "]" : "", port);
}

int run_server(const settings& given, std::ostream& out) {
  take_signals();
  logging::set_level(given.log_level);
  if (auto allowed = check_address(given.http); !allowed)
    return cannot_start(allowed.error());
  check_limits(given);
  auto what = given;
  // Before the log, so that it goes after it: closing the log can hang as well.
  std::optional<shutdown_watchdog> watchdog;
  instruments metrics{TIDEMARK_VERSION};
  // The log's lock comes first: whoever holds it may kill what carries the directory's mark.
  auto log = open_rocks_log(measured(what.log, metrics));
  if (!log)
    return cannot_start(log.error());
  auto instance = prepare_directories(what);
  if (!instance)
    return cannot_start(instance.error());
  what.agent.instance = *instance;
  clear_leftovers(what);
  if (given.passive)
    logging::warning("server", "passive: no queued task starts, no webhook is sent, and retention "
                               "removes nothing until it is started without --passive");
  logging::info("server", "tidemark {} with agent {} ({}), data in {}", TIDEMARK_VERSION,
                what.agent.kind, what.agent.binary, what.data_directory);
  int code = exit_ok;
  {
    server running{what, **log, metrics};
    code = serve(what, running, watchdog, out);
  }
  watchdog->now_ending("the log");
  // Nothing an agent started outlives the server, whatever went wrong above.
  clear_leftovers(what);
  return code;
}

} // namespace tidemark
