#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// One server-sent event as its reader gets it.
struct sse_event {
  std::string type = "message";
  std::string data;
  std::string id; ///< the last id seen when it was dispatched: what to resume from
};

/// Parses an event stream (WHATWG HTML 9.2.6) from pieces of any size, split anywhere. Pure.
class sse_parser {
public:
  /// The events that `bytes` completed.
  std::vector<sse_event> feed(std::string_view bytes);

  /// The id to send as Last-Event-ID; empty if none was seen.
  [[nodiscard]] const std::string& last_id() const { return last_id_; }
  /// The delay before a reconnection that the server has asked for.
  [[nodiscard]] std::optional<std::chrono::milliseconds> retry() const { return retry_; }

  /// A new connection: what was incomplete is dropped, id and delay stay.
  void reconnect();

private:
  void take_line(std::vector<sse_event>& out);
  void take_field(std::string_view name, std::string_view value);
  void dispatch(std::vector<sse_event>& out);

  std::string line_;
  bool after_return_ = false; // the last byte was CR: an LF that follows belongs to it
  bool at_start_ = true;      // a byte order mark may come
  std::string type_;
  std::string data_;
  bool has_data_ = false;
  std::string pending_id_;
  std::string last_id_;
  std::optional<std::chrono::milliseconds> retry_;
};

} // namespace tidemark
