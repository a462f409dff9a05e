#pragma once

#include "base/error.hpp"
#include "http/api_tokens.hpp"
#include "http/failed_attempts.hpp"
#include "http/options.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tidemark {

/// Who makes a call.
struct caller {
  std::string name = "client"; ///< of its token; stands as `by` in events
  std::string id;              ///< of its token; empty if the server asks for none
  bool is_admin = false;       ///< its token grants `admin`, or the server asks for none
};

/// Why a call is not let in.
struct refused_entry {
  int status = 401; ///< 401, 403 or 429
  std::string detail;
  std::chrono::seconds retry_after{0}; ///< with 429
};

/// Decides by its token whether a call is let in. Any thread.
///
/// Tokens are INTERNAL_API_TOKEN, which grants everything and is named `internal`, and those of the
/// tokens file. The file is read again when it has changed, looked at once a second: so tokens are
/// changed without a restart. A file that is broken then leaves those in force that were read last;
/// one that is gone grants nothing.
///
/// An address that sent too many wrong tokens (http/failed_attempts.hpp) gets 429 for every token
/// that it has not been let in with before: guessing yields nothing, and whoever worked from there
/// goes on working.
class gatekeeper {
public:
  using clock = std::chrono::steady_clock;

  explicit gatekeeper(const http_options& options);
  ~gatekeeper();
  gatekeeper(const gatekeeper&) = delete;
  gatekeeper& operator=(const gatekeeper&) = delete;

  /// Reads the tokens file at start. Errors: those of `read_tokens_file`.
  expected<void> load();

  /// True if everybody who reaches the server may do everything.
  [[nodiscard]] bool open() const noexcept;

  /// `token`: as the caller gave it, nothing if it gave none. `address`: where it calls from.
  tl::expected<caller, refused_entry> admit(std::optional<std::string_view> token,
                                            std::string_view address, scope needed);

  /// Whether a caller that was let in still would be: its token may have been revoked since, or have
  /// expired. For calls that last.
  bool admits(const caller& who, scope needed);

private:
  struct file_state;

  void look_again(clock::time_point now);
  void complain(std::string why);
  [[nodiscard]] const api_token* find(std::string_view token, timestamp now) const;

  const http_options& options_;
  std::mutex mutex_; // guards all below
  std::vector<api_token> tokens_;
  std::unique_ptr<file_state> file_; ///< of the file that was last read or found unfit
  std::string complaint_;            ///< why it is not in force; empty: it is
  clock::time_point looked_{};
  failed_attempts failures_;
  std::set<std::pair<std::string, std::string>> proven_; // address and token id that were let in
};

} // namespace tidemark
