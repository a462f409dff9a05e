#pragma once

#include "http/exchange.hpp"
#include "http/v1_shapes.hpp"
#include "http/v1_translation.hpp"
#include "replay/subscription.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tidemark {

/// The client's claim on one result: it was received, or else it becomes pending. Says so to the
/// workspace exactly once, at the latest when destroyed, so that no way out of a handler forgets it.
class result_claim {
public:
  result_claim(directory_actor directory, std::string workspace, std::string turn);
  ~result_claim();
  result_claim(const result_claim&) = delete;
  result_claim& operator=(const result_claim&) = delete;

  /// The client has all of it.
  void received() { received_ = true; }

private:
  directory_actor directory_;
  std::string workspace_;
  std::string turn_;
  bool received_ = false;
};

/// One task of the v1 API as its client follows it: submits the turn and yields its frames.
/// Used by one coroutine.
class message_feed {
public:
  using clock = std::chrono::steady_clock;

  /// `with` and `out` outlive the feed.
  message_feed(exchange& with, body_stream& out, message_request request);

  /// Submits the turn. A refusal becomes the feed's `error` frame.
  task<void> open();

  /// The next frames; none if `until` has passed or the client has left.
  task<std::vector<v1_frame>> next(clock::time_point until);

  /// Every frame was given out.
  [[nodiscard]] bool over() const { return translation_.over() && waiting_frames_.empty(); }
  /// The client has acknowledged every frame. It counts as gone without this call, and also if the
  /// feed ended before its turn did: then it has an error, not the result.
  void received();
  /// Set if the task did not succeed.
  [[nodiscard]] const std::optional<v1_failure>& failure() const { return translation_.failure(); }
  [[nodiscard]] const std::string& err_id() const { return err_id_; }
  [[nodiscard]] const std::string& session() const { return translation_.session(); }

private:
  task<void> read_behind();
  task<void> tell_place();
  void translate();
  void refuse(const error& why);
  void keep(std::vector<v1_frame> frames);

  exchange& exchange_;
  body_stream& out_;
  message_request request_;
  std::string err_id_;
  bool turn_ended_ = false;
  v1_translation translation_;
  std::vector<v1_frame> waiting_frames_;
  std::vector<hot_event_ptr> events_;
  std::unique_ptr<result_claim> claim_;
  std::unique_ptr<subscription> subscription_;
};

} // namespace tidemark
