#pragma once

#include <optional>
#include <string>
#include <string_view>

// Who may ask. Pure functions over header values; the connection calls them before anything else
// happens, so a refused request has no side effect.
namespace tidemark {

/// The token of `Bearer <token>`, the scheme in any case; nothing if the header has another form.
std::optional<std::string_view> bearer_token(std::string_view authorization);

/// The token of a request's target, `?token=`, taken for WebSockets only: what speaks them in a browser
/// cannot send headers (contracts: workspace API v1, Transport).
std::optional<std::string> token_of_query(std::string_view target);

/// Whether a browser page may have sent this on a user's behalf (field failure class B76).
///
/// A request with an `Origin` of another scheme, host or port is refused: a page on another port of
/// this machine is a stranger too. Without a token the server is open to everyone on this machine,
/// so then (`any_host` false) it also refuses `https`, which it does not speak, and a `Host` that a
/// stranger's DNS could have pointed here: only addresses, `localhost` and names without a dot are
/// taken. Returns the reason to refuse, or an empty text.
std::string refuse_origin(std::string_view host, std::string_view origin, bool any_host);

/// The same by the browser's own word: `Sec-Fetch-Site` is `same-origin` or `none`, or not sent, as
/// by everything that is not a browser. Returns the reason to refuse, or an empty text.
std::string refuse_site(std::string_view fetch_site);

/// True for `127.0.0.0/8`, `::1` and `localhost`.
bool is_loopback(std::string_view host);

} // namespace tidemark
