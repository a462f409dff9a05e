#include "app/api_client.hpp"

#include "app/curl_library.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <random>
#include <thread>
#include <utility>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

/// One transfer: the pieces of a good answer go to `take`, the body of a bad one is kept.
struct transfer {
  explicit transfer(const curl_library& library) : curl(library), handle(library.easy_init()) {}
  ~transfer() {
    curl.easy_cleanup(handle);
    curl.slist_free_all(headers);
  }
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

  const curl_library& curl;
  CURL* handle;
  curl_slist* headers = nullptr;
  api_client::piece_handler take;
  std::string error_body;
  bool ended_by_us = false;

  template <class Value>
  void set(CURLoption option, Value value) {
    curl.easy_setopt(handle, option, value);
  }
  void add_header(const std::string& line) { headers = curl.slist_append(headers, line.c_str()); }
  [[nodiscard]] int status() const {
    long code = 0;
    curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    return static_cast<int>(code);
  }
};

constexpr std::size_t max_error_body = 64 << 10;

std::size_t on_piece(char* data, std::size_t, std::size_t size, void* user) {
  auto& t = *static_cast<transfer*>(user);
  const std::string_view piece{data, size};
  if (t.status() >= 400) {
    t.error_body.append(
      piece.substr(0, max_error_body - std::min(max_error_body, t.error_body.size())));
    return size;
  }
  if (t.take(piece))
    return size;
  t.ended_by_us = true;
  return 0; // curl's way to stop
}

int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupted ? 1 : 0;
}

void prepare(transfer& t, const api_address& address, const std::string& path,
             const api_client::headers& extra) {
  t.set(CURLOPT_URL, (address.url + path).c_str());
  t.set(CURLOPT_PROTOCOLS_STR, "http,https");
  t.set(CURLOPT_NOSIGNAL, 1L);
  t.set(CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
  t.set(CURLOPT_CONNECTTIMEOUT_MS, 5000L);
  t.set(CURLOPT_NOPROGRESS, 0L);
  t.set(CURLOPT_XFERINFOFUNCTION, &on_progress);
  t.set(CURLOPT_WRITEFUNCTION, &on_piece);
  t.set(CURLOPT_WRITEDATA, &t);
  t.add_header("Expect:"); // no round trip before a body
  if (!address.token.empty())
    t.add_header("Authorization: Bearer " + address.token);
  for (const auto& [name, value] : extra)
    t.add_header(name + ": " + value);
  t.set(CURLOPT_HTTPHEADER, t.headers);
}

expected<void> perform(transfer& t, const api_address& address) {
  const auto code = t.curl.easy_perform(t.handle);
  if (interrupted)
    return fail(errc::cancelled, "interrupted");
  if (t.status() >= 400)
    return tl::unexpected(error_of_response({t.status(), t.error_body}));
  if (code == CURLE_OK || t.ended_by_us)
    return {};
  if (t.status() != 0)
    return fail(errc::io,
                fmt::format("the answer of {} broke off before its end ({}); the server's "
                            "log says why",
                            address.url, t.curl.easy_strerror(code)));
  return fail(errc::unavailable,
              fmt::format("no answer from {}: {}", address.url, t.curl.easy_strerror(code)));
}

errc code_of_status(int status) {
  switch (status) {
  case 401: return errc::unauthorized;
  case 403: return errc::forbidden;
  case 404: return errc::not_found;
  case 409: return errc::conflict;
  case 410: return errc::trimmed;
  case 413: return errc::too_large;
  case 416: return errc::ahead;
  default: return status >= 500 ? errc::internal : errc::invalid_argument;
  }
}

bool worth_retrying(const error& why) {
  return why.code == errc::unavailable || why.code == errc::internal || why.code == errc::io;
}

/// Sleeps in small pieces, so that an interrupt ends it.
void wait_for(std::chrono::milliseconds delay) {
  const auto until = std::chrono::steady_clock::now() + delay;
  while (!interrupted && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::min(delay, 50ms));
}

/// The status that a problem names, as the answer it stands for would have had it.
int status_in(const std::string& problem) {
  const auto parsed = parse_json(problem);
  return parsed ? static_cast<int>(int_or(*parsed, "status", 500)) : 500;
}

/// Spread out, so that many clients of one server do not come back in step.
std::chrono::milliseconds jittered(std::chrono::milliseconds delay) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::chrono::milliseconds{
    std::uniform_int_distribution<std::int64_t>{delay.count() / 2, delay.count()}(random)};
}

} // namespace

std::string shown_server(const api_address& server) {
  return server.url == api_address{}.url ? std::string{} : server.url;
}

bool interrupted_by_user() {
  return interrupted;
}

void catch_interrupts() {
  for (const int number : {SIGINT, SIGTERM})
    std::signal(number, [](int) { interrupted = true; });
  std::signal(SIGPIPE, SIG_IGN); // NOLINT: `tidemark tail | head` ends by the failed write
}

api_client::api_client(api_address address) : address_(std::move(address)) {
  while (address_.url.ends_with('/'))
    address_.url.pop_back();
}

expected<api_response> api_client::call(std::string_view method, const std::string& path,
                                        const std::string& body, const headers& extra) {
  const auto curl = curl_library::instance();
  if (!curl)
    return tl::unexpected(curl.error());
  transfer t{**curl};
  api_response response;
  t.take = [&](std::string_view piece) {
    response.body += piece;
    return true;
  };
  auto all = extra;
  if (!body.empty())
    all.emplace("Content-Type", "application/json");
  prepare(t, address_, path, all);
  t.set(CURLOPT_CUSTOMREQUEST, std::string{method}.c_str());
  t.set(CURLOPT_TIMEOUT_MS, static_cast<long>(address_.patience.count()));
  if (!body.empty() || method == "POST") {
    t.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    t.set(CURLOPT_POSTFIELDS, body.c_str());
  }
  return perform(t, address_).map([&] {
    response.status = t.status();
    return std::move(response);
  });
}

expected<void> api_client::stream(const std::string& path, const headers& extra,
                                  const piece_handler& take) {
  const auto curl = curl_library::instance();
  if (!curl)
    return tl::unexpected(curl.error());
  transfer t{**curl};
  t.take = take;
  prepare(t, address_, path, extra);
  // The server writes at least a heartbeat every 15 s: three missed ones mean a dead connection.
  t.set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  t.set(CURLOPT_LOW_SPEED_TIME, 50L);
  return perform(t, address_);
}

expected<void> api_client::follow(const std::string& path, const event_handler& take,
                                  std::chrono::seconds patience, const loss_handler& on_loss) {
  if (const auto curl = curl_library::instance(); !curl)
    return tl::unexpected(curl.error()); // waiting would not bring it
  sse_parser parser;
  bool over = false;
  bool loss_told = false;
  std::optional<error> failure;
  auto last_contact = std::chrono::steady_clock::now();
  auto delay = 100ms;
  for (;;) {
    headers extra{{"Accept", "text/event-stream"}};
    if (!parser.last_id().empty())
      extra.emplace("Last-Event-ID", parser.last_id());
    parser.reconnect();
    auto done = stream(path, extra, [&](std::string_view piece) {
      last_contact = std::chrono::steady_clock::now();
      delay = 100ms;
      loss_told = false;
      for (const auto& e : parser.feed(piece)) {
        if (e.type == "error") {
          failure = error_of_response({status_in(e.data), e.data});
          return false;
        }
        over = e.type == "end" || !take(e);
        if (over)
          return false;
      }
      return true;
    });
    if (over)
      return {};
    // What retention has removed under the reader is told as a gap by the next connection.
    if (failure && failure->code != errc::trimmed)
      return tl::unexpected(*failure);
    failure.reset();
    if ((!done && !worth_retrying(done.error())) || interrupted)
      return interrupted ? expected<void>{fail(errc::cancelled, "interrupted")} : done;
    if (std::chrono::steady_clock::now() - last_contact > patience)
      return done ? expected<void>{fail(errc::unavailable, "the stream keeps ending")} : done;
    if (!done && on_loss && !std::exchange(loss_told, true))
      on_loss(done.error());
    wait_for(jittered(delay));
    delay = std::min(delay * 2, 2000ms);
  }
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z')
                       || (byte >= 'a' && byte <= 'z')
                       || std::string_view{"-._~"}.find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

error error_of_response(const api_response& response) {
  error out{code_of_status(response.status),
            fmt::format("the server answered {}", response.status)};
  const auto parsed = parse_json(response.body);
  if (!parsed || !parsed->is_object())
    return out;
  for (const auto* key : {"detail", "title"})
    if (const auto text = string_at(*parsed, key)) {
      out.message = *text;
      return out;
    }
  if (const auto text = string_at(object_at(*parsed, "error"), "message"))
    out.message = *text;
  return out;
}

} // namespace tidemark
