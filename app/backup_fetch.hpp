#pragma once

#include "app/api_client.hpp"
#include "storage/backup_manifest.hpp"

#include <functional>
#include <string_view>

// A copy of a running server's log, as `tidemark backup` gets it (http/backup_api.cpp).
namespace tidemark {

/// Has the server make a copy, and waits for that: the first one after its start hashes the whole log.
/// Errors: those of api_client::call; `internal` if the answer is no manifest that may be followed.
expected<backup_manifest> ask_for_copy(const api_address& server);

/// Takes one piece of a file, in order.
using copy_sink = std::function<expected<void>(std::string_view piece)>;

/// Fetches one file of a copy, and goes on where a connection breaks off. Never hands out more than the
/// manifest says; what it is must be checked by its hash. Errors: those of api_client::stream and of the
/// sink; `corrupt` if the server sends more.
expected<void> fetch_file(api_client& client, const backup_manifest& copy, const backup_file& file,
                          const copy_sink& take);

/// Tells the server that the copy is no longer needed. Where this fails it gives it up by itself.
void release_copy(api_client& client, const backup_manifest& copy);

} // namespace tidemark
