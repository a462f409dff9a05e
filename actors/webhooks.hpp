#pragma once

#include "actors/interfaces.hpp"
#include "actors/webhook_delivery.hpp"
#include "actors/webhook_options.hpp"
#include "metrics/instruments.hpp"
#include "replay/hub.hpp"

namespace tidemark {

/// What the webhooks work with. Everything outlives the actor system.
struct webhooks_deps {
  const event_log& log;
  hub& events;
  directory_actor directory;
  instruments& metrics;
  webhook_sender& sender;
  webhook_options options;
};

/// Spawns the one actor of all webhooks, on a thread of its own because it reads the log. It takes
/// up where the log says that each webhook is.
///
/// A webhook's events go one after the other, each with its own request. An event is done when its
/// receiver answered 2xx; that is told to the workspace, whose record says where to go on after a
/// restart. What was delivered but not yet recorded is delivered again: at least once, in order.
webhooks_actor spawn_webhooks(caf::actor_system& system, webhooks_deps deps);

} // namespace tidemark
