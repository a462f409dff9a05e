#include "http/audit_request.hpp"

#include "http/query_values.hpp"

namespace tidemark {

namespace {

expected<std::optional<timestamp>> time_of(const request_parameters& with, const char* name) {
  const auto text = with.query(name);
  if (!text || text->empty())
    return std::optional<timestamp>{};
  const auto parsed = parse_iso8601(*text);
  if (!parsed)
    return bad_parameter(name, parsed.error().message);
  return std::optional{*parsed};
}

expected<direction> way_of(const request_parameters& with) {
  const auto text = with.query("order").value_or("oldest");
  if (text == "oldest")
    return direction::oldest_first;
  if (text == "newest")
    return direction::newest_first;
  return bad_parameter("order", "must be oldest or newest");
}

expected<void> read_filter(const request_parameters& with, audit_filter& into) {
  into.types = list_of(with, "types");
  into.workspaces = list_of(with, "workspace");
  into.turn = with.query("turn").value_or("");
  into.tool = with.query("tool").value_or("");
  into.outcome = with.query("outcome").value_or("");
  into.text = with.query("text").value_or("");
  const auto since = time_of(with, "from");
  const auto until = time_of(with, "to");
  if (!since || !until)
    return tl::make_unexpected(since ? until.error() : since.error());
  into.since = *since;
  into.until = *until;
  return {};
}

expected<void> read_flags(const request_parameters& with, audit_request& into) {
  for (const auto& [name, flag] : {std::pair{"raw", &into.raw}, std::pair{"follow", &into.follow},
                                   std::pair{"progress", &into.progress}}) {
    const auto value = flag_of(with, name);
    if (!value)
      return tl::make_unexpected(value.error());
    *flag = *value;
  }
  return {};
}

} // namespace

audit_start resume_audit(const audit_request& what, epoch incarnation, position head) {
  if (!what.after)
    return {};
  const auto forward = what.way == direction::oldest_first;
  const position at{what.after->after.value};
  if (what.after->incarnation && *what.after->incarnation != incarnation)
    return {std::nullopt, gap_reason::other_epoch};
  if (forward && at > head)
    return {head.next(), gap_reason::ahead};
  if (forward)
    return {at.next(), std::nullopt};
  return {position{at.value > 0 ? at.value - 1 : 0}, std::nullopt};
}

expected<audit_request> parse_audit_request(const request_parameters& with,
                                            std::chrono::milliseconds max_wait) {
  audit_request out;
  auto after = cursor_of(with);
  if (!after)
    return tl::make_unexpected(after.error());
  out.after = *after;
  const auto limit = count_of(with, "limit");
  if (!limit)
    return tl::make_unexpected(limit.error());
  out.limit = *limit;
  const auto way = way_of(with);
  if (!way)
    return tl::make_unexpected(way.error());
  out.way = *way;
  if (auto read = read_filter(with, out.filter); !read)
    return tl::make_unexpected(read.error());
  if (auto read = read_flags(with, out); !read)
    return tl::make_unexpected(read.error());
  const auto wait = wait_of(with, max_wait);
  if (!wait)
    return tl::make_unexpected(wait.error());
  out.wait = *wait;
  if (out.way == direction::newest_first && (out.follow || out.wait.count() > 0))
    return bad_parameter("order", "newest looks back and cannot follow");
  return out;
}

} // namespace tidemark
