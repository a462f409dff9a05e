#pragma once

#include "actors/shell_protocol.hpp"
#include "base/error.hpp"
#include "base/json.hpp"

#include <string>
#include <string_view>
#include <variant>

// Requests, answers and messages of shells as JSON (contracts: workspace API v1, Shell). Pure.
namespace tidemark {

/// The body of `POST /api/v1/shells`. Everything has a default; null reads as absent; unknown members
/// are ignored. Errors: `invalid_argument` naming the member.
expected<shell_request> parse_shell_request(std::string_view body);

/// One item of the list.
json shell_object(const shell_info& info);

/// What a client of a shell says.
struct typed_input {
  std::string bytes; ///< UTF-8
};
struct close_request {};
using shell_message = std::variant<typed_input, terminal_size, close_request>;
/// Errors: `invalid_argument` with what is wrong with the message.
expected<shell_message> parse_shell_message(std::string_view text);

/// What a shell's client hears. Safe as one line, as dump_json is.
std::string ready_frame(std::string_view shell);
/// `data` begins with a mark that people can read if `cut` bytes before it are lost to the client.
std::string output_frame(const shell_piece& piece);
std::string exit_frame(const shell_end& end);
std::string error_frame(std::string_view message);

} // namespace tidemark
