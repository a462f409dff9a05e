#include "http/chunked_body.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <charconv>

namespace tidemark {

namespace {

constexpr std::string_view last_chunk = "0\r\n\r\n";
constexpr auto longest_poll = std::chrono::milliseconds{20};
constexpr auto longest_proof = std::chrono::seconds{5}; // of the client's acknowledgement
/// For the client to close in turn. Below the time that a stopping workspace gives its clients.
constexpr auto longest_goodbye = std::chrono::milliseconds{800};

/// `1a2b\r\n` into `out`; returns its length.
std::size_t chunk_header(std::array<char, 20>& out, std::size_t size) {
  auto* end = std::to_chars(out.data(), out.data() + out.size() - 2, size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return static_cast<std::size_t>(end - out.data());
}

} // namespace

chunked_body::chunked_body(std::shared_ptr<wire> to, std::shared_ptr<wake_event> wake, settings how)
  : wire_(std::move(to)),
    watch_(std::make_shared<departure>()),
    how_(how) {
  watch_->wake = std::move(wake);
}

chunked_body::~chunked_body() {
  // Ends the watching coroutine as well. An unfinished body must not look complete.
  wire_->close();
}

void chunked_body::start(bool ok) {
  broken_ = !ok;
  watch_->left = how_.silent; // nobody reads the body of an answer to HEAD
  boost::asio::co_spawn(wire_->get_executor(), watch(wire_, watch_), boost::asio::detached);
}

task<void> chunked_body::watch(std::shared_ptr<wire> from, std::shared_ptr<departure> told) {
  auto result = wire::outcome::done;
  while (result == wire::outcome::done)
    result = co_await from->read_some(std::nullopt);
  // A client that sends more than fits, or takes nothing, is found out by writing to it.
  if (result != wire::outcome::closed)
    co_return;
  told->left = true;
  told->wake->notify();
}

task<bool> chunked_body::write(std::string_view bytes) {
  if (broken_ || finished_ || how_.silent)
    co_return false;
  if (bytes.empty())
    co_return true;
  auto result = wire::outcome::done;
  if (how_.chunked) {
    auto header = std::array<char, 20>{};
    const auto header_size = chunk_header(header, bytes.size());
    auto pieces = std::array<boost::asio::const_buffer, 3>{};
    pieces[0] = boost::asio::buffer(header.data(), header_size);
    pieces[1] = boost::asio::buffer(bytes.data(), bytes.size());
    pieces[2] = boost::asio::buffer(last_chunk.data() + 1, 2);
    result = co_await wire_->write(pieces, how_.stall);
  } else {
    result = co_await wire_->write(bytes, how_.stall);
  }
  broken_ = result != wire::outcome::done;
  watch_->left = watch_->left || result == wire::outcome::closed;
  co_return !broken_;
}

task<bool> chunked_body::finish() {
  if (broken_ || finished_)
    co_return false;
  finished_ = true;
  if (how_.chunked && !how_.silent) {
    const auto result = co_await wire_->write(last_chunk, how_.stall);
    broken_ = result != wire::outcome::done;
  }
  const auto deadline =
    wire::clock::now() + std::min<wire::clock::duration>(how_.stall, longest_proof);
  auto pause = std::chrono::milliseconds{1};
  while (!broken_) {
    if (wire_->all_acknowledged())
      co_return how_.silent || co_await taken();
    if (wire::clock::now() >= deadline || !wire_->stands())
      co_return false;
    co_await watch_->wake->wait(pause);
    pause = std::min(2 * pause, longest_poll);
  }
  co_return false;
}

task<bool> chunked_body::taken() {
  wire_->end_output();
  const auto deadline = wire::clock::now() + longest_goodbye;
  while (!watch_->left) {
    const auto left = deadline - wire::clock::now();
    if (left <= wire::clock::duration::zero())
      co_return true;
    co_await watch_->wake->wait(left);
  }
  co_return wire_->peer_ended();
}

task<void> chunked_body::wait(std::chrono::steady_clock::duration limit) {
  if (watch_->left || broken_)
    co_return;
  co_await watch_->wake->wait(limit);
}

std::function<void()> chunked_body::waker() {
  return [wake = watch_->wake] { wake->notify(); };
}

} // namespace tidemark
