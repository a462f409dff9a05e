#include "actors/workspace_loader.hpp"

#include "actors/workspace_directory.hpp"
#include "base/logging.hpp"

#include <caf/actor_system.hpp>

namespace tidemark {
namespace {

workspace_state last_snapshot(const event_log& log, const stream_info& stream) {
  const auto stored = log.get(table::meta, record_key::snapshot(stream.id));
  if (!stored || !*stored)
    return {};
  auto state = restore(**stored);
  if (!state) {
    // The events hold everything that a snapshot does.
    logging::warning("workspace", "replaying {} from its first event: {}", stream.name,
                     state.error().describe());
    return {};
  }
  if (state->stream != stream.id || state->head > stream.head)
    return {};
  return std::move(*state);
}

} // namespace

expected<loaded_workspace> load_workspace(event_log& log, const std::string& root,
                                          const std::string& name) {
  auto stream = log.acquire(name);
  if (!stream)
    return fail(errc::unavailable, "workspace " + name + " cannot be opened", stream.error());
  auto path = root.empty() ? expected<std::string>{} : make_workspace_directory(root, name);
  if (!path)
    return tl::unexpected(path.error());
  loaded_workspace loaded{*stream, last_snapshot(log, *stream), std::move(*path)};
  while (loaded.state.head < stream->head) {
    const auto read = log.read(stream->id, loaded.state.head.next(), {}, [&](const event_view& e) {
      evolve(loaded.state, e);
      return true;
    });
    if (!read)
      return fail(errc::unavailable, "workspace " + name + " cannot be read back", read.error());
    if (read->events == 0)
      return fail(errc::corrupt, "workspace " + name + " lacks events after offset "
                                   + std::to_string(loaded.state.head.value));
  }
  auto consumers = stored_consumers(log, name);
  if (!consumers)
    return fail(errc::unavailable, "the consumers of workspace " + name + " cannot be read",
                consumers.error());
  loaded.state.consumers = std::move(*consumers);
  loaded.state.id = name;
  loaded.state.stream = stream->id;
  loaded.state.incarnation = stream->incarnation;
  return loaded;
}

workspace_loader_actor spawn_workspace_loader(caf::actor_system& system, event_log& log,
                                              std::string root) {
  return system.spawn<caf::detached>(
    [](workspace_loader_actor::pointer, event_log* from,
       const std::string& below) -> workspace_loader_actor::behavior_type {
      return {[from, below](recover_atom, const std::string& name) {
        return loaded_ptr{
          std::make_shared<const expected<loaded_workspace>>(load_workspace(*from, below, name))};
      }};
    },
    &log, std::move(root));
}

} // namespace tidemark
