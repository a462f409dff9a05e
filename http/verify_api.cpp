#include "http/find_workspace.hpp"
#include "http/problem.hpp"
#include "http/query_values.hpp"
#include "http/router.hpp"
#include "storage/hash_chain.hpp"
#include "storage/log_checkpoint.hpp"

// Proof that the events of one workspace are unaltered, and what to compare all of them with later
// (docs/events.md, Verifying).
namespace tidemark {

namespace {

struct verdict {
  stream_info stream;
  chain_report report;
};

json to_json(const verdict& v) {
  auto body = json::object();
  body["workspace"] = v.stream.name;
  body["epoch"] = v.stream.incarnation.value;
  body["checked"] = v.report.checked;
  body["ok"] = !v.report.first_bad;
  body["first_bad"] = v.report.first_bad ? json(v.report.first_bad->value) : json(nullptr);
  body["problem"] = v.report.problem;
  body["head"] = v.stream.head.value;
  body["trimmed"] = v.stream.trimmed.value;
  body["hash"] = v.report.marked ? json(to_hex(*v.report.marked)) : json(nullptr);
  body["past_epochs"] = json::array();
  for (const auto& before : v.stream.past) {
    auto one = json::object();
    one["epoch"] = before.incarnation.value;
    one["last"] = before.last.value;
    body["past_epochs"].push_back(std::move(one));
  }
  body["first"] = v.report.first.value;
  auto removed = json::object();
  removed["events"] = v.report.removed;
  removed["deltas"] = v.report.emptied;
  body["removed"] = std::move(removed);
  return body;
}

task<void> verify(exchange& with) {
  const auto workspace = workspace_id::parse(with.param("id"));
  if (!workspace) {
    co_await send_error(with, workspace.error());
    co_return;
  }
  const auto to = count_of(with, "to");
  if (!to) {
    co_await send_error(with, to.error());
    co_return;
  }
  const auto* log = &with.services().log;
  const offset mark{to->value_or(0)};
  const auto check = [log, mark, id = workspace->str()]() -> expected<verdict> {
    auto stream = find_workspace(*log, id);
    if (!stream)
      return tl::make_unexpected(stream.error());
    auto report = log->verify(stream->id, mark);
    if (!report)
      return tl::make_unexpected(report.error());
    return verdict{std::move(*stream), std::move(*report)};
  };
  const auto result = co_await with.in_background(check);
  if (!result) {
    co_await send_error(with, result.error());
    co_return;
  }
  co_await with.send(200, dump_json(to_json(*result)));
}

task<void> checkpoint(exchange& with) {
  const auto* log = &with.services().log;
  const auto take = [log] { return canonical_text(checkpoint_of(log->heads(), now_utc())); };
  auto text = co_await with.blocking(take);
  co_await with.send(200, std::move(text));
}

} // namespace

void add_verify_routes(router& to) {
  to.add("GET", "/api/v1/workspaces/{id}/verify", verify);
  to.add("GET", "/api/v1/checkpoint", checkpoint);
}

} // namespace tidemark
