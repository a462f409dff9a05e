#include "http/gatekeeper.hpp"

#include "base/logging.hpp"
#include "http/tokens_file.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace tidemark {

namespace {

constexpr auto look_every = std::chrono::seconds{1};
constexpr std::size_t max_proven = 4096;
constexpr std::string_view internal_name = "internal";

} // namespace

/// What tells that a file is another one than before.
struct gatekeeper::file_state {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = -1; // -1: there is none
  std::int64_t changed = 0;
  mode_t mode = 0;

  bool operator==(const file_state&) const = default;

  static file_state of(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0)
      return {.size = errno == ENOENT || errno == ENOTDIR ? off_t{-1} : off_t{0}};
    return {found.st_dev, found.st_ino, found.st_size,
            found.st_ctim.tv_sec * 1'000'000'000 + found.st_ctim.tv_nsec, found.st_mode};
  }
  [[nodiscard]] bool there() const { return size >= 0; }
};

gatekeeper::gatekeeper(const http_options& options)
  : options_(options),
    file_(std::make_unique<file_state>()) {
  if (options_.token.empty())
    return;
  api_token internal;
  internal.name = internal_name;
  internal.hash = hash_of_token(options_.token);
  internal.scopes = {scope::admin};
  tokens_.push_back(std::move(internal));
}

gatekeeper::~gatekeeper() = default;

expected<void> gatekeeper::load() {
  if (options_.tokens_file.empty())
    return {};
  const auto state = file_state::of(options_.tokens_file);
  auto read = read_tokens_file(options_.tokens_file);
  if (!read)
    return tl::make_unexpected(read.error());
  const std::lock_guard lock{mutex_};
  std::move(read->begin(), read->end(), std::back_inserter(tokens_));
  *file_ = state;
  looked_ = clock::now();
  return {};
}

bool gatekeeper::open() const noexcept {
  return !options_.asks_token();
}

tl::expected<caller, refused_entry> gatekeeper::admit(std::optional<std::string_view> token,
                                                      std::string_view address, scope needed) {
  if (open()) {
    auto anybody = caller{};
    anybody.is_admin = true;
    return anybody;
  }
  if (needed == scope::none)
    return caller{};
  const auto now = clock::now();
  const std::lock_guard lock{mutex_};
  look_again(now);
  if (!token)
    return tl::make_unexpected(
      refused_entry{401, "a bearer token is needed: Authorization: Bearer <token>"});
  const auto* known = find(*token, now_utc());
  auto proof = std::pair{std::string{address}, known ? known->id() : std::string{}};
  // What a guess would be told must not depend on whether it was right.
  const auto wait = failures_.wait_of(address, now);
  if (wait > wait.zero() && !(known && proven_.contains(proof)))
    return tl::make_unexpected(
      refused_entry{429, "too many wrong tokens came from this address; try again later", wait});
  if (!known) {
    failures_.add(address, now);
    return tl::make_unexpected(
      refused_entry{401, "the token is not one of this server's, or has expired"});
  }
  if (proven_.size() >= max_proven)
    proven_.clear();
  proven_.insert(std::move(proof));
  if (!known->grants(needed))
    return tl::make_unexpected(
      refused_entry{403, fmt::format("the token \"{}\" lacks the scope \"{}\" that this call needs",
                                     known->name, to_string(needed))});
  return caller{known->name, known->id(), known->grants(scope::admin)};
}

bool gatekeeper::admits(const caller& who, scope needed) {
  if (open() || needed == scope::none)
    return true;
  const std::lock_guard lock{mutex_};
  look_again(clock::now());
  const auto now = now_utc();
  return std::ranges::any_of(tokens_, [&](const api_token& each) {
    return each.id() == who.id && !each.expired(now) && each.grants(needed);
  });
}

/// One look at a local file a second, on the caller's thread: were it elsewhere, the first call after
/// a revocation would still be let in.
void gatekeeper::look_again(clock::time_point now) {
  if (options_.tokens_file.empty() || now - looked_ < look_every)
    return;
  looked_ = now;
  const auto state = file_state::of(options_.tokens_file);
  if (state == *file_)
    return;
  auto read = state.there() ? read_tokens_file(options_.tokens_file) : std::vector<api_token>{};
  // What it says is final until it changes; that it could not be read now is not: a revocation may
  // stand in it.
  const auto is_final = read || read.error().code == errc::invalid_argument;
  if (is_final)
    *file_ = state;
  if (!read) {
    complain(read.error().describe());
    return;
  }
  complaint_.clear();
  if (!state.there())
    logging::error("http", "{} (http.tokens_file) is gone: its tokens grant nothing now",
                   options_.tokens_file);
  const auto own = options_.token.empty() ? 0 : 1;
  tokens_.erase(tokens_.begin() + own, tokens_.end());
  std::move(read->begin(), read->end(), std::back_inserter(tokens_));
  logging::info("http", "{} was read again: {} tokens", options_.tokens_file,
                tokens_.size() - static_cast<std::size_t>(own));
}

/// Once, however often the same is found.
void gatekeeper::complain(std::string why) {
  if (why == complaint_)
    return;
  complaint_ = std::move(why);
  logging::error("http", "{} is broken, its former tokens stay in force: {}", options_.tokens_file,
                 complaint_);
}

/// Compares with every token, each in constant time, so that time tells nothing of how many there
/// are before the right one.
const api_token* gatekeeper::find(std::string_view token, timestamp now) const {
  const auto given = hash_of_token(token);
  const api_token* found = nullptr;
  for (const auto& each : tokens_)
    if (CRYPTO_memcmp(given.data(), each.hash.data(), given.size()) == 0 && !each.expired(now))
      found = &each;
  return found;
}

} // namespace tidemark
