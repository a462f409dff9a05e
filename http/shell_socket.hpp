#pragma once

#include "http/exchange.hpp"
#include "http/websocket.hpp"

#include <memory>
#include <string>

namespace tidemark {

/// Lets a client type into a shell and see what it shows, until one of them ends (contracts:
/// workspace API v1, Shell). Takes the client's place with it when it leaves.
task<void> serve_shell(exchange& x, std::unique_ptr<websocket> socket, shell_attachment at,
                       std::string shell);

} // namespace tidemark
