#pragma once

#include "base/error.hpp"
#include "base/time.hpp"
#include "process/child.hpp"
#include "process/terminal.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// What clients of terminals and the shells say to each other.
namespace tidemark {

/// Open a shell. Precondition: a valid workspace id, at least a program in argv.
struct shell_request {
  std::string workspace;
  std::vector<std::string> argv;
  terminal_size size;
  std::string by;
};

/// A shell as the list shows it.
struct shell_info {
  std::string id;
  std::string workspace;
  std::string cwd;
  int pid = 0;
  std::vector<std::string> argv;
  timestamp created;
  timestamp last_active; ///< of the last byte in either direction
};

/// Who attaches.
struct shell_client {
  std::function<void()> wake; ///< there is something to read; may be called on any thread
  bool keeps = false;         ///< the shell outlives this client
};

/// How a shell ended and why: its `program` ended, a `client` closed it, its last client left
/// (`disconnect`), none came for too long (`idle`), or the `server` stops.
struct shell_end {
  child_exit exit;
  std::string reason;
};

/// What a client has not read yet, or the first part of it.
struct shell_piece {
  std::string text;             ///< UTF-8; empty: nothing yet
  std::uint64_t cut = 0;        ///< bytes before `text` that are lost to this client
  std::optional<shell_end> end; ///< nothing follows
};

using shell_request_ptr = std::shared_ptr<const shell_request>;
using shell_info_ptr = std::shared_ptr<const expected<shell_info>>;
using shell_list_ptr = std::shared_ptr<const std::vector<shell_info>>;
using shell_client_ptr = std::shared_ptr<const shell_client>;
using shell_piece_ptr = std::shared_ptr<const shell_piece>;
/// Errors: `not_found`. The attachment is in actors/interfaces.hpp, for it names an actor.
struct shell_attachment;
using shell_attachment_ptr = std::shared_ptr<const expected<shell_attachment>>;

} // namespace tidemark
