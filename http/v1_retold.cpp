#include "http/v1_retold.hpp"

#include "actors/workspace_core.hpp"
#include "base/json.hpp"
#include "http/v1_translation.hpp"

namespace tidemark {

namespace {

/// Where the turn begins in its stream; nothing if it is not known.
std::optional<offset> start_of(const event_log& log, const stream_info& stream,
                               const std::string& turn) {
  const auto stored = log.get(table::turns, record_key::turn(stream.id, turn));
  if (!stored || !*stored)
    return std::nullopt;
  const auto record = parse_json(**stored);
  const auto at = record ? int_or(*record, "queued_at", 0) : 0;
  if (at <= 0)
    return std::nullopt;
  return offset{static_cast<std::uint64_t>(at)};
}

} // namespace

std::optional<std::string> retell(const event_log& log, std::string_view workspace,
                                  const std::string& turn) {
  const auto stream = log.find(workspace);
  const auto start = stream ? start_of(log, *stream, turn) : std::nullopt;
  if (!start)
    return std::nullopt;
  v1_translation translation{{turn, {}, {}}, {}};
  std::string text;
  const auto collect = [&](const event_view& e) {
    for (const auto& frame : translation.on_event(e, {}))
      text += string_or(frame.body, "chunk");
    return !translation.over();
  };
  auto next = *start;
  while (!translation.over()) {
    const auto progress = log.read(stream->id, next, read_limits{}, collect);
    if (!progress || (progress->reached_head && !translation.over()))
      return std::nullopt;
    next = progress->next;
  }
  if (translation.failure())
    return std::nullopt;
  return text;
}

} // namespace tidemark
