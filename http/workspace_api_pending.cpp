#include "http/parse_body.hpp"
#include "http/problem.hpp"
#include "http/v1_retold.hpp"
#include "http/v1_shapes.hpp"
#include "http/workspace_api.hpp"

#include <boost/beast/core/string.hpp>

#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace tidemark {

namespace {

/// The results that are on their way to some reader right now, so that two readers who ask at the
/// same time do not both get them. Shared by all I/O threads.
class offered_results {
public:
  /// Holds what one answer offers until it is settled or has failed.
  class hold {
  public:
    explicit hold(std::shared_ptr<offered_results> owner) : owner_(std::move(owner)) {}
    ~hold() {
      const std::lock_guard lock{owner_->mutex_};
      for (const auto& key : keys_)
        owner_->keys_.erase(key);
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;

    /// False if another reader is being given this result.
    bool take(const std::string& workspace, const std::string& id) {
      const std::lock_guard lock{owner_->mutex_};
      auto key = std::pair{workspace, id};
      if (!owner_->keys_.insert(key).second)
        return false;
      keys_.push_back(std::move(key));
      return true;
    }

  private:
    std::shared_ptr<offered_results> owner_;
    std::vector<std::pair<std::string, std::string>> keys_;
  };

private:
  std::mutex mutex_;
  std::set<std::pair<std::string, std::string>> keys_;
};

/// The ids that were pending until now; none of a workspace that no task has created yet.
task<expected<settle_reply>> settle(exchange& x, const std::string& workspace,
                                    std::vector<std::string> ids, const char* via) {
  settle_pending settled;
  settled.ids = std::move(ids);
  settled.via = via;
  settled.by = x.who().name;
  command what = std::move(settled);
  auto reply = co_await x.ask<settle_reply>(workspace, false, std::move(what));
  if (!reply && reply.error().code == errc::not_found)
    co_return settle_reply{};
  co_return reply;
}

/// A pending result is what the stream would have given: the workspace itself keeps only the final
/// message.
std::vector<pending_result> with_whole_text(const event_log& log, const std::string& workspace,
                                            std::vector<pending_result> results) {
  for (auto& result : results) {
    auto whole = result.is_error ? std::nullopt : retell(log, workspace, result.turn);
    if (whole)
      result.text = std::move(*whole);
  }
  return results;
}

/// `?ack=`: whether reading takes the results. A value that may have meant "no" must not take them.
expected<bool> takes_results(const exchange& x) {
  const auto given = x.query("ack");
  if (!given)
    return true;
  const auto is = [&](std::string_view word) {
    return boost::beast::iequals(*given, {word.data(), word.size()});
  };
  if (is("true") || is("1"))
    return true;
  if (is("false") || is("0"))
    return false;
  return fail(errc::invalid_argument, "query \"ack\": must be true or false");
}

/// Streamed, because only so does the end of the answer tell whether the client has all of it.
task<bool> deliver(exchange& x, const json& body) {
  const std::map<std::string, std::string> headers;
  const auto out = co_await x.stream(200, "application/json", headers);
  const auto text = dump_json(body);
  const auto written = co_await out->write(text);
  if (!written)
    co_return false;
  co_return co_await out->finish();
}

/// A client that is gone before it has acknowledged the answer is offered the same results again.
task<void> read_pending(exchange& x, std::shared_ptr<offered_results> offered) {
  const auto id = co_await workspace_of(x);
  if (id.empty())
    co_return;
  const auto takes = takes_results(x);
  if (!takes) {
    auto why = takes.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  command what = get_pending{};
  auto reply = co_await x.ask<pending_reply>(id, false, std::move(what));
  if (!reply && reply.error().code != errc::not_found) {
    auto why = std::move(reply.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto results = reply ? std::move(reply->results) : std::vector<pending_result>{};
  const auto peeks = !*takes;
  offered_results::hold hold{std::move(offered)};
  if (!peeks)
    std::erase_if(results, [&](const pending_result& r) { return !hold.take(id, r.id); });
  if (!results.empty()) {
    auto work = [&log = x.services().log, id, found = std::move(results)]() mutable {
      return with_whole_text(log, id, std::move(found));
    };
    results = co_await x.blocking(std::move(work));
  }
  auto body = pending_object(id, results);
  if (peeks || results.empty()) {
    co_await send_json(x, std::move(body));
    co_return;
  }
  const auto acknowledged = co_await deliver(x, body);
  if (!acknowledged)
    co_return;
  std::vector<std::string> ids;
  for (auto& result : results)
    ids.push_back(std::move(result.id));
  co_await settle(x, id, std::move(ids), "poll");
}

task<void> acknowledge(exchange& x) {
  const auto id = co_await workspace_of(x);
  if (id.empty())
    co_return;
  auto ids = co_await parse_body(x, parse_ack_request);
  if (!ids) {
    auto why = std::move(ids.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  const auto settled = co_await settle(x, id, std::move(*ids), "ack");
  if (!settled) {
    auto why = settled.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto body = json::object();
  body["status"] = "ok";
  body["workspace_id"] = id;
  body["acknowledged"] = json(settled->ids);
  co_await send_json(x, std::move(body));
}

} // namespace

void add_workspace_pending_routes(router& to) {
  auto offered = std::make_shared<offered_results>();
  to.add(
    "GET", "/api/v1/workspaces/{id}/pending-results",
    [offered](exchange& x) { return read_pending(x, offered); },
    scope::write); // reading takes them away
  to.add("POST", "/api/v1/workspaces/{id}/pending-results/ack", acknowledge);
}

} // namespace tidemark
