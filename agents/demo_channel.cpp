#include "agents/demo_channel.hpp"

#include "agents/demo_protocol.hpp"
#include "agents/line_framer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace tidemark {
namespace {

std::string prompt_text(const json& message) {
  const auto content = message.find("content");
  if (content == message.end()) {
    return {};
  }
  if (content->is_string()) {
    return content->get<std::string>();
  }
  std::string text;
  for (const json& block : array_at(message, "content")) {
    text += (text.empty() ? "" : "\n") + string_or(block, "text");
  }
  return text;
}

} // namespace

void demo_output::write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  while (!bytes.empty()) {
    const std::size_t piece = piece_ == 0 ? bytes.size() : std::min(bytes.size(), piece_.load());
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), piece);
    if (written < 0 && errno != EINTR) {
      ::_exit(1);
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

demo_input::demo_input(demo_output& out, request_handler on_request)
  : out_(out),
    on_request_(std::move(on_request)),
    wake_(::eventfd(0, EFD_CLOEXEC)) {}

void demo_input::start() {
  std::thread([this] { read_all(); }).detach();
}

void demo_input::read_all() {
  constexpr std::size_t max_line = std::size_t{256} << 20;
  line_framer lines(max_line);
  const auto take = [this](std::string_view line, bool, std::uint64_t) { take_line(line); };
  std::array<char, 64 << 10> buffer{};
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    lines.feed(std::string_view(buffer.data(), static_cast<std::size_t>(got)), take);
  }
  lines.finish(take);
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void demo_input::take_line(std::string_view line) {
  const auto parsed = parse_json(line);
  if (!parsed || !parsed->is_object()) {
    return;
  }
  const std::string type = string_or(*parsed, "type");
  if (type == "control_request") {
    take_request(*parsed);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (type == "user") {
    if (!busy_) {
      busy_ = true;
      clear_interrupt();
    }
    prompts_.push_back(prompt_text(object_at(*parsed, "message")));
  } else if (type == "control_response") {
    const json& response = object_at(*parsed, "response");
    answers_[string_or(response, "request_id")] = response;
  }
  changed_.notify_all();
}

void demo_input::take_request(const json& message) {
  const std::string id = string_or(message, "request_id");
  const json& request = object_at(message, "request");
  if (string_or(request, "subtype") != "interrupt") {
    on_request_(id, request);
    return;
  }
  if (!deaf_ && !losing_) {
    out_.write(control_success(id, nullptr));
    interrupt();
  }
}

void demo_input::interrupt() {
  const std::lock_guard lock(mutex_);
  if (!busy_ || interrupted_) {
    return;
  }
  interrupted_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  changed_.notify_all();
}

bool demo_input::await_prompt(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, until, [this] { return !prompts_.empty() || ended_; });
}

std::optional<std::string> demo_input::next_prompt() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !prompts_.empty() || (ended_ && !deaf_); });
  if (prompts_.empty()) {
    return std::nullopt;
  }
  std::string prompt = std::move(prompts_.front());
  prompts_.pop_front();
  return prompt;
}

bool demo_input::pause(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return interrupted_.load(); });
  return !interrupted_;
}

std::optional<json> demo_input::await_answer(const std::string& request_id) {
  std::unique_lock lock(mutex_);
  changed_.wait(
    lock, [&] { return answers_.contains(request_id) || interrupted_ || (ended_ && !deaf_); });
  const auto found = answers_.find(request_id);
  if (found == answers_.end()) {
    return std::nullopt;
  }
  json answer = std::move(found->second);
  answers_.erase(found);
  return answer;
}

void demo_input::end_turn() {
  const std::lock_guard lock(mutex_);
  clear_interrupt();
  busy_ = !prompts_.empty();
}

void demo_input::clear_interrupt() {
  if (interrupted_) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
  }
  interrupted_ = false;
}

} // namespace tidemark
