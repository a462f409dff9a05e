#include "tests/faults/kill_run.hpp"

#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

namespace tidemark::test {
namespace {

using std::chrono::milliseconds;

/// So many turns a life that the queues empty in the time that a life has.
constexpr int turns_a_life = 3;

std::string some_prompt(std::mt19937_64& dice) {
  const auto words =
    "WORDS " + std::to_string(10 + dice() % 100) + " " + std::to_string(dice() % 3);
  switch (dice() % 8) {
  case 0: return "TOOL sleep 0.0" + std::to_string(dice() % 10) + "; echo x >> tool.txt\n" + words;
  case 1: return "TOOL sleep 30";
  case 2: return "ORPHAN 300\nTOOL sleep 30";
  case 3: return "IGNORETERM\n" + words;
  case 4: return "BACKGROUND 60000\n" + words;
  default: return words;
  }
}

class writer final : public participant {
public:
  void join(scene&, workspace_set&) override { submitted_ = 0; }

  void act(scene& stage, workspace_set& with, std::mt19937_64& dice) override {
    if (unanswered_.empty() && submitted_ >= turns_a_life) {
      (void) stage.queue(with.any(dice));
      return;
    }
    if (unanswered_.empty()) {
      unanswered_ = {with.any(dice), "key-" + std::to_string(dice()), some_prompt(dice)};
    }
    const http_reply reply = stage.client.post(of(unanswered_.workspace, "turns"),
                                               json::object({{"prompt", unanswered_.prompt}}),
                                               {{"Idempotency-Key", unanswered_.key}});
    if (reply.status != 202 && reply.status != 200) {
      return;
    }
    ++submitted_;
    const json told = reply.parsed();
    answers_.push_back({unanswered_.workspace, string_or(told, "turn"),
                        static_cast<std::uint64_t>(int_or(told, "offset", 0))});
    unanswered_ = {};
  }

  std::string killed(scene&, workspace_set& with) override {
    for (const auto& [workspace, turn, offset] : std::exchange(answers_, {})) {
      with.histories[workspace].acknowledged(turn, offset);
    }
    if (!with.histories.contains(unanswered_.workspace)) {
      unanswered_ = {};
    }
    return {};
  }

  std::string check(scene&, workspace_set&) override { return {}; }

private:
  struct request {
    std::string workspace, key, prompt;
    [[nodiscard]] bool empty() const { return key.empty(); }
  };
  struct answer {
    std::string workspace, turn;
    std::uint64_t offset = 0;
  };

  request unanswered_;
  int submitted_ = 0;
  std::vector<answer> answers_;
};

class workspace_client final : public participant {
public:
  void join(scene&, workspace_set&) override {}

  void act(scene& stage, workspace_set& with, std::mt19937_64& dice) override {
    if (!stream_) {
      stream_ = std::make_unique<sse_reader>(
        stage.client, message_stream_path,
        message_stream(with.any(dice), "WORDS " + std::to_string(1 + dice() % 60) + " 1", "v1"));
    }
    if (stream_->wait_for_end(milliseconds(20))) {
      stream_.reset();
    }
    const auto& workspace = with.any(dice);
    if (dice() % 4 == 0) { // takes what waits for it; a peek would leave it
      (void) stage.client.get(of(workspace, "pending-results"));
    }
  }

  std::string killed(scene&, workspace_set&) override {
    stream_.reset();
    return {};
  }
  std::string check(scene&, workspace_set&) override { return {}; }

private:
  std::unique_ptr<sse_reader> stream_;
};

class followers final : public participant {
public:
  void join(scene& stage, workspace_set& with) override {
    for (const auto& [name, seen] : with.histories) {
      sse_reader::options how;
      if (seen.reader_at() > 0) {
        how.headers["Last-Event-ID"] = last_ids_.at(name);
      }
      readers_[name] = std::make_unique<sse_reader>(stage.client, of(name, "events"), how);
    }
  }

  void act(scene&, workspace_set&, std::mt19937_64&) override {
    std::this_thread::sleep_for(milliseconds(5)); // the readers have threads of their own
  }

  std::string killed(scene&, workspace_set& with) override {
    std::string problem;
    for (auto& [name, reader] : std::exchange(readers_, {})) {
      reader->wait_for_end();
      for (const sse_frame& frame : reader->events()) {
        auto found = with.histories[name].shown(frame.offset(), frame.data);
        last_ids_[name] = frame.id;
        problem = problem.empty() && !found.empty() ? name + ": " + found : problem;
      }
    }
    return problem;
  }

  std::string check(scene&, workspace_set&) override { return {}; }

private:
  std::map<std::string, std::unique_ptr<sse_reader>> readers_;
  std::map<std::string, std::string> last_ids_;
};

class orphan_watch final : public participant {
public:
  orphan_watch(milliseconds& slowest, std::size_t& orphans)
    : slowest_(slowest),
      orphans_(orphans) {}

  void join(scene& stage, workspace_set&) override {
    mark_ = "TIDEMARK_INSTANCE=" + first_line(stage.server.path("data") + "/instance");
  }

  // A guard that is stopped does not see the server die, and so leaves what it guards behind.
  void act(scene&, workspace_set&, std::mt19937_64& dice) override {
    std::this_thread::sleep_for(milliseconds(150)); // looking at all processes is not cheap
    for (const pid_t pid : processes_with_environment(mark_)) {
      if (is_guard(pid) && dice() % 2 == 0) {
        ::kill(pid, SIGSTOP);
      }
    }
  }

  std::string killed(scene&, workspace_set&) override {
    left_ = processes_with_environment(mark_);
    for (const pid_t pid : left_) {
      if (is_guard(pid)) {
        ::kill(pid, SIGKILL);
      }
    }
    orphans_ += left_.size();
    return {};
  }

  std::string check(scene&, workspace_set&) override {
    const auto began = std::chrono::steady_clock::now();
    const auto gone = [&] {
      return std::none_of(left_.begin(), left_.end(), [](pid_t pid) { return process_alive(pid); });
    };
    if (!poll_until(gone, std::chrono::seconds(5))) {
      return "what agents of the killed server had left still runs 5 s after the new start";
    }
    slowest_ = std::max(
      slowest_, std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began));
    return {};
  }

private:
  static bool is_guard(pid_t pid) {
    return read_file("/proc/" + std::to_string(pid) + "/comm") == "tidemark-guard\n";
  }

  static std::string first_line(const std::string& path) {
    const auto text = read_file(path);
    return text.substr(0, text.find('\n'));
  }

  milliseconds& slowest_;
  std::size_t& orphans_;
  std::string mark_;
  std::vector<pid_t> left_;
};

} // namespace

workspace_set::workspace_set(int part, int count) {
  for (int i = 0; i < count; ++i) {
    names.push_back("crash-" + std::to_string(part) + "-" + std::to_string(i));
    histories[names.back()];
  }
}

std::unique_ptr<participant> make_writer() {
  return std::make_unique<writer>();
}

std::unique_ptr<participant> make_workspace_client() {
  return std::make_unique<workspace_client>();
}

std::unique_ptr<participant> make_readers() {
  return std::make_unique<followers>();
}

std::unique_ptr<participant> make_orphan_watch(milliseconds& slowest, std::size_t& orphans) {
  return std::make_unique<orphan_watch>(slowest, orphans);
}

std::string take_new_events(const scene& stage, workspace_set& with, std::uint64_t& checked) {
  for (auto& [name, known] : with.histories) {
    for (;;) {
      const auto reply =
        stage.client.get(of(name, "events?limit=1000&after=" + std::to_string(known.head())));
      const json page = reply.parsed();
      const json& events = array_at(page, "events");
      if (reply.status != 200 && !(reply.status == 404 && known.head() == 0)) {
        return name + ": " + std::to_string(reply.status) + " " + reply.body;
      }
      for (const json& e : events) {
        if (auto problem = known.take(e); !problem.empty()) {
          return name + ": " + problem;
        }
      }
      checked += events.size();
      if (events.empty()) {
        break;
      }
    }
    if (auto lost = known.missing(); !lost.empty()) {
      return name + ": " + lost;
    }
  }
  return {};
}

std::set<std::string> pending_results(const scene& stage, const std::string& workspace) {
  std::set<std::string> found;
  const json all = stage.client.get(of(workspace, "pending-results?ack=false")).parsed();
  for (const json& each : array_at(all, "results")) {
    found.insert(string_or(each, "id"));
  }
  return found;
}

} // namespace tidemark::test
