#pragma once

#include "base/error.hpp"
#include "base/time.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// The tokens file (`http.tokens_file`): who may call, by name, and what each may do. It holds hashes
// only: whoever reads it can call nothing. Pure functions over its text; http/gatekeeper.hpp
// applies them to requests, app/token_command.cpp changes the file.
//
//   {"tokens":[{"name":"auditor","sha256":"<64 hex digits>","scopes":["read"],
//               "created":"2026-11-30T01:02:03.000Z","expires":"2027-11-30T01:02:03.000Z"}]}
namespace tidemark {

/// What a call needs, and what a token grants. Each stands for itself; `admin` grants all.
enum class scope : std::uint8_t {
  none,  ///< needs no token at all: `GET /health`
  read,  ///< looking: workspaces, turns, events, figures
  write, ///< doing: tasks, cancels, resets, taking results
  admin  ///< shells and model providers
};

/// `read`, `write`, `admin`; `none` for a call that everybody may make.
std::string_view to_string(scope what) noexcept;

/// SHA-256 of a token. A token is 256 random bits, so that no salt and no slow hash is needed.
using token_hash = std::array<std::uint8_t, 32>;
token_hash hash_of_token(std::string_view token);

struct api_token {
  std::string name; ///< 1 to 64 of `A-Z a-z 0-9 . _ -`; stands as `by` in events. Not unique:
                    ///< for a change of tokens two may carry one name for a while.
  token_hash hash{};
  std::set<scope> scopes;
  std::string created;                ///< RFC 3339 as `iso8601` writes it
  std::optional<std::string> expires; ///< the same; from then on it grants nothing

  /// The first twelve digits of the hash: tells tokens of one name apart.
  [[nodiscard]] std::string id() const;
  [[nodiscard]] bool grants(scope needed) const;
  [[nodiscard]] bool expired(timestamp now) const;
};

/// Reads the file. Errors: `invalid_argument` naming the entry and what is wrong with it; unknown
/// members are refused, because a mistyped `expires` would grant for ever.
expected<std::vector<api_token>> parse_tokens(const std::string& file);

/// The file's text.
std::string tokens_text(const std::vector<api_token>& tokens);

/// Errors: `invalid_argument` saying which names are allowed.
expected<std::string> check_token_name(std::string name);

/// Errors: `invalid_argument` naming the scopes that there are.
expected<std::set<scope>> parse_scopes(const std::vector<std::string>& names);

/// `tmk_` and 43 random characters of base64url: 256 bits, with a mark by which scanners for leaked
/// secrets find it.
std::string new_token();

} // namespace tidemark
