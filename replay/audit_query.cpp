#include "replay/audit_query.hpp"

#include "replay/audit_terms.hpp"

#include <algorithm>
#include <chrono>

namespace tidemark {

namespace {

/// How long an event may wait for its commit, while a disk is full for example, and still be found
/// by a question that has an end in time.
constexpr std::chrono::hours longest_wait{1};

/// Types of one family that are worth naming one by one.
constexpr std::size_t most_types = 1000;

bool fits(std::string_view wanted, std::string_view type) {
  return wanted.ends_with('*') ? type.starts_with(wanted.substr(0, wanted.size() - 1))
                               : type == wanted;
}

bool may_be_unsearchable(const std::vector<std::string>& types) {
  return std::ranges::any_of(types, [](const auto& each) { return fits(each, "item.delta"); });
}

std::string without_quotes(const std::string& quoted) {
  return quoted.substr(1, quoted.size() - 2);
}

} // namespace

audit_matcher::audit_matcher(audit_filter what)
  : filter_(std::move(what)),
    stored_text_(without_quotes(quote_json(filter_.text))) {}

bool audit_matcher::operator()(const event_view& e) const {
  const auto& [types, workspaces, turn, tool, outcome, text, since, until] = filter_;
  const auto among = [](const std::vector<std::string>& wanted, std::string_view value) {
    return wanted.empty()
           || std::ranges::any_of(wanted, [&](const auto& each) { return each == value; });
  };
  if (!types.empty()
      && std::ranges::none_of(types, [&](const auto& each) { return fits(each, e.type); }))
    return false;
  if (!among(workspaces, e.workspace) || (!turn.empty() && e.turn != turn))
    return false;
  if ((since && e.time < *since) || (until && e.time >= *until))
    return false;
  if (e.data.find(stored_text_) == e.data.npos)
    return false;
  if (tool.empty() && outcome.empty())
    return true;
  const auto data = parse_json(e.data);
  return data && (tool.empty() || tool_of(e.type, *data) == tool)
         && (outcome.empty() || outcome_of(e.type, *data) == outcome);
}

audit_query::audit_query(const event_log& log, audit_filter what, direction way)
  : log_(log),
    matches_(std::move(what)),
    way_(way) {}

bool audit_query::is_past(position at) const {
  return way_ == direction::oldest_first ? at > window_.last : at < window_.first;
}

expected<void> audit_query::prepare() {
  const auto& filter = matches_.filter();
  if (prepared_)
    return {};
  window_ = {position{1}, log_.head()};
  if (filter.since) {
    const auto first = log_.position_at(*filter.since);
    if (!first)
      return tl::unexpected(first.error());
    window_.first = *first;
  }
  if (filter.until) {
    const auto beyond = log_.position_at(filter.until->plus(longest_wait));
    if (!beyond)
      return tl::unexpected(beyond.error());
    window_.last = std::min(window_.last, position{beyond->value - 1});
  }
  groups_.clear();
  if (!filter.tool.empty())
    groups_.push_back({audit_term::tool(filter.tool)});
  if (!filter.outcome.empty())
    groups_.push_back({audit_term::outcome(filter.outcome)});
  if (auto added = add_type_group(); !added)
    return added;
  if (!groups_.empty() && !filter.turn.empty())
    groups_.push_back({audit_term::turn(filter.turn)});
  if (!groups_.empty() && !filter.workspaces.empty()) {
    auto& group = groups_.emplace_back();
    std::ranges::transform(filter.workspaces, std::back_inserter(group), audit_term::workspace);
  }
  if (groups_.empty() && !filter.turn.empty())
    if (auto narrowed = narrow_by_turn(); !narrowed)
      return narrowed;
  prepared_ = true;
  return {};
}

/// A family of types stands for those of it that the log has.
expected<void> audit_query::add_type_group() {
  const auto& filter = matches_.filter();
  if (filter.types.empty() || may_be_unsearchable(filter.types))
    return {};
  std::vector<std::string> group;
  for (const auto& type : filter.types) {
    if (!type.ends_with('*')) {
      group.push_back(audit_term::type(type));
      continue;
    }
    auto family = log_.terms(audit_term::type(type.substr(0, type.size() - 1)), most_types);
    if (!family)
      return tl::unexpected(family.error());
    std::ranges::move(*family, std::back_inserter(group));
  }
  groups_.push_back(std::move(group));
  return {};
}

/// A turn begins and, once it has ended, ends with events that have terms: between them lie all others.
expected<void> audit_query::narrow_by_turn() {
  const auto& filter = matches_.filter();
  const auto turn = audit_term::turn(filter.turn);
  const auto searchable = log_.searchable_from();
  if (searchable > window_.first)
    return {}; // it may have begun before the log had terms
  const auto place_of = [&](const term_groups& wanted, position from, direction way) {
    std::optional<position> found;
    read_limits one;
    one.max_events = 1;
    const auto note = [&](const event_view& e) {
      found = e.global;
      return false;
    };
    return log_.search(wanted, from, way, one, note).map([&](const auto&) { return found; });
  };
  const auto first = place_of({{turn}}, position{1}, direction::oldest_first);
  const auto last = place_of({{turn}}, window_.last, direction::newest_first);
  const auto end =
    place_of({{turn}, {audit_term::type("turn.completed")}}, window_.last, direction::newest_first);
  for (const auto* asked : {&first, &last, &end})
    if (!*asked)
      return tl::unexpected(asked->error());
  window_.first = std::max(window_.first, first->value_or(window_.last.next()));
  if (*end)
    window_.last = std::min(window_.last, last->value_or(window_.last));
  return {};
}

expected<std::uint64_t> audit_query::to_look_at(position from) {
  if (auto ready = prepare(); !ready)
    return tl::unexpected(ready.error());
  const auto first =
    way_ == direction::oldest_first ? std::max(from, window_.first) : window_.first;
  const auto last = way_ == direction::oldest_first ? window_.last : std::min(from, window_.last);
  return groups_.empty() && first <= last ? last.value - first.value + 1 : 0;
}

expected<position> audit_query::start() {
  if (auto ready = prepare(); !ready)
    return tl::unexpected(ready.error());
  return way_ == direction::oldest_first ? window_.first : window_.last;
}

expected<audit_query::progress> audit_query::read(position from, read_limits limits,
                                                  const event_visitor& visit) {
  if (auto ready = prepare(); !ready)
    return tl::unexpected(ready.error());
  const auto forward = way_ == direction::oldest_first;
  from = forward ? std::max(from, window_.first) : std::min(from, window_.last);
  if (is_past(from))
    return progress{from, 0, true};
  const auto searchable = log_.searchable_from();
  const auto by_search = !groups_.empty() && from >= searchable;
  // Where the way of finding changes.
  const auto border = [&](position at) {
    return forward ? !by_search && !groups_.empty() && at >= searchable
                   : by_search && at < searchable;
  };
  std::optional<position> stopped; // at an event that is for a later stretch, or beyond the window
  const auto select = [&](const event_view& e) {
    if (is_past(e.global) || border(e.global)) {
      stopped = e.global;
      return false;
    }
    return !matches_(e) || visit(e);
  };
  const auto read = log_.search(by_search ? groups_ : term_groups{}, from, way_, limits, select);
  if (!read)
    return tl::unexpected(read.error());
  progress done{stopped.value_or(read->next), read->events, read->reached_head};
  // What comes before the first searchable event is still to be looked at.
  if (read->reached_head && by_search && !forward && searchable > window_.first)
    done = {position{searchable.value - 1}, read->events, false};
  // What was committed since is for the next question, which may know more types of a family.
  if (forward)
    done.next = std::min(done.next, window_.last.next());
  done.reached_end = done.reached_end || is_past(done.next);
  return done;
}

} // namespace tidemark
