#pragma once

#include "actors/webhook_delivery.hpp"
#include "actors/webhook_options.hpp"

#include <memory>

namespace tidemark {

/// Posts over libcurl, on a thread of its own that begins with the first request. HTTP and HTTPS, no
/// redirect, no proxy; what the receiver answers beside its status is not kept, and read up to 64 KiB of
/// heads (more is a failure) and of a body (more is not waited for). An address is judged
/// when the connection is opened, so a name cannot lead elsewhere than it did when it was judged.
///
/// Destruction gives up what is on its way and drops its `done` uncalled.
std::unique_ptr<webhook_sender> make_webhook_sender(webhook_options options);

} // namespace tidemark
