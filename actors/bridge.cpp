#include "actors/bridge.hpp"

#include <caf/sec.hpp>
#include <caf/to_string.hpp>

namespace tidemark {

tl::unexpected<error> gateway::fail_with(const caf::error& why) {
  const auto down = why == caf::sec::request_receiver_down || why.category() == caf::atom("exit");
  if (down)
    return fail(errc::unavailable, "the workspace is restarting; try again");
  return fail(errc::internal, "an actor failed: " + caf::to_string(why));
}

} // namespace tidemark
