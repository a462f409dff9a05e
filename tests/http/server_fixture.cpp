#include "server_fixture.hpp"

#include "replay/audit_terms.hpp"

#include <catch2/catch.hpp>

#include <thread>

namespace tidemark::testing {

using clock = std::chrono::steady_clock;

struct server_fixture::parts {
  parts(server_fixture& f, script commands)
    : system(configure(config)),
      pool(2),
      background(f.seen) {
    directory =
      system.spawn([commands](directory_actor::pointer) -> directory_actor::behavior_type {
        return {
          [commands](route_atom, const std::string& name, bool create,
                     const command_ptr& what) -> reply_ptr {
            if (!commands)
              return std::make_shared<const expected<answer>>(
                fail(errc::not_found, "no such workspace"));
            return std::make_shared<const expected<answer>>(commands(name, create, *what));
          },
          [](list_atom) { return std::make_shared<const std::vector<workspace_summary>>(); },
          [](summary_atom, const summary_ptr&) {},
          [](tick_atom) {},
          [](restart_atom, const std::string&) {},
          [](stop_atom) { return true; },
        };
      });
    probe = system.spawn([](agent_probe_actor::pointer) -> agent_probe_actor::behavior_type {
      return {
        [](list_atom) { return std::make_shared<const probe_result>(); },
        [](probe_atom) { return std::make_shared<const probe_result>(); },
        [](stop_atom) { return true; },
      };
    });
    services.reset(new http_services{f.options, f.seen, f.events, f.metrics, directory, probe, pool,
                                     background, "/tmp", "1.2.3", policy::agent, f.stopping,
                                     f.quiet});
    server = std::make_unique<http_server>(system, *services);
  }

  static caf::actor_system_config& configure(caf::actor_system_config& c) {
    c.set("scheduler.policy", caf::atom("sharing"));
    c.set("scheduler.max-threads", std::size_t{2});
    return c;
  }

  caf::actor_system_config config;
  caf::actor_system system;
  boost::asio::thread_pool pool;
  background_pool background;
  directory_actor directory;
  agent_probe_actor probe;
  std::unique_ptr<http_services> services;
  std::unique_ptr<http_server> server;
  bool stopped = false;
};

server_fixture::server_fixture(http_options with, script commands) : options(std::move(with)) {
  options.port = 0;
  parts_ = std::make_unique<parts>(*this, std::move(commands));
  const auto started = parts_->server->start();
  REQUIRE(started);
  port = *started;
}

server_fixture::~server_fixture() {
  stop();
  caf::anon_send_exit(parts_->directory, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(parts_->probe, caf::exit_reason::user_shutdown);
  parts_->services.reset(); // its handles would keep the actor system from ending
  parts_->directory = directory_actor{};
  parts_->probe = agent_probe_actor{};
}

void server_fixture::begin_stop() {
  parts_->server->refuse_new();
}

void server_fixture::stop(std::chrono::milliseconds limit) {
  if (!std::exchange(parts_->stopped, true)) {
    parts_->server->stop(limit);
    parts_->pool.join();
    parts_->server.reset();
  }
}

std::string server_fixture::get(const std::string& target, const std::string& headers) {
  return request("GET", target, {}, headers);
}

std::string server_fixture::request(const std::string& method, const std::string& target,
                                    const std::string& body, const std::string& headers) {
  raw_client client{port};
  auto text =
    method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + headers;
  if (!body.empty() || method == "POST")
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  client.send(text + "\r\n" + body);
  return client.read_all();
}

stream_info server_fixture::append(const std::string& workspace, std::size_t count, bool ends,
                                   std::size_t data_bytes) {
  auto stream = log.acquire(workspace);
  REQUIRE(stream);
  append_request request;
  request.stream = stream->id;
  request.incarnation = stream->incarnation;
  request.expected = stream->head;
  request.ends_stream = ends;
  for (std::size_t i = 0; i < count; ++i) {
    new_event e;
    e.type = i % 2 == 0 ? "item.delta" : "item.completed";
    e.turn = i % 2 == 0 ? "turn-a" : "turn-b";
    e.time = timestamp{1'000'000'000};
    e.data = R"({"text":")" + std::string(data_bytes, 'x') + "\"}";
    e.raw = std::make_shared<const std::string>("raw line");
    e.terms = audit_terms(workspace, e.type, e.turn, json::object());
    request.events.push_back(std::move(e));
  }
  const auto requests = std::vector<append_request>{request};
  const auto results = log.commit(requests);
  REQUIRE(results.front());
  std::vector<event_ptr> published;
  for (std::size_t i = 0; i < count; ++i) {
    auto e = event{};
    e.workspace = workspace;
    e.stream = stream->id;
    e.incarnation = stream->incarnation;
    e.at = results.front()->first.plus(i);
    e.global = results.front()->first_global.plus(i);
    e.time = request.events[i].time;
    e.type = request.events[i].type;
    e.turn = request.events[i].turn;
    e.data = request.events[i].data;
    e.raw = request.events[i].raw;
    e.hash = results.front()->hashes[i];
    published.push_back(std::make_shared<const event>(std::move(e)));
  }
  const auto ended = std::vector<stream_id>{stream->id};
  events.publish(published,
                 ends ? std::span<const stream_id>{ended} : std::span<const stream_id>{});
  return *log.find(workspace);
}

bool server_fixture::eventually(const std::function<bool()>& what) {
  const auto deadline = clock::now() + std::chrono::seconds{10};
  while (!what()) {
    if (clock::now() > deadline)
      return false;
    std::this_thread::yield();
  }
  return true;
}

double server_fixture::series(const std::string& line_start) {
  const auto text = "\n" + metrics.expose();
  const auto at = text.find("\n" + line_start);
  if (at == std::string::npos)
    return 0;
  const auto end = text.find('\n', at + 1);
  const auto line = text.substr(at + 1, end - at - 1);
  return std::atof(line.substr(line.rfind(' ') + 1).c_str());
}

} // namespace tidemark::testing
