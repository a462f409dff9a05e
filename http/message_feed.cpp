#include "http/message_feed.hpp"

#include "actors/workspace_core.hpp"
#include "base/logging.hpp"
#include "base/uuid.hpp"
#include "http/problem.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace tidemark {

namespace {

constexpr std::size_t batch_bytes = 256 << 10;

submit_turn submission_of(message_request& request, const caller& who) {
  submit_turn turn;
  turn.turn = new_uuid(now_utc());
  turn.prompt = std::move(request.content);
  turn.source = request.source;
  turn.by = who.name;
  turn.environment = std::move(request.environment);
  turn.holds_result = true;
  return turn;
}

} // namespace

result_claim::result_claim(directory_actor directory, std::string workspace, std::string turn)
  : directory_(std::move(directory)),
    workspace_(std::move(workspace)),
    turn_(std::move(turn)) {}

result_claim::~result_claim() {
  const auto what = received_ ? command{client_received{turn_}} : command{client_left{turn_}};
  command_ptr message = std::make_shared<const command>(what);
  caf::anon_send(directory_, route_atom::value, workspace_, false, std::move(message));
}

message_feed::message_feed(exchange& with, body_stream& out, message_request request)
  : exchange_(with),
    out_(out),
    request_(std::move(request)),
    err_id_(new_uuid(now_utc())),
    translation_({{}, err_id_, with.services().options.proof_of_life}, clock::now()) {}

task<void> message_feed::open() {
  auto& services = exchange_.services();
  auto submission = submission_of(request_, exchange_.who());
  if (const auto fits = check_size(submission, services.max_prompt_bytes); !fits) {
    refuse(fits.error());
    co_return;
  }
  // Before the question: if its answer is late, the turn may exist all the same.
  claim_ = std::make_unique<result_claim>(services.directory, request_.workspace, submission.turn);
  command what = std::move(submission);
  auto workspace = request_.workspace;
  const auto reply =
    co_await exchange_.ask<submit_reply>(std::move(workspace), true, std::move(what));
  if (!reply) {
    refuse(reply.error());
    co_return;
  }
  translation_ =
    v1_translation{{reply->turn, err_id_, services.options.proof_of_life}, clock::now()};
  subscription_ = std::make_unique<subscription>(services.log, services.events, reply->stream,
                                                 reply->at, out_.waker());
  if (reply->place > 0)
    co_await tell_place();
}

task<std::vector<v1_frame>> message_feed::next(clock::time_point until) {
  while (waiting_frames_.empty() && !translation_.over() && !out_.client_left()) {
    const auto was_quiet =
      exchange_.services().quiet.load(); // before the look: none comes after it
    const auto state = subscription_->poll(batch_bytes, events_);
    if (state == subscription::state::ready) {
      translate();
    } else if (state == subscription::state::behind) {
      co_await read_behind();
    } else if (state == subscription::state::ended) {
      refuse({errc::cancelled, "the workspace was deleted"});
    } else if (was_quiet) {
      // Its workspace ends what runs, and what waits for this client; but it may have failed.
      refuse({errc::unavailable, "the server is shutting down", true});
    } else {
      const auto now = clock::now();
      keep(translation_.on_time(now));
      if (now >= until)
        break;
      if (waiting_frames_.empty())
        co_await out_.wait(std::min(until, translation_.next_due()) - now);
    }
    if (translation_.queue_moved())
      co_await tell_place();
  }
  std::vector<v1_frame> frames;
  frames.swap(waiting_frames_);
  co_return frames;
}

task<void> message_feed::read_behind() {
  auto read = [this] { return subscription_->read_log(batch_bytes, events_); };
  const auto done = co_await exchange_.blocking(std::move(read));
  if (done)
    translate();
  else
    refuse(done.error());
}

task<void> message_feed::tell_place() {
  command what = get_queue{};
  auto workspace = request_.workspace;
  const auto queue =
    co_await exchange_.ask<queue_reply>(std::move(workspace), false, std::move(what));
  if (queue)
    keep(translation_.on_queue(*queue, now_utc()));
}

void message_feed::translate() {
  const auto now = clock::now();
  for (const auto& hot : events_)
    keep(translation_.on_event(event_view::of(*hot->what), now));
  if (!translation_.over())
    return;
  turn_ended_ = true;
  if (const auto& why = failure())
    logging::warning("http", "{}: task failed, workspace {} code {} err_id={}: {}",
                     exchange_.route(), request_.workspace, why->code, err_id_, why->message);
}

void message_feed::refuse(const error& why) {
  const auto info = describe_failure(why, exchange_.route());
  err_id_ = info.err_id;
  translation_.name_failure(err_id_);
  keep(translation_.on_failure({info.code, info.message, info.retryable, info.details}));
}

void message_feed::keep(std::vector<v1_frame> frames) {
  std::move(frames.begin(), frames.end(), std::back_inserter(waiting_frames_));
}

void message_feed::received() {
  if (claim_ && turn_ended_)
    claim_->received();
}

} // namespace tidemark
