#include "tests/integration/scene.hpp"

#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <stdexcept>
#include <sys/wait.h>

namespace tidemark::test {

using std::chrono::milliseconds;

scene::scene(server_options how) : server(std::move(how)), client(server.url(), server.token()) {}

void scene::kill_and_restart() {
  server.kill();
  server.start();
  reconnect();
}

std::string scene::submit(const std::string& workspace, const std::string& prompt) {
  const http_reply reply = client.post(of(workspace, "turns"), json::object({{"prompt", prompt}}));
  INFO("the server printed:\n" << server.output());
  INFO("answer " << reply.status << ": " << reply.body);
  REQUIRE(reply.status == 202);
  return string_or(reply.parsed(), "turn");
}

json scene::completion(const std::string& workspace, const std::string& turn,
                       milliseconds limit) const {
  return await_event(workspace, "turn.completed", turn, limit);
}

json scene::run(const std::string& workspace, const std::string& prompt) {
  const std::string turn = submit(workspace, prompt);
  return completion(workspace, turn);
}

json scene::await_event(const std::string& workspace, const std::string& type,
                        const std::string& turn, milliseconds limit) const {
  std::string query = "events?raw=true&types=" + type + (turn.empty() ? "" : "&turn=" + turn);
  json found;
  http_reply last;
  const bool came = poll_until(
    [&] {
      last = client.get(of(workspace, query));
      const json& page = last.parsed();
      const json& events = array_at(page, "events");
      found = events.empty() ? json() : events.front();
      return !events.empty();
    },
    limit);
  INFO("waiting for " << type << " of " << workspace << ", last answer " << last.status << ": "
                      << last.body);
  INFO("the server printed:\n" << server.output());
  REQUIRE(came);
  return found;
}

std::vector<json> scene::events(const std::string& workspace, const std::string& query) const {
  std::vector<json> all;
  std::string after; // none: from the first event that is still there
  for (;;) {
    const http_reply reply =
      client.get(of(workspace, "events?limit=1000" + (after.empty() ? "" : "&after=" + after)
                                 + (query.empty() ? "" : "&" + query)));
    if (reply.status == 410) { // removed by retention under this look
      all.clear();
      after.clear();
      continue;
    }
    INFO("answer " << reply.status << ": " << reply.body.substr(0, 500));
    REQUIRE(reply.status == 200);
    const json page = reply.parsed();
    const json& events = array_at(page, "events");
    if (events.empty()) {
      return all;
    }
    all.insert(all.end(), events.begin(), events.end());
    after = std::to_string(int_or(all.back(), "offset", 0));
  }
}

json scene::queue(const std::string& workspace) const {
  return client.get(of(workspace, "queue")).parsed();
}

std::string of(const std::string& workspace, const std::string& rest) {
  return "/api/v1/workspaces/" + workspace + "/" + rest;
}

json message(const std::string& workspace, const std::string& content, const std::string& source) {
  return json::object({{"role", "user"},
                       {"content", content},
                       {"workspace_id", workspace},
                       {"source_chat_key", source}});
}

sse_reader::options message_stream(const std::string& workspace, const std::string& content,
                                   const std::string& source) {
  sse_reader::options how;
  how.method = "POST";
  how.body = message(workspace, content, source).dump();
  return how;
}

std::string joined_chunks(const sse_reader::frames& frames) {
  std::string text;
  for (const json& chunk : of_type(frames, "chunk")) {
    text += string_or(chunk, "chunk");
  }
  return text;
}

std::vector<json> of_type(const sse_reader::frames& frames, const std::string& type) {
  std::vector<json> found;
  for (const sse_frame& frame : frames) {
    json data = frame.parsed();
    if (string_or(data, "type") == type) {
      found.push_back(std::move(data));
    }
  }
  return found;
}

bool dense_from(const std::vector<json>& events, std::uint64_t first) {
  return std::all_of(events.begin(), events.end(), [&](const json& e) {
    return static_cast<std::uint64_t>(int_or(e, "offset", -1)) == first++;
  });
}

bool dense_from(const sse_reader::frames& events, std::uint64_t first) {
  return std::all_of(events.begin(), events.end(),
                     [&](const sse_frame& frame) { return frame.offset() == first++; });
}

std::string command_text(const scene& stage, const std::string& arguments) {
  const auto port = stage.server.url().substr(stage.server.url().rfind(':') + 1);
  return "cd " + stage.server.path("") + " && exec env -i HOME=" + stage.server.path("home")
         + " WORKSPACE_ROOT=" + stage.server.path("workspaces")
         + " SETTINGS_PATH=" + stage.server.path("settings.json")
         + " TIDEMARK_DATA_DIR=" + stage.server.path("data") + " TIDEMARK_AGENT=demo PORT=" + port
         + " TIDEMARK_SERVER=" + stage.server.url() + " INTERNAL_API_TOKEN=" + stage.server.token()
         + " " + program("tidemark") + " " + arguments + " 2>&1";
}

command_result run_command(const scene& stage, const std::string& arguments) {
  const auto command = command_text(stage, arguments);
  command_result done;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) // no REQUIRE: Catch2 takes assertions of one thread only
    throw std::runtime_error("cannot start " + command);
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    done.out += static_cast<char>(c);
  }
  done.code = WEXITSTATUS(::pclose(pipe));
  return done;
}

const json& data_of(const json& e) {
  return object_at(e, "data");
}

std::string text_of(const json& completed) {
  return string_or(data_of(completed), "text");
}

std::string outcome_of(const json& completed) {
  return string_or(data_of(completed), "outcome");
}

std::size_t count_of(const std::vector<json>& events, const std::string& type) {
  return static_cast<std::size_t>(std::count_if(
    events.begin(), events.end(), [&](const json& e) { return string_or(e, "type") == type; }));
}

} // namespace tidemark::test
