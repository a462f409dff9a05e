#include "app/commands.hpp"
#include "base/time.hpp"
#include "http/api_tokens.hpp"
#include "http/tokens_file.hpp"
#include "storage/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <ostream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark {
namespace {

using token_list = std::vector<api_token>;

int refuse(const error& why, terminal& to) {
  to.err << painted(to, tint::red, "error: ") << neutralised(why.describe()) << '\n';
  return why.code == errc::invalid_argument ? exit_usage : exit_failed;
}

expected<token_list> read_tokens(const std::string& path) {
  auto tokens = read_tokens_file(path);
  if (!tokens && tokens.error().code == errc::not_found)
    return token_list{};
  return tokens;
}

/// Writes the file anew and leaves it to whom it belonged: a server that may read it, though it is
/// another user's, still may.
expected<void> write_tokens(const std::string& path, const token_list& tokens) {
  struct stat before {};
  const auto was_there = ::stat(path.c_str(), &before) == 0;
  if (auto written = files::write_durably(path, tokens_text(tokens)); !written || !was_there)
    return written;
  constexpr mode_t permissions = 0777;
  struct stat now {};
  ::stat(path.c_str(), &now);
  const auto moved = (now.st_uid != before.st_uid || now.st_gid != before.st_gid)
                     && ::chown(path.c_str(), before.st_uid, before.st_gid) != 0;
  if (moved || ::chmod(path.c_str(), before.st_mode & permissions) != 0)
    return fail(errc::io,
                fmt::format("{} was written, but its owner or mode could not be kept: see "
                            "to it that the server can read it",
                            path));
  return {};
}

/// Holds the lock beside the file, so that two commands at a time do not lose one's change. Its end
/// gives it back, also after SIGKILL.
class file_lock {
public:
  explicit file_lock(const std::string& path)
    : descriptor_(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    held_ = descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) == 0;
  }
  ~file_lock() {
    if (descriptor_ >= 0)
      ::close(descriptor_);
  }
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;

  [[nodiscard]] bool held() const { return held_; }

private:
  int descriptor_;
  bool held_ = false;
};

template <class Change>
expected<void> change_tokens(const std::string& path, Change change) {
  const auto directory = std::filesystem::absolute(path).parent_path();
  if (auto made = files::make_directory(directory); !made)
    return made;
  const file_lock lock{path};
  if (!lock.held())
    return fail(errc::io, fmt::format("cannot lock {}.lock", path));
  auto tokens = read_tokens(path);
  if (!tokens)
    return tl::make_unexpected(tokens.error());
  if (expected<void> changed = change(*tokens); !changed)
    return changed;
  return write_tokens(path, *tokens);
}

int create(const std::string& path, const token_options& what, terminal& to) {
  auto name = check_token_name(what.name);
  auto scopes = parse_scopes(what.scopes);
  if (!name || !scopes)
    return refuse(name ? scopes.error() : name.error(), to);
  if (*name == "internal" || *name == "client")
    return refuse(
      {errc::invalid_argument,
       fmt::format("\"{}\" stands in events for callers without a token of this file", *name)},
      to);
  const auto secret = new_token();
  const auto now = now_utc();
  api_token token;
  token.name = std::move(*name);
  token.hash = hash_of_token(secret);
  token.scopes = std::move(*scopes);
  token.created = iso8601(now);
  if (what.lifetime)
    token.expires = iso8601(now.plus(*what.lifetime));
  const auto changed = change_tokens(path, [&](token_list& tokens) -> expected<void> {
    tokens.push_back(token);
    return {};
  });
  if (!changed)
    return refuse(changed.error(), to);
  to.out << secret << '\n';
  to.err << fmt::format("Token {} ({}). It is shown this once; {} holds its hash. A running server "
                        "takes it within a second.\n",
                        token.name, token.id(), neutralised(path));
  return exit_ok;
}

int list(const std::string& path, terminal& to) {
  const auto tokens = read_tokens(path);
  if (!tokens)
    return refuse(tokens.error(), to);
  const auto now = now_utc();
  for (const auto& token : *tokens) {
    std::vector<std::string_view> scopes;
    for (const auto granted : token.scopes)
      scopes.push_back(to_string(granted));
    to.out << fmt::format("{:<24} {} {:<16} {}{}\n", token.name, token.id(),
                          fmt::format("{}", fmt::join(scopes, ",")),
                          token.expires ? "until " + *token.expires : "for ever",
                          token.expired(now) ? " (expired)" : "");
  }
  return exit_ok;
}

int revoke(const std::string& path, const token_options& what, terminal& to) {
  std::size_t gone = 0;
  const auto changed = change_tokens(path, [&](token_list& tokens) -> expected<void> {
    gone = std::erase_if(tokens, [&](const api_token& each) {
      return each.name == what.name || each.id() == what.name;
    });
    if (gone == 0)
      return fail(errc::not_found,
                  fmt::format("no token of {} has the name or id {}", path, what.name));
    return {};
  });
  if (!changed)
    return refuse(changed.error(), to);
  to.err << fmt::format("{} revoked. A running server refuses {} within a second.\n",
                        gone == 1 ? "1 token" : fmt::format("{} tokens", gone),
                        gone == 1 ? "it" : "them");
  return exit_ok;
}

} // namespace

int run_token(const config& local, const token_options& what, terminal& to) {
  const auto& path = local.values.http.tokens_file;
  if (path.empty())
    return refuse({errc::invalid_argument,
                   "no tokens file is set: give --http-tokens-file <path>, the same to `serve` "
                   "(or TIDEMARK_HTTP_TOKENS_FILE, or http.tokens_file in tidemark.toml)"},
                  to);
  switch (what.action) {
  case token_options::create: return create(path, what, to);
  case token_options::list: return list(path, to);
  case token_options::revoke: return revoke(path, what, to);
  }
  return exit_usage;
}

} // namespace tidemark
