#include "http/reader_seat.hpp"

#include "http/event_delivery.hpp"
#include "http/problem.hpp"

#include <fmt/format.h>

namespace tidemark {

std::map<std::string, std::string> endless_headers() {
  auto headers = std::map<std::string, std::string>{};
  headers["Cache-Control"] = "no-cache, no-transform";
  headers["X-Accel-Buffering"] = "no";
  return headers;
}

task<void> refuse_reader(exchange& with, event_form form,
                         std::map<std::string, std::string> headers) {
  const auto retry = jittered(std::chrono::milliseconds{20'000});
  if (form != event_form::frames) {
    auto why = problem::of(
      error{errc::unavailable, "too many readers (http.max_readers); try again later", true});
    auto later = std::map<std::string, std::string>{};
    later["Retry-After"] = std::to_string(retry.count() / 1000);
    co_await send_problem(with, std::move(why), std::move(later));
    co_return;
  }
  auto body = co_await with.stream(200, "text/event-stream", std::move(headers));
  const auto frame =
    fmt::format("event: overload\nretry: {}\ndata: {{\"reason\":\"readers\"}}\n\n", retry.count());
  co_await body->write(frame);
  co_await body->finish();
}

} // namespace tidemark
