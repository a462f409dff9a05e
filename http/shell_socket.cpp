#include "http/shell_socket.hpp"

#include "http/shell_frames.hpp"

#include <boost/asio/co_spawn.hpp>
#include <caf/send.hpp>

#include <deque>
#include <utility>

namespace tidemark {

namespace {

using clock = websocket::clock;

constexpr std::size_t max_complaints =
  16; // a client that errs faster than it reads hears less of it
/// A client that answers no ping for so many heartbeats, and takes nothing either, is gone.
constexpr int missed_heartbeats = 3;
/// Typed text waits for the program, which may not read for days.
constexpr auto while_it_takes = std::chrono::hours{24 * 365};

/// The server's last word to the client, for a person to read.
struct farewell {
  websocket::close_code code;
  std::string reason;
};

/// One client of one shell. Two coroutines of one thread: `run` writes, `read_messages` reads; the
/// latter keeps this alive until it has seen the end of the connection.
class shell_session : public std::enable_shared_from_this<shell_session> {
public:
  shell_session(exchange& x, std::unique_ptr<websocket> socket, shell_attachment at)
    : x_(x),
      socket_(std::move(socket)),
      at_(std::move(at)) {}

  task<void> run(std::string shell);

private:
  task<void> read_messages();
  task<void> obey(std::string message);
  task<void> type(std::string bytes);
  void complain(std::string_view about);

  /// Writes what is due, or waits for it. False at the end.
  task<bool> step();
  task<bool> write(std::string frame);
  task<bool> write_complaint();
  task<bool> check_life(clock::time_point now);
  task<bool> say_end(shell_end end);

  exchange& x_;
  std::unique_ptr<websocket> socket_;
  shell_attachment at_;
  std::deque<std::string> complaints_;
  bool reading_ = true;
  bool typing_ = false; // the reader waits for the shell, so nobody hears the client
  clock::time_point taken_ = clock::now();
  clock::time_point next_ping_ = clock::now();
  std::optional<farewell> farewell_;
};

task<void> shell_session::run(std::string shell) {
  const auto self = shared_from_this();
  next_ping_ = clock::now() + x_.services().options.heartbeat;
  boost::asio::co_spawn(x_.actors().get_executor(), read_messages(),
                        [self, wake = socket_->waker()](const std::exception_ptr&) {
                          self->reading_ = false;
                          wake();
                        });
  auto frame = ready_frame(shell);
  auto going = co_await write(std::move(frame));
  while (going && reading_)
    going = co_await step();
  // First of all: it lets go of a reader that waits for the shell.
  caf::anon_send(at_.shell, leave_atom::value, at_.client);
  const auto complaint = socket_->complaint();
  if (complaint)
    farewell_ = farewell{*complaint, "messages are JSON text, not binary"};
  if (farewell_ && (reading_ || complaint))
    co_await socket_->close(farewell_->code, farewell_->reason);
  socket_->drop();
  while (reading_)
    co_await socket_->wait(std::chrono::seconds{1});
}

task<void> shell_session::read_messages() {
  const auto self = shared_from_this();
  auto message = std::string{};
  for (auto going = true; going;) {
    going = co_await socket_->read(message);
    if (going)
      co_await obey(std::move(message));
  }
}

task<void> shell_session::obey(std::string message) {
  auto wanted = parse_shell_message(message);
  if (!wanted) {
    complain(wanted.error().describe());
    co_return;
  }
  if (auto* typed = std::get_if<typed_input>(&*wanted)) {
    co_await type(std::move(typed->bytes));
  } else if (const auto* size = std::get_if<terminal_size>(&*wanted)) {
    caf::anon_send(at_.shell, resize_atom::value, at_.client, *size);
  } else {
    const auto reason = std::string{"client"};
    const auto& by = x_.who().name;
    co_await x_.actors().ask<bool>(while_it_takes, at_.shell, close_atom::value, reason, by);
  }
}

task<void> shell_session::type(std::string bytes) {
  shared_text text = std::make_shared<const std::string>(std::move(bytes));
  typing_ = true;
  const auto client = at_.client;
  co_await x_.actors().ask<bool>(while_it_takes, at_.shell, input_atom::value, client,
                                 std::move(text));
  typing_ = false;
}

void shell_session::complain(std::string_view about) {
  if (complaints_.size() < max_complaints)
    complaints_.push_back(error_frame(about));
  socket_->waker()();
}

task<bool> shell_session::step() {
  if (!complaints_.empty())
    co_return co_await write_complaint();
  const auto now = clock::now();
  if (now >= next_ping_)
    co_return co_await check_life(now);
  const auto deadline = x_.services().options.answer_deadline;
  const auto client = at_.client;
  auto piece =
    co_await x_.actors().ask<shell_piece_ptr>(deadline, at_.shell, read_atom::value, client);
  if (!piece) {
    farewell_ = farewell{websocket::internal_error, "the shell does not answer: attach again"};
    co_return false;
  }
  const auto& next = **piece;
  if (next.end)
    co_return co_await say_end(*next.end);
  if (!next.text.empty() || next.cut > 0) {
    auto frame = output_frame(next);
    co_return co_await write(std::move(frame));
  }
  co_await socket_->wait(next_ping_ - now);
  co_return true;
}

task<bool> shell_session::write(std::string frame) {
  const auto written = co_await socket_->write(frame);
  taken_ = clock::now();
  co_return written;
}

task<bool> shell_session::write_complaint() {
  auto frame = std::move(complaints_.front());
  complaints_.pop_front();
  co_return co_await write(std::move(frame));
}

task<bool> shell_session::check_life(clock::time_point now) {
  const auto heartbeat = x_.services().options.heartbeat;
  const auto silent = now - std::max(socket_->heard(), taken_) > missed_heartbeats * heartbeat;
  if (typing_ ? socket_->peer_left() : silent)
    co_return false;
  if (!x_.still_admitted()) {
    farewell_ = farewell{websocket::policy_violation, "the token was revoked or has expired"};
    co_return false;
  }
  next_ping_ = now + heartbeat;
  co_return co_await socket_->ping();
}

task<bool> shell_session::say_end(shell_end end) {
  auto frame = exit_frame(end);
  co_await write(std::move(frame));
  if (end.reason == "server")
    farewell_ = farewell{websocket::going_away, "the server is stopping"};
  else
    farewell_ = farewell{websocket::normal, "the shell has ended: " + end.reason};
  co_return false;
}

} // namespace

task<void> serve_shell(exchange& x, std::unique_ptr<websocket> socket, shell_attachment at,
                       std::string shell) {
  const auto session = std::make_shared<shell_session>(x, std::move(socket), std::move(at));
  co_await session->run(std::move(shell));
}

} // namespace tidemark
