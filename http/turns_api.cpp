#include "http/find_workspace.hpp"
#include "http/parse_body.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"
#include "http/turn_environment.hpp"

#include "actors/workspace_core.hpp"
#include "storage/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

// The native API of turns (docs/events.md, Native API).
namespace tidemark {

namespace {

constexpr std::size_t max_key_bytes = 255;
constexpr std::size_t default_page = 50;
constexpr std::size_t max_page = 500;
constexpr std::int64_t max_timeout_s = 7 * 24 * 3600;

tl::unexpected<error> bad_field(std::string_view field, std::string_view rule) {
  return fail(errc::invalid_argument, fmt::format("field \"{}\": {}", field, rule));
}

/// The member's text, `otherwise` empty if it is absent or null.
expected<std::string> text_field(const json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null())
    return std::string{};
  if (!found->is_string())
    return bad_field(name, "must be a string");
  return found->get<std::string>();
}

expected<std::map<std::string, std::string>> environment_field(const json& body) {
  std::map<std::string, std::string> out;
  const auto found = body.find("env");
  if (found == body.end() || found->is_null())
    return out;
  if (!found->is_object())
    return bad_field("env", "must be an object of strings");
  for (const auto& [name, value] : found->items()) {
    if (name.empty() || name.find('=') != name.npos || name.find('\0') != name.npos)
      return bad_field("env", "names must be non-empty and without '=' and NUL");
    if (!value.is_string() || value.get_ref<const std::string&>().find('\0') != std::string::npos)
      return bad_field("env." + name, "must be a string without NUL");
    out.emplace(name, value.get<std::string>());
  }
  if (auto fits = check_environment_size(out, "env"); !fits)
    return tl::make_unexpected(std::move(fits.error()));
  return out;
}

expected<submit_turn> parse_submit(const std::string& text, std::optional<std::string> key) {
  const auto parsed = parse_members(
    text, {"prompt", "source", "env", "model", "on_restart", "timeout_s", "metadata"});
  if (!parsed)
    return tl::make_unexpected(parsed.error());
  const auto& body = *parsed;
  submit_turn out;
  const auto prompt = body.find("prompt");
  if (prompt == body.end() || !prompt->is_string() || prompt->get_ref<const std::string&>().empty())
    return bad_field("prompt", "must be a non-empty string");
  out.prompt = prompt->get<std::string>();
  auto source = text_field(body, "source");
  auto model = text_field(body, "model");
  auto rule = text_field(body, "on_restart");
  auto environment = environment_field(body);
  if (!source || !model || !rule)
    return tl::make_unexpected(!source ? source.error() : !model ? model.error() : rule.error());
  if (!environment)
    return tl::make_unexpected(environment.error());
  if (!rule->empty() && *rule != "interrupt" && *rule != "retry")
    return bad_field("on_restart", "must be \"interrupt\" or \"retry\"");
  out.source = std::move(*source);
  out.model = std::move(*model);
  out.environment = std::move(*environment);
  out.on_restart = *rule == "retry" ? restart_rule::retry : restart_rule::interrupt;
  if (const auto limit = body.find("timeout_s"); limit != body.end() && !limit->is_null()) {
    const auto seconds = limit->is_number_integer() ? int_or(body, "timeout_s", 0) : 0;
    if (seconds < 1 || seconds > max_timeout_s)
      return bad_field(
        "timeout_s", fmt::format("must be a whole number of seconds from 1 to {}", max_timeout_s));
    out.timeout = std::chrono::seconds{seconds};
  }
  if (const auto metadata = body.find("metadata"); metadata != body.end() && !metadata->is_null()) {
    if (!metadata->is_object())
      return bad_field("metadata", "must be an object");
    out.metadata = *metadata;
  }
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (key
      && (key->empty() || key->size() > max_key_bytes
          || !std::all_of(key->begin(), key->end(), is_printable)))
    return fail(errc::invalid_argument,
                fmt::format("header Idempotency-Key: must be 1 to {} printable ASCII characters",
                            max_key_bytes));
  if (key) {
    out.idempotency_key = std::move(*key);
    auto hasher = sha256_hasher{};
    out.body_hash = to_hex(hasher.of(text));
  }
  return out;
}

/// The workspace of the route's `{id}`.
expected<workspace_id> named_workspace(const exchange& with) {
  return workspace_id::parse(with.param("id"));
}

task<void> submit(exchange& with) {
  const auto workspace = named_workspace(with);
  if (!workspace) {
    co_await send_error(with, workspace.error());
    co_return;
  }
  auto key = with.header("Idempotency-Key");
  const auto keyed = key.has_value();
  auto parse = [given = std::move(key)](const std::string& text) {
    return parse_submit(text, given);
  };
  auto turn = co_await parse_body(with, std::move(parse));
  if (!turn) {
    co_await send_error(with, turn.error());
    co_return;
  }
  if (const auto fits = check_size(*turn, with.services().max_prompt_bytes); !fits) {
    co_await send_error(with, fits.error());
    co_return;
  }
  turn->by = with.who().name;
  auto what = command{std::move(*turn)};
  const auto reply = co_await with.ask<submit_reply>(workspace->str(), true, std::move(what));
  if (!reply) {
    auto why = problem::of(reply.error());
    // The only conflict of a submission: its key belongs to a request with another body.
    if (keyed && reply.error().code == errc::conflict)
      why.status = 422;
    auto headers = std::map<std::string, std::string>{};
    co_await send_problem(with, std::move(why), std::move(headers));
    co_return;
  }
  auto body = json::object();
  body["turn"] = reply->turn;
  body["offset"] = reply->at.value;
  body["position"] = reply->global.value;
  body["epoch"] = reply->stream.incarnation.value;
  body["place"] = reply->place;
  body["repeated"] = reply->repeated;
  auto headers = std::map<std::string, std::string>{};
  headers["Location"] = "/api/v1/workspaces/" + workspace->str() + "/turns/" + reply->turn;
  co_await with.send(202, dump_json(body), std::move(headers));
}

struct page_request {
  std::size_t limit = default_page;
  std::string before; ///< a turn id; empty: from the newest
};

expected<page_request> page_of(const exchange& with) {
  page_request out;
  if (const auto text = with.query("limit")) {
    const auto* end = text->data() + text->size();
    const auto [stop, failed] = std::from_chars(text->data(), end, out.limit);
    if (failed != std::errc{} || stop != end || out.limit < 1)
      return fail(errc::invalid_argument,
                  fmt::format("query \"limit\": must be a number from 1 to {}", max_page));
    out.limit = std::min(out.limit, max_page);
  }
  if (const auto text = with.query("before")) {
    const auto turn = turn_id::parse(*text);
    if (!turn)
      return fail(errc::invalid_argument, "query \"before\"", turn.error());
    out.before = turn->str();
  }
  return out;
}

/// One page of stored turn records, joined as they are. Blocks on the disk.
expected<std::string> read_page(const event_log& log, const std::string& workspace,
                                const page_request& page) {
  const auto stream = find_workspace(log, workspace);
  if (!stream)
    return tl::make_unexpected(stream.error());
  const auto end = page.before.empty() ? std::string{} : record_key::turn(stream->id, page.before);
  auto out = std::string{R"({"turns":[)"};
  auto last = std::string{};
  auto count = std::size_t{0};
  auto more = false;
  const auto prefix = record_key::turns_of(stream->id);
  const auto take = [&](std::string_view key, std::string_view value) {
    if (!end.empty() && key >= end)
      return true;
    more = count == page.limit;
    if (more)
      return false;
    out += count++ == 0 ? "" : ",";
    out += value;
    last = key.substr(prefix.size());
    return true;
  };
  if (auto scanned = log.scan(table::turns, prefix, true, take); !scanned)
    return tl::make_unexpected(scanned.error());
  out += R"(],"next":)";
  out += more ? quote_json(last) : "null";
  out += '}';
  return out;
}

task<void> list(exchange& with) {
  auto workspace = named_workspace(with);
  auto page = page_of(with);
  if (!workspace || !page) {
    co_await send_error(with, workspace ? page.error() : workspace.error());
    co_return;
  }
  const auto* log = &with.services().log;
  const auto read = [log, name = workspace->str(), wanted = *page] {
    return read_page(*log, name, wanted);
  };
  auto text = co_await with.blocking(read);
  if (text)
    co_await with.send(200, std::move(*text));
  else
    co_await send_error(with, text.error());
}

/// The stored record of one turn. Blocks on the disk.
expected<std::string> read_turn(const event_log& log, const std::string& workspace,
                                const std::string& turn) {
  const auto stream = find_workspace(log, workspace);
  if (!stream)
    return tl::make_unexpected(stream.error());
  auto record = log.get(table::turns, record_key::turn(stream->id, turn));
  if (!record)
    return tl::make_unexpected(record.error());
  if (!*record)
    return fail(errc::not_found,
                fmt::format("workspace \"{}\" has no turn \"{}\"", workspace, turn));
  return std::move(**record);
}

struct turn_address {
  std::string workspace;
  std::string turn;
};

expected<turn_address> address_of(const exchange& with) {
  const auto workspace = named_workspace(with);
  if (!workspace)
    return tl::make_unexpected(workspace.error());
  const auto turn = turn_id::parse(with.param("turn"));
  if (!turn)
    return tl::make_unexpected(turn.error());
  return turn_address{workspace->str(), turn->str()};
}

task<expected<std::string>> stored_turn(exchange& with, turn_address at) {
  const auto* log = &with.services().log;
  const auto read = [log, where = std::move(at)] {
    return read_turn(*log, where.workspace, where.turn);
  };
  co_return co_await with.blocking(read);
}

task<void> get(exchange& with) {
  const auto at = address_of(with);
  if (!at) {
    co_await send_error(with, at.error());
    co_return;
  }
  auto text = co_await stored_turn(with, *at);
  if (text)
    co_await with.send(200, std::move(*text));
  else
    co_await send_error(with, text.error());
}

/// What the turn changed, as a patch that people and `git apply` read.
task<void> diff(exchange& with) {
  const auto at = address_of(with);
  if (!at) {
    co_await send_error(with, at.error());
    co_return;
  }
  const auto known = co_await stored_turn(with, *at);
  if (!known) {
    co_await send_error(with, known.error());
    co_return;
  }
  const auto& services = with.services();
  if (!services.patches) {
    const auto off =
      error{errc::unsupported, "what turns change is not recorded: agent.snapshots is off"};
    co_await send_error(with, off);
    co_return;
  }
  const auto deadline = services.options.answer_deadline;
  const auto patch = co_await with.actors().ask<patch_ptr>(
    deadline, services.patches, read_atom::value, at->workspace, at->turn);
  if (!patch || !**patch) {
    auto why = patch ? (*patch)->error() : patch.error();
    if (why.code == errc::not_found)
      why.message = "what this turn changed was not recorded, or it has not ended";
    co_await send_error(with, why);
    co_return;
  }
  co_await with.send_text(200, "text/x-diff; charset=utf-8", ***patch);
}

/// Cancel or interrupt: both stop exactly the named turn and say whether there was something to stop.
task<void> end_turn(exchange& with, turn_address at, command what) {
  const auto reply = co_await with.ask<cancel_reply>(at.workspace, false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  if (!reply->found) {
    // Over already, or never there: the record tells them apart.
    const auto known = co_await stored_turn(with, at);
    if (!known) {
      co_await send_error(with, known.error());
      co_return;
    }
  }
  auto body = json::object();
  body["turn"] = at.turn;
  body["cancelled"] = reply->cancelled;
  co_await with.send(200, dump_json(body));
}

task<void> cancel(exchange& with) {
  const auto at = address_of(with);
  if (!at) {
    co_await send_error(with, at.error());
    co_return;
  }
  auto request = cancel_turn{};
  request.turn = at->turn;
  request.by = with.who().name;
  auto what = command{std::move(request)};
  co_await end_turn(with, *at, std::move(what));
}

task<void> interrupt(exchange& with) {
  const auto at = address_of(with);
  if (!at) {
    co_await send_error(with, at.error());
    co_return;
  }
  auto request = interrupt_turn{};
  request.turn = at->turn;
  request.by = with.who().name;
  auto what = command{std::move(request)};
  co_await end_turn(with, *at, std::move(what));
}

} // namespace

void add_turn_routes(router& to) {
  to.add("POST", "/api/v1/workspaces/{id}/turns", submit);
  to.add("GET", "/api/v1/workspaces/{id}/turns", list);
  to.add("GET", "/api/v1/workspaces/{id}/turns/{turn}", get);
  to.add("DELETE", "/api/v1/workspaces/{id}/turns/{turn}", cancel);
  to.add("POST", "/api/v1/workspaces/{id}/turns/{turn}/interrupt", interrupt);
  to.add("GET", "/api/v1/workspaces/{id}/turns/{turn}/diff", diff);
}

} // namespace tidemark
