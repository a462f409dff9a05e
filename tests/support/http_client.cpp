#include "tests/support/http_client.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <curl/curl.h>
#include <linux/filter.h>
#include <stdexcept>
#include <sys/socket.h>

namespace tidemark::test {
namespace {

using std::chrono::milliseconds;

struct easy_deleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using easy_handle = std::unique_ptr<CURL, easy_deleter>;

struct list_deleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using header_list = std::unique_ptr<curl_slist, list_deleter>;

/// Lets the kernel drop whatever comes for a socket before TCP sees it, so that nothing of it is
/// ever acknowledged.
void cut_off(int socket) {
  sock_filter drop_all{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program{.len = 1, .filter = &drop_all};
  if (::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
    throw std::runtime_error("cannot cut off a socket");
  }
}

easy_handle new_handle() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  easy_handle handle(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (!handle) {
    throw std::runtime_error("libcurl does not start");
  }
  return handle;
}

header_list make_headers(const http_client& client, const std::map<std::string, std::string>& extra,
                         bool with_body) {
  std::map<std::string, std::string> all{{"Expect", ""}};
  if (!client.token().empty()) {
    all["Authorization"] = "Bearer " + client.token();
  }
  if (with_body) {
    all["Content-Type"] = "application/json";
  }
  for (const auto& [name, value] : extra) {
    all[name] = value;
  }
  curl_slist* list = nullptr;
  for (const auto& [name, value] : all) {
    list = curl_slist_append(list, (name + ": " + value).c_str());
  }
  return header_list(list);
}

void take_header(std::map<std::string, std::string>& headers, std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) {
    return;
  }
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto start = line.find_first_not_of(' ', colon + 1);
  const auto end = line.find_last_not_of("\r\n ");
  headers[name] = start == std::string_view::npos || end < start
                    ? ""
                    : std::string(line.substr(start, end - start + 1));
}

void set_request(CURL* handle, const std::string& url, const std::string& method,
                 const std::optional<std::string>& body) {
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  if (body) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body->c_str());
  }
}

std::size_t append_body(char* data, std::size_t, std::size_t count, void* target) {
  static_cast<std::string*>(target)->append(data, count);
  return count;
}

std::size_t append_header(char* data, std::size_t, std::size_t count, void* target) {
  take_header(*static_cast<std::map<std::string, std::string>*>(target), {data, count});
  return count;
}

sse_frame parse_frame(std::string_view text) {
  sse_frame frame;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    std::string_view value =
      colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
    value.remove_prefix(value.starts_with(' ') ? 1 : 0);
    if (name == "id") {
      frame.id = value;
    } else if (name == "event") {
      frame.event = value;
    } else if (name == "data") {
      frame.data += (frame.data.empty() ? "" : "\n") + std::string(value);
    }
  }
  return frame;
}

bool is_log_event(const sse_frame& frame) {
  return frame.event != "hello" && frame.event != "gap" && frame.event != "end";
}

} // namespace

json http_reply::parsed() const {
  return parse_json(body).value_or(json());
}

http_reply http_client::send(const http_call& call) const {
  const easy_handle handle = new_handle();
  const header_list headers = make_headers(*this, call.headers, call.body.has_value());
  http_reply reply;
  set_request(handle.get(), url_ + call.path, call.method, call.body);
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(call.limit.count()));
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, append_body);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &reply.body);
  curl_easy_setopt(handle.get(), CURLOPT_HEADERFUNCTION, append_header);
  curl_easy_setopt(handle.get(), CURLOPT_HEADERDATA, &reply.headers);
  if (curl_easy_perform(handle.get()) == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    reply.status = static_cast<int>(status);
  }
  return reply;
}

http_reply http_client::get(const std::string& path) const {
  return send({.path = path});
}

http_reply http_client::post(const std::string& path, const json& body,
                             std::map<std::string, std::string> headers) const {
  return send({.method = "POST", .path = path, .body = body.dump(), .headers = std::move(headers)});
}

http_reply http_client::remove(const std::string& path) const {
  return send({.method = "DELETE", .path = path});
}

json sse_frame::parsed() const {
  return parse_json(data).value_or(json());
}

std::uint64_t sse_frame::offset() const {
  const auto dash = id.rfind('-');
  return dash == std::string::npos ? 0 : std::strtoull(id.c_str() + dash + 1, nullptr, 10);
}

struct sse_reader::connection {
  http_client client;
  std::string url;
  options how;
  easy_handle handle = new_handle();
  header_list sent = nullptr;
  CURLM* multi = curl_multi_init();
  std::map<std::string, std::string> headers = {};
  int announced = 0;          ///< the status line's
  std::atomic<int> status{0}; ///< of the whole head
  std::atomic<bool> stalled{false};
  std::atomic<bool> leaving_now{false};
  std::atomic<bool> reset{false};
  std::atomic<curl_socket_t> socket{CURL_SOCKET_BAD};

  ~connection() {
    curl_multi_remove_handle(multi, handle.get());
    handle.reset();
    curl_multi_cleanup(multi);
  }
};

sse_reader::sse_reader(const http_client& client, const std::string& path)
  : sse_reader(client, path, options{}) {}

sse_reader::sse_reader(const http_client& client, const std::string& path, options how)
  : connection_(new connection{client, client.url() + path, std::move(how)}) {
  connection& c = *connection_;
  c.stalled = c.how.stalled;
  c.how.headers.try_emplace("Accept", "text/event-stream");
  c.sent = make_headers(c.client, c.how.headers, c.how.body.has_value());
  set_request(c.handle.get(), c.url, c.how.method, c.how.body);
  curl_easy_setopt(c.handle.get(), CURLOPT_HTTPHEADER, c.sent.get());
  curl_easy_setopt(c.handle.get(), CURLOPT_MAX_RECV_SPEED_LARGE,
                   static_cast<curl_off_t>(c.how.bytes_per_second));
  thread_ = std::thread([this] { run(); });
}

sse_reader::~sse_reader() {
  leave();
}

void sse_reader::run() {
  connection& c = *connection_;
  CURL* handle = c.handle.get();
  const auto on_body = +[](char* data, std::size_t, std::size_t count, void* self) -> std::size_t {
    auto* reader = static_cast<sse_reader*>(self);
    if (reader->connection_->stalled) {
      return CURL_WRITEFUNC_PAUSE;
    }
    reader->take({data, count});
    return count;
  };
  const auto on_header =
    +[](char* data, std::size_t, std::size_t count, void* self) -> std::size_t {
    auto* reader = static_cast<sse_reader*>(self);
    const std::lock_guard lock(reader->mutex_);
    const std::string_view line(data, count);
    if (line.starts_with("HTTP/") && line.find(' ') != std::string_view::npos) {
      reader->connection_->announced = std::atoi(std::string(line.substr(line.find(' '))).c_str());
    }
    take_header(reader->connection_->headers, {data, count});
    if (line == "\r\n") {
      reader->connection_->status = reader->connection_->announced;
    }
    reader->changed_.notify_all();
    return count;
  };
  const auto on_socket = +[](void* self, curl_socket_t socket, curlsocktype) -> int {
    static_cast<sse_reader*>(self)->connection_->socket = socket;
    return CURL_SOCKOPT_OK;
  };
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, on_socket);
  curl_easy_setopt(handle, CURLOPT_SOCKOPTDATA, this);
  curl_multi_add_handle(c.multi, handle);

  constexpr int idle_ms = 1000;
  int running = 1;
  while (running > 0 && !c.leaving_now) {
    curl_multi_perform(c.multi, &running);
    if (running > 0) {
      curl_multi_poll(c.multi, nullptr, 0, idle_ms, nullptr);
      if (!c.stalled) {
        curl_easy_pause(handle, CURLPAUSE_CONT);
      }
    }
  }
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(c.multi, &left);
  if (c.reset && c.socket != CURL_SOCKET_BAD) {
    const linger at_once{1, 0};
    ::setsockopt(c.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  const std::lock_guard lock(mutex_);
  properly_ =
    message != nullptr && message->msg == CURLMSG_DONE && message->data.result == CURLE_OK;
  ended_ = true;
  changed_.notify_all();
}

void sse_reader::take(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  raw_ += bytes;
  for (auto end = raw_.find("\n\n", parsed_to_); end != std::string::npos;
       end = raw_.find("\n\n", parsed_to_)) {
    sse_frame frame = parse_frame(std::string_view(raw_).substr(parsed_to_, end - parsed_to_));
    parsed_to_ = end + 2;
    if (!frame.data.empty()) {
      frames_.push_back(std::move(frame));
    }
  }
  changed_.notify_all();
}

bool sse_reader::wait(const std::function<bool(const frames&)>& enough, milliseconds limit) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return ended_ || enough(frames_); });
  return enough(frames_);
}

bool sse_reader::wait_for(const std::string& type, milliseconds limit) const {
  return wait(
    [&](const frames& seen) {
      return std::any_of(seen.begin(), seen.end(), [&](const sse_frame& f) {
        return f.event == type || (f.event.empty() && string_or(f.parsed(), "type") == type);
      });
    },
    limit);
}

bool sse_reader::wait_for_status(milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return ended_ || connection_->status != 0; });
}

bool sse_reader::wait_for_end(milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return ended_; });
}

sse_reader::frames sse_reader::all() const {
  const std::lock_guard lock(mutex_);
  return frames_;
}

sse_reader::frames sse_reader::events() const {
  frames kept = all();
  kept.erase(
    std::remove_if(kept.begin(), kept.end(), [](const sse_frame& f) { return !is_log_event(f); }),
    kept.end());
  return kept;
}

std::string sse_reader::raw() const {
  const std::lock_guard lock(mutex_);
  return raw_;
}

int sse_reader::status() const {
  return connection_->status;
}

std::map<std::string, std::string> sse_reader::headers() const {
  const std::lock_guard lock(mutex_);
  return connection_->headers;
}

bool sse_reader::ended_properly() const {
  const std::lock_guard lock(mutex_);
  return ended_ && properly_;
}

std::string sse_reader::last_id() const {
  const std::lock_guard lock(mutex_);
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (!frame->id.empty()) {
      return frame->id;
    }
  }
  return {};
}

void sse_reader::resume() {
  connection_->stalled = false;
  curl_multi_wakeup(connection_->multi);
}

void sse_reader::leave(leaving how) {
  if (!thread_.joinable()) {
    return;
  }
  if (how == leaving::silently) {
    cut_off(connection_->socket);
    return;
  }
  connection_->reset = how == leaving::by_reset;
  connection_->leaving_now = true;
  curl_multi_wakeup(connection_->multi);
  thread_.join();
  curl_multi_remove_handle(connection_->multi, connection_->handle.get());
}

std::vector<sse_frame> parse_sse(std::string_view body) {
  std::vector<sse_frame> frames;
  while (!body.empty()) {
    const auto end = body.find("\n\n");
    sse_frame frame = parse_frame(body.substr(0, end));
    if (!frame.data.empty()) {
      frames.push_back(std::move(frame));
    }
    body = end == std::string_view::npos ? std::string_view{} : body.substr(end + 2);
  }
  return frames;
}

std::string url_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.') {
      encoded += c;
    } else {
      encoded += '%';
      encoded += digits[byte >> 4];
      encoded += digits[byte & 0xf];
    }
  }
  return encoded;
}

} // namespace tidemark::test
