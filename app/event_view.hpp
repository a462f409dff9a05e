#pragma once

#include "app/terminal.hpp"
#include "base/json.hpp"

#include <map>
#include <string>
#include <utility>

namespace tidemark {

/// The beginning of a text on one line, cut between characters; neutralised for the terminal.
std::string brief(std::string_view text, std::size_t limit = 160);

/// What the agent wants to do, of a request's event or its item in a list: its command or path, or its
/// input. Neutralised for the terminal.
std::string wish_of(const json& request, std::size_t limit = 160);

/// The command by which a person decides on a request: `tidemark decide docs perm-1 allow`. A question
/// wants an answer to each of its questions. `server`: where it is, if it has to be said.
std::string decide_line(const std::string& workspace, const json& request,
                        const std::string& server = {});

/// One event as one line for people: offset, time, type and what it says. Without a line feed;
/// neutralised for the terminal.
std::string event_line(const terminal& to, const json& envelope);

/// What follows such a line where people watch: how to decide what the event asks, `, decide: tidemark
/// decide …`. Empty if it asks nothing, or was decided without a person.
std::string decide_hint(const json& envelope, const std::string& server);

/// Shows one turn as it happens: the agent's text as it streams, tools and troubles on lines of
/// their own. What is only about progress goes to `err`, so that stdout holds the answer.
class turn_view {
public:
  /// `server`: what a person's command would have to name; empty: nothing.
  explicit turn_view(terminal& to, std::string server = {}) : to_(to), server_(std::move(server)) {}

  void show(const json& envelope);

private:
  void show_delta(const json& data);
  void show_item(const std::string& type, const json& item);
  void show_request(const json& envelope);
  void show_end(const json& data);
  void text(const std::string& item, const std::string& piece);
  void note(tint colour, const std::string& line);

  terminal& to_;
  std::string server_;
  std::map<std::string, std::string> kinds_; // item id -> kind, of the items of this turn
  std::map<std::string, bool> streamed_;     // item id -> its text came as deltas
  std::string last_item_;
  bool line_open_ = false;
};

} // namespace tidemark
