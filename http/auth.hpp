#pragma once

#include "http/options.hpp"

#include <string>
#include <string_view>

// Who may ask. Pure functions over header values; the connection calls them before anything else
// happens, so a refused request has no side effect.
namespace tidemark {

/// Compares without telling by its time how much of `given` is right.
bool same_secret(std::string_view given, std::string_view expected);

/// True if `authorization` is `Bearer <token>`, the scheme in any case.
bool bears_token(std::string_view authorization, std::string_view token);

/// What a client of a WebSocket shows instead of an Authorization header, which no browser lets a
/// page set there: `?token=` of the request's target as `Bearer <token>`. A header that is there wins.
std::string websocket_authorization(std::string_view authorization, std::string_view query);

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
