#include "tests/faults/history.hpp"

#include <algorithm>
#include <functional>

namespace tidemark::test {
namespace {

std::size_t digest_of(const json& event) {
  return std::hash<std::string>{}(event.dump());
}

} // namespace

std::string history::shown(std::uint64_t offset, const std::string& data) {
  if (offset != reader_at_ + 1) {
    return "a reader was shown offset " + std::to_string(offset) + " after "
           + std::to_string(reader_at_);
  }
  reader_at_ = offset;
  if (offset > head_) {
    shown_.emplace(offset, data);
  } else if (logged_[offset - 1] != digest_of(parse_json(data).value_or(json()))) {
    return "offset " + std::to_string(offset) + " is in the log as something else than " + data;
  }
  return {};
}

void history::acknowledged(const std::string& turn, std::uint64_t offset) {
  acknowledged_.emplace(turn, offset);
}

void history::acknowledged_shell(const std::string& shell) {
  acknowledged_shells_.insert(shell);
}

std::string history::take(const json& event) {
  const auto offset = static_cast<std::uint64_t>(int_or(event, "offset", 0));
  if (offset != head_ + 1) {
    return "offset " + std::to_string(offset) + " follows " + std::to_string(head_);
  }
  head_ = offset;
  logged_.push_back(digest_of(event));
  if (const auto seen = shown_.find(offset); seen != shown_.end()) {
    if (parse_json(seen->second).value_or(json()) != event) {
      return "offset " + std::to_string(offset) + " was shown as " + seen->second + " and is now "
             + event.dump();
    }
    shown_.erase(seen);
  }
  const std::string type = string_or(event, "type");
  const std::string turn = string_or(event, "turn");
  std::string problem = type.starts_with("item.")    ? take_item(type, turn, event)
                        : type.starts_with("shell.") ? take_shell(type, event)
                                                     : take_turn(type, turn, event);
  return problem.empty() ? problem : problem + ": " + event.dump();
}

std::string history::take_turn(const std::string& type, const std::string& turn,
                               const json& event) {
  const json& data = object_at(event, "data");
  if (type == "turn.queued") {
    const auto key = string_or(data, "idempotency_key");
    if (turns_.contains(turn) || (!key.empty() && !keys_.insert(key).second)) {
      return "queued twice";
    }
    turns_[turn].queued_at = head_;
    turns_[turn].held = bool_or(object_at(data, "options"), "holds_result", false);
    queue_.push_back(turn);
  } else if (type == "turn.started") {
    if (!running_.empty()) {
      return "started while " + running_ + " ran";
    }
    if (queue_.empty() || queue_.front() != turn) {
      return "started out of order";
    }
    queue_.pop_front();
    running_ = turn;
  } else if (type == "turn.completed") {
    const auto dangling =
      std::ranges::any_of(open_items_, [&](const auto& each) { return each.second == turn; });
    if (dangling) {
      return "a turn ended with an open item";
    }
    if (!turns_.contains(turn) || ++turns_[turn].completed > 1) {
      return "a turn ended twice, or was never queued";
    }
    turns_[turn].held = turns_[turn].held && string_or(data, "outcome") != "cancelled";
    if (running_ == turn) {
      running_.clear();
    } else {
      std::erase(queue_, turn);
    }
  } else if (type == "result.pending" && ++turns_[turn].pending > 1) {
    return "a result became pending twice";
  } else if (type == "result.delivered" && ++turns_[turn].delivered > 1) {
    return "a result was delivered twice";
  }
  return {};
}

std::string history::take_shell(const std::string& type, const json& event) {
  const json& data = object_at(event, "data");
  const std::string shell = string_or(data, "shell");
  if (type == "shell.opened" && !shells_.emplace(shell, json()).second) {
    return "a shell was opened twice";
  }
  if (type == "shell.closed") {
    const auto found = shells_.find(shell);
    if (found == shells_.end() || !found->second.is_null()) {
      return "a shell was closed twice, or was never opened";
    }
    found->second = data;
  }
  return {};
}

std::string history::take_item(const std::string& type, const std::string& turn,
                               const json& event) {
  const json& data = object_at(event, "data");
  const std::string id = string_or(object_at(data, "item"), "id", string_or(data, "item"));
  if (!turn.empty() && turns_[turn].completed > 0) {
    return "an item follows the end of its turn";
  }
  if (type == "item.started" && !open_items_.emplace(id, turn).second) {
    return "an item started twice";
  }
  if (type == "item.delta" && !open_items_.contains(id)) {
    return "a delta of no open item";
  }
  if (type == "item.completed" && open_items_.erase(id) != 1) {
    return "an item was completed that was not open";
  }
  return {};
}

std::string history::missing() const {
  if (!shown_.empty()) {
    return "offset " + std::to_string(shown_.begin()->first)
           + " was shown to a reader and is gone: " + shown_.begin()->second;
  }
  for (const auto& [turn, offset] : acknowledged_) {
    const auto found = turns_.find(turn);
    if (found == turns_.end() || found->second.queued_at != offset) {
      return "turn " + turn + " was acknowledged at offset " + std::to_string(offset)
             + " and is not there";
    }
  }
  for (const auto& shell : acknowledged_shells_) {
    if (!shells_.contains(shell)) {
      return "shell " + shell + " was acknowledged and is not there";
    }
  }
  return {};
}

std::string history::unfinished(const std::set<std::string>& pending_results) const {
  if (open_turns() > 0) {
    return "a turn has not ended";
  }
  for (const auto& [turn, state] : turns_) {
    if (state.completed != 1) {
      return "turn " + turn + " has ended " + std::to_string(state.completed) + " times";
    }
    const int pending = pending_results.contains(turn) ? 1 : 0;
    if (state.held && state.delivered + pending != 1) {
      return "the result of turn " + turn + " was delivered " + std::to_string(state.delivered)
             + " times and is " + (pending > 0 ? "pending" : "not pending");
    }
  }
  return {};
}

} // namespace tidemark::test
