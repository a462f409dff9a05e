#include "storage/commit_planner.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tidemark {

void commit_planner::know(const stream_info& stream, epoch newest) {
  known_.try_emplace(stream.id, known_stream{stream, newest, false});
}

std::optional<append_refusal> commit_planner::judge(const append_request& request) const {
  const auto found = known_.find(request.stream);
  if (found == known_.end())
    return refuse(request,
                  {errc::not_found, fmt::format("the log has no stream {}", request.stream.value)});
  const auto& [info, newest, touched] = found->second;
  if (request.incarnation != info.incarnation)
    return refuse(request,
                  {errc::fenced, fmt::format("\"{}\" is at epoch {}, the writer at {}", info.name,
                                             info.incarnation.value, request.incarnation.value)});
  if (info.ended)
    return refuse(request,
                  {errc::fenced, fmt::format("epoch {} of \"{}\" has ended; acquire the next one",
                                             info.incarnation.value, info.name)});
  if (request.expected != info.head)
    return refuse(request, {errc::wrong_offset,
                            fmt::format("the head of \"{}\" is {}, the writer expected {}",
                                        info.name, info.head.value, request.expected.value)});
  if (request.events.empty() && request.ends_stream)
    return refuse(request, {errc::invalid_argument, "a stream ends with an event"});
  for (const auto& e : request.events)
    if (const auto size = e.data.size() + (e.raw ? e.raw->size() : 0);
        size > event_log::max_event_bytes)
      return refuse(request,
                    {errc::too_large, fmt::format("an event of {} bytes exceeds the limit of {}",
                                                  size, event_log::max_event_bytes)});
  return std::nullopt;
}

append_refusal commit_planner::refuse(const append_request& request, error why) const {
  const auto found = known_.find(request.stream);
  if (found == known_.end())
    return {std::move(why), offset{}, epoch{}};
  const auto& [info, newest, touched] = found->second;
  return {std::move(why), info.head, newest};
}

appended commit_planner::accept(const append_request& request) {
  auto& known = known_.at(request.stream);
  auto& info = known.info;
  appended result{info.head.next(), info.head, next_, {}};
  if (request.events.empty())
    return result;
  result.hashes.reserve(request.events.size());
  for (const auto& e : request.events) {
    info.head = info.head.next();
    const auto payload = hasher_.payload(e.turn, e.data, e.raw ? *e.raw : std::string_view{});
    info.head_hash = hasher_.link(
      info.head_hash, {info.name, info.incarnation, info.head, e.time, e.type, payload});
    result.hashes.push_back(info.head_hash);
    newest_ = std::max(newest_, e.time);
  }
  info.ended = request.ends_stream;
  result.last = info.head;
  next_ = next_.plus(request.events.size());
  if (!runs_.empty() && runs_.back().stream == request.stream)
    runs_.back().count += request.events.size();
  else
    runs_.push_back({request.stream, result.first, request.events.size()});
  known.touched = true;
  return result;
}

std::vector<const stream_info*> commit_planner::touched() const {
  std::vector<const stream_info*> streams;
  for (const auto& [id, known] : known_)
    if (known.touched)
      streams.push_back(&known.info);
  std::ranges::sort(streams, {}, [](const stream_info* stream) { return stream->id; });
  return streams;
}

} // namespace tidemark
