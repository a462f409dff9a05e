#include "http/websocket.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>

namespace tidemark {

namespace {

namespace ws = boost::beast::websocket;

/// For the handshake, and for the peer to answer our close.
constexpr std::chrono::seconds handshake_limit{5};
/// Of the kernel: what is in there is ahead of everything that a user types. It doubles the value.
constexpr int send_buffer_bytes = 64 << 10;

} // namespace

struct websocket::state {
  state(std::shared_ptr<wire> to, std::shared_ptr<wake_event> event, limits with)
    : line(std::move(to)),
      wake(std::move(event)),
      allowed(with),
      stream(line->socket()),
      input(with.message_bytes),
      heard(clock::now()) {}

  std::shared_ptr<wire> line;
  std::shared_ptr<wake_event> wake;
  limits allowed;
  ws::stream<wire::tcp_socket&> stream;
  boost::beast::flat_buffer input;
  clock::time_point heard;
  std::optional<close_code> complaint;
};

websocket::websocket(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
websocket::~websocket() = default;

bool websocket::is_wanted(const boost::beast::http::request_header<>& request) {
  return ws::is_upgrade(request);
}

task<std::unique_ptr<websocket>> websocket::accept(std::shared_ptr<wire> line,
                                                   std::shared_ptr<wake_event> wake,
                                                   const http_request& request, limits with) {
  auto opened = std::make_unique<state>(std::move(line), std::move(wake), with);
  auto& stream = opened->stream;
  // Beast's own limit of idleness asks for an answer in time; ours also counts what is taken.
  auto timeouts = ws::stream_base::timeout{};
  timeouts.handshake_timeout = handshake_limit;
  timeouts.idle_timeout = ws::stream_base::none();
  timeouts.keep_alive_pings = false;
  stream.set_option(timeouts);
  const auto name = [](ws::response_type& response) {
    response.set(boost::beast::http::field::server, "tidemark");
  };
  stream.set_option(ws::stream_base::decorator{name});
  stream.read_message_max(with.message_bytes);
  stream.text(true);
  stream.auto_fragment(false); // a message is a frame: some clients join none
  const auto hear = [s = opened.get()](ws::frame_type, boost::beast::string_view) {
    s->heard = clock::now();
  };
  stream.control_callback(hear);
  boost::system::error_code ignored;
  opened->line->socket().set_option(boost::asio::socket_base::send_buffer_size{send_buffer_bytes},
                                    ignored);
  opened->line->write_until(clock::now() + with.stall);
  const auto result = co_await stream.async_accept(request, as_result);
  opened->line->write_until(std::nullopt);
  if (std::get<0>(result))
    co_return nullptr;
  co_return std::unique_ptr<websocket>{new websocket{std::move(opened)}};
}

task<bool> websocket::read(std::string& message) {
  auto& s = *state_;
  const auto result = co_await s.stream.async_read(s.input, as_result);
  if (std::get<0>(result))
    co_return false;
  s.heard = clock::now();
  if (!s.stream.got_text()) {
    s.complaint = unsupported_data;
    co_return false;
  }
  const auto bytes = s.input.data();
  message.assign(static_cast<const char*>(bytes.data()), bytes.size());
  s.input.consume(bytes.size());
  co_return true;
}

task<bool> websocket::write(std::string_view text) {
  auto& s = *state_;
  s.line->write_until(clock::now() + s.allowed.stall);
  const auto bytes = boost::asio::const_buffer{text.data(), text.size()};
  const auto result = co_await s.stream.async_write(bytes, as_result);
  s.line->write_until(std::nullopt);
  co_return !std::get<0>(result);
}

task<bool> websocket::ping() {
  auto& s = *state_;
  s.line->write_until(clock::now() + s.allowed.stall);
  const auto payload = ws::ping_data{};
  const auto result = co_await s.stream.async_ping(payload, as_result);
  s.line->write_until(std::nullopt);
  co_return !std::get<0>(result);
}

task<void> websocket::close(close_code code, std::string_view reason) {
  constexpr std::size_t longest_reason = 123;
  const auto shown = reason.substr(0, longest_reason);
  const auto why = ws::close_reason{static_cast<ws::close_code>(code),
                                    boost::beast::string_view{shown.data(), shown.size()}};
  co_await state_->stream.async_close(why, as_result);
}

void websocket::drop() {
  state_->line->close();
}

task<void> websocket::wait(clock::duration limit) {
  co_await state_->wake->wait(limit);
}

std::function<void()> websocket::waker() const {
  return [wake = state_->wake] { wake->notify(); };
}

websocket::clock::time_point websocket::heard() const {
  return state_->heard;
}

bool websocket::peer_left() {
  return state_->line->peer_left();
}

std::optional<websocket::close_code> websocket::complaint() const {
  return state_->complaint;
}

} // namespace tidemark
