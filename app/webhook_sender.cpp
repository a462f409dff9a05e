#include "app/webhook_sender.hpp"

#include "app/curl_library.hpp"
#include "app/public_address.hpp"
#include "base/logging.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include <sys/socket.h>

namespace tidemark {
namespace {

using done_handler = std::function<void(webhook_answer)>;

struct posting {
  webhook_request what;
  done_handler done;
};

/// One request on its way. Its address is known to curl: it does not move.
struct transfer {
  transfer(const curl_library& library, posting given)
    : curl(library),
      handle(library.easy_init()),
      post(std::move(given)) {}
  ~transfer() {
    curl.easy_cleanup(handle);
    curl.slist_free_all(headers);
  }
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

  template <class Value>
  void set(CURLoption option, Value value) {
    curl.easy_setopt(handle, option, value);
  }

  const curl_library& curl;
  CURL* handle;
  curl_slist* headers = nullptr;
  posting post;
  std::size_t head_bytes = 0;
  std::size_t body_bytes = 0;
  bool refused_address = false;
};

/// More of an answer is not read: what counts is its status.
constexpr std::size_t longest_body = 64 << 10;
/// Of all its heads, those of `1xx` too, of which a receiver could send ever more.
constexpr std::size_t longest_head = 64 << 10;

std::size_t discard(char*, std::size_t, std::size_t size, void* user) {
  auto& so_far = static_cast<transfer*>(user)->body_bytes;
  so_far += size;
  return so_far > longest_body ? 0 : size;
}

std::size_t count_head(char*, std::size_t one, std::size_t size, void* user) {
  auto& so_far = static_cast<transfer*>(user)->head_bytes;
  so_far += one * size;
  return so_far > longest_head ? 0 : one * size;
}

curl_socket_t open_public_only(void* user, curlsocktype, curl_sockaddr* address) {
  if (!is_public_address(address->addr)) {
    static_cast<transfer*>(user)->refused_address = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void prepare(transfer& t, const webhook_options& options) {
  const auto& what = t.post.what;
  t.set(CURLOPT_PRIVATE, &t);
  t.set(CURLOPT_URL, what.url.c_str());
  t.set(CURLOPT_PROTOCOLS_STR, "http,https");
  t.set(CURLOPT_PROXY, ""); // its address would be judged instead of the receiver's
  t.set(CURLOPT_NOSIGNAL, 1L);
  t.set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.count()));
  t.set(CURLOPT_WRITEFUNCTION, &discard);
  t.set(CURLOPT_WRITEDATA, &t);
  t.set(CURLOPT_HEADERFUNCTION, &count_head);
  t.set(CURLOPT_HEADERDATA, &t);
  t.set(CURLOPT_POSTFIELDS, what.body.c_str());
  t.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(what.body.size()));
  if (!options.allow_private) {
    t.set(CURLOPT_OPENSOCKETFUNCTION, &open_public_only);
    t.set(CURLOPT_OPENSOCKETDATA, &t);
  }
  t.headers = t.curl.slist_append(t.headers, "Expect:"); // no round trip before the body
  for (const auto& each : what.headers)
    t.headers = t.curl.slist_append(t.headers, each.c_str());
  t.set(CURLOPT_HTTPHEADER, t.headers);
}

class curl_sender final : public webhook_sender {
public:
  explicit curl_sender(webhook_options options) : options_(options) {}

  ~curl_sender() override {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
      if (multi_)
        curl_->multi_wakeup(multi_);
    }
    if (thread_.joinable())
      thread_.join();
  }

  void send(webhook_request what, done_handler done) override {
    const std::lock_guard lock{mutex_};
    if (!multi_) {
      const auto library = curl_library::instance();
      if (!library) {
        done({0, library.error().message});
        return;
      }
      curl_ = *library;
      multi_ = curl_->multi_init();
      thread_ = std::thread{[this] { run(); }};
    }
    waiting_.push_back({std::move(what), std::move(done)});
    curl_->multi_wakeup(multi_);
  }

private:
  void run() {
    std::list<transfer> running;
    while (take_waiting(running)) {
      int still = 0;
      curl_->multi_perform(multi_, &still);
      constexpr int longest_wait_ms = 1000; // a wake-up ends it
      if (!finish_ended(running))
        curl_->multi_poll(multi_, nullptr, 0, longest_wait_ms, nullptr);
    }
    for (auto& each : running)
      curl_->multi_remove_handle(multi_, each.handle);
    running.clear();
    curl_->multi_cleanup(multi_);
  }

  /// Begins what may begin. False if all is to end.
  bool take_waiting(std::list<transfer>& running) {
    const std::lock_guard lock{mutex_};
    while (!stopping_ && !waiting_.empty()) {
      auto& begun = running.emplace_back(*curl_, std::move(waiting_.front()));
      waiting_.pop_front();
      prepare(begun, options_);
      curl_->multi_add_handle(multi_, begun.handle);
    }
    return !stopping_;
  }

  /// True if one has ended, so that another one may begin.
  bool finish_ended(std::list<transfer>& running) {
    int left = 0;
    auto some = false;
    while (const auto* message = curl_->multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE)
        continue;
      const auto ended = std::find_if(running.begin(), running.end(), [&](const transfer& t) {
        return t.handle == message->easy_handle;
      });
      auto answer = answer_of(*ended, message->data.result);
      auto done = std::move(ended->post.done);
      curl_->multi_remove_handle(multi_, ended->handle);
      running.erase(ended);
      done(std::move(answer));
      some = true;
    }
    return some;
  }

  webhook_answer answer_of(const transfer& t, CURLcode code) const {
    long status = 0;
    curl_->easy_getinfo(t.handle, CURLINFO_RESPONSE_CODE, &status);
    if (t.head_bytes > longest_head)
      return {0, "the head of its answer is longer than 64 KiB"};
    if (code == CURLE_OK || t.body_bytes > longest_body)
      return {static_cast<int>(status), {}};
    if (t.refused_address)
      return {0, "its address is not public (webhooks.allow_private)"};
    return {0, curl_->easy_strerror(code)};
  }

  const webhook_options options_;
  const curl_library* curl_ = nullptr; // set before the thread begins
  CURLM* multi_ = nullptr;             // likewise; ended by the thread
  std::mutex mutex_;                   // guards what follows
  std::deque<posting> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace

std::unique_ptr<webhook_sender> make_webhook_sender(webhook_options options) {
  return std::make_unique<curl_sender>(options);
}

} // namespace tidemark
