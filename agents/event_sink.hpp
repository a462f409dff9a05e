#pragma once

#include "agents/adapter.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tidemark {

/// Makes ids that no other adapter of this workspace makes: a late answer to a permission of an
/// earlier process must not hit one of this process.
class id_source {
public:
  /// `prefix` is unique to one process of the agent.
  explicit id_source(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string next() { return prefix_ + "-" + std::to_string(++last_); }

private:
  std::string prefix_;
  std::uint64_t last_ = 0;
};

/// Collects the events of one input; the first one carries the agent's line.
class event_sink {
public:
  /// Events that came from no line, or whose line was not kept.
  explicit event_sink(adapter_output& out) : out_(out) {}
  event_sink(adapter_output& out, std::string_view line)
    : out_(out),
      line_(line),
      has_line_(true) {}

  void emit(std::string type, json data) {
    agent_event made{std::move(type), std::move(data), nullptr};
    if (std::exchange(has_line_, false))
      made.raw = std::make_shared<const std::string>(line_);
    out_.events.push_back(std::move(made));
  }

  /// `agent.notice` with a code for programs and a text for people.
  void notice(std::string_view code, std::string_view text, json data = json::object()) {
    data["code"] = std::string{code};
    data["text"] = std::string{text};
    emit("agent.notice", std::move(data));
  }

  /// `agent.opaque`: valid, but of a form that is not ours to read.
  void opaque(std::string_view type, std::string_view subtype) {
    constexpr std::size_t longest_name = 200;
    auto data = json::object();
    data["type"] = std::string{type.substr(0, longest_name)};
    data["subtype"] = std::string{subtype.substr(0, longest_name)};
    emit("agent.opaque", std::move(data));
  }

  /// Size of the line in hand: a bound for what was parsed out of it.
  [[nodiscard]] std::size_t line_size() const { return line_.size(); }
  [[nodiscard]] adapter_output& out() { return out_; }

private:
  adapter_output& out_;
  std::string_view line_;
  bool has_line_ = false;
};

} // namespace tidemark
