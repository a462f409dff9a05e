#include "storage/chain_check.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

chain_check::chain_check(const stream_info& stream, offset mark)
  : stream_(stream),
    mark_(mark),
    previous_(stream.trimmed_hash) {
  report_.first = stream.first();
  report_.removed = stream.trimmed.value;
}

bool chain_check::found(offset at, std::string problem) {
  report_.first_bad = at;
  report_.problem = std::move(problem);
  return false;
}

bool chain_check::add(const event_view& e) {
  const auto payload = e.emptied ? *e.emptied : hasher_.payload(e.turn, e.data, e.raw);
  const auto under = stream_.written_under(e.at);
  previous_ = hasher_.link(previous_, {e.workspace, under, e.at, e.time, e.type, payload});
  if (previous_ != *e.hash)
    return found(e.at, "its hash does not follow from its content and the event before it");
  if (e.emptied && e.type != emptied_event_type)
    return found(e.at, "its content is gone, and retention removes that of item.delta only");
  ++report_.checked;
  if (e.at == mark_)
    report_.marked = previous_;
  if (e.emptied) {
    ++report_.emptied;
    if (!untold_.empty() && untold_.back().last.next() == e.at)
      untold_.back().last = e.at;
    else
      untold_.push_back({e.at, e.at});
  } else if (e.type == removal_event_type) {
    note(e);
  }
  return true;
}

void chain_check::note(const event_view& e) {
  const auto data = parse_json(e.data);
  auto told = data ? removal_note_of(*data) : std::nullopt;
  if (!told || told->to >= e.at)
    return;
  if (told->what == removal_kind::deltas)
    cover(told->from, told->to);
  else if (told->to >= stream_.trimmed && (!front_ || told->to < front_->to))
    front_ = std::move(told);
}

void chain_check::cover(offset from, offset to) {
  std::vector<range> left;
  for (const auto& each : untold_) {
    if (each.last < from || each.first > to) {
      left.push_back(each);
      continue;
    }
    if (each.first < from)
      left.push_back({each.first, offset{from.value - 1}});
    if (each.last > to)
      left.push_back({to.next(), each.last});
  }
  untold_ = std::move(left);
}

/// A front that was removed in part, because the server died in between, is told by an event that reaches
/// farther: its hash is then that of an event that is still there, and the chain leads to it.
void chain_check::check_front() {
  if (stream_.trimmed == offset{0})
    return;
  if (!front_)
    found(stream_.first(),
          fmt::format("the events up to {} are gone, and no event tells of their removal",
                      stream_.trimmed.value));
  else if (front_->to == stream_.trimmed && front_->hash != stream_.trimmed_hash)
    found(stream_.first(), "it does not follow from the event that was removed before it");
}

chain_report chain_check::finish() {
  if (!report_.first_bad && stream_.head > stream_.trimmed && previous_ != stream_.head_hash)
    found(stream_.head, "its hash is not the one recorded for the head of the stream");
  if (!report_.first_bad && !untold_.empty())
    found(untold_.front().first, "its content is gone, and no event tells of its removal");
  if (!report_.first_bad)
    check_front();
  return std::move(report_);
}

} // namespace tidemark
