#include "http/reader_output.hpp"

#include "http/problem.hpp"
#include "replay/sse_frame.hpp"

namespace tidemark {

task<bool> reader_output::write(std::string_view bytes) {
  const auto written = co_await out_.write(bytes);
  last_write_ = clock::now();
  if (!written && !out_.client_left())
    with_.services().metrics.slow_reader();
  co_return written;
}

task<bool> reader_output::beat() {
  if (clock::now() - last_write_ < with_.services().options.heartbeat)
    co_return true;
  co_return co_await write(frames_ ? heartbeat : std::string_view{"\n"});
}

task<void> reader_output::wait() {
  const auto due = last_write_ + with_.services().options.heartbeat;
  co_await out_.wait(due - clock::now());
}

task<bool> reader_output::still_admitted() {
  if (with_.still_admitted())
    co_return true;
  auto why = error{errc::unauthorized, "the token was revoked or has expired"};
  co_await tell_failure(std::move(why));
  co_return false;
}

task<void> reader_output::tell_failure(error why) {
  failed_ = true;
  const auto what = problem::of(why);
  const auto err_id = log_failure(with_.route(), what.code, what.detail, what.status);
  if (!frames_)
    co_return;
  const auto frame = "event: error\ndata: " + problem_json(what, err_id) + "\n\n";
  co_await write(frame);
}

} // namespace tidemark
