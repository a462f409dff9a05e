#include "app/commands.hpp"
#include "app/offline_log.hpp"
#include "base/json.hpp"
#include "storage/files.hpp"
#include "storage/hash_chain.hpp"
#include "storage/log_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ostream>

// `tidemark verify --checkpoint`: a log against what somebody has kept of it elsewhere (decision 028).
namespace tidemark {
namespace {

constexpr std::size_t most_checkpoint_bytes = 1 << 30;

/// What the log says now of a stream: nothing if it has none of that name.
using standing_source =
  std::function<expected<std::optional<stream_standing>>(const stream_mark& then)>;

expected<std::optional<stream_standing>> ask_log(const event_log& log, const stream_mark& then) {
  auto stream = log.find(then.workspace);
  if (!stream && stream.error().code == errc::not_found)
    return std::nullopt;
  if (!stream)
    return tl::unexpected(stream.error());
  auto chain = log.verify(stream->id, then.head);
  if (!chain)
    return tl::unexpected(chain.error());
  return stream_standing{std::move(*stream), std::move(*chain)};
}

std::uint64_t count_in(const json& object, const char* key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, int_or(object, key, 0)));
}

expected<std::optional<stream_standing>> ask_server(api_client& client, const stream_mark& then) {
  const auto response =
    client.call("GET", fmt::format("/api/v1/workspaces/{}/verify?to={}",
                                   percent_encoded(then.workspace), then.head.value));
  if (!response && response.error().code == errc::not_found)
    return std::nullopt;
  if (!response)
    return tl::unexpected(response.error());
  const auto parsed = parse_json(response->body);
  if (!parsed || !parsed->is_object())
    return fail(errc::internal, "the server's response is not JSON");
  stream_standing now;
  now.stream.name = then.workspace;
  now.stream.incarnation = epoch{count_in(*parsed, "epoch")};
  now.stream.head = offset{count_in(*parsed, "head")};
  now.stream.trimmed = offset{count_in(*parsed, "trimmed")};
  for (const auto& before : array_at(*parsed, "past_epochs"))
    now.stream.past.push_back({epoch{count_in(before, "epoch")}, offset{count_in(before, "last")}});
  now.chain.checked = count_in(*parsed, "checked");
  if (const auto bad = count_in(*parsed, "first_bad"); bad > 0)
    now.chain.first_bad = offset{bad};
  now.chain.problem = string_or(*parsed, "problem");
  now.chain.marked = digest_from_hex(string_or(*parsed, "hash"));
  return now;
}

expected<signed_checkpoint> read_checkpoint(const verify_options& what) {
  const auto text = files::read_whole(what.checkpoint, most_checkpoint_bytes);
  if (!text)
    return tl::unexpected(text.error());
  if (!*text)
    return fail(errc::not_found, fmt::format("there is no file {}", what.checkpoint));
  auto checkpoint = parse_checkpoint_file(**text);
  if (!checkpoint)
    return fail(checkpoint.error().code, what.checkpoint, checkpoint.error());
  return checkpoint;
}

/// How many streams do not hold what the checkpoint vouches for, and how many of the others retention
/// has shortened since.
struct comparison {
  std::size_t different = 0;
  std::size_t trimmed = 0;
};

/// Prints what is not as it was, a line a stream.
expected<comparison> compare(const log_checkpoint& checkpoint, const std::string& only,
                             const standing_source& now, terminal& to) {
  comparison found;
  for (const auto& then : checkpoint.streams) {
    if (!only.empty() && then.workspace != only)
      continue;
    const auto standing = now(then);
    if (!standing)
      return tl::unexpected(standing.error());
    if (const auto how = contradiction(then, *standing)) {
      ++found.different;
      to.out << fmt::format("{} {}\n", neutralised(then.workspace), neutralised(*how));
    } else if (const auto gone = (*standing)->stream.trimmed; gone > then.trimmed) {
      ++found.trimmed;
      to.out << fmt::format("{} holds what it held, but for events {} to {}, which retention has "
                            "removed since, as the log tells\n",
                            neutralised(then.workspace), then.trimmed.next().value, gone.value);
    }
  }
  return found;
}

std::string counted(std::size_t workspaces) {
  return workspaces == 1 ? "1 workspace" : fmt::format("{} workspaces", workspaces);
}

} // namespace

int run_verify_checkpoint(const api_address& server, const config& local,
                          const verify_options& what, terminal& to) {
  const auto refused = [&](const error& why) {
    const int code = report_local_failure(why, to);
    return why.code == errc::locked ? static_cast<int>(exit_cannot_start) : code;
  };
  const auto checkpoint = read_checkpoint(what);
  if (!checkpoint)
    return refused(checkpoint.error());
  if (what.public_key.empty()) {
    to.err << painted(to, tint::yellow, "warning: ")
           << "the signature is not checked: without --public-key the file itself is trusted\n";
  } else {
    const auto key = verifying_key::load(what.public_key);
    if (!key)
      return refused(key.error());
    if (const auto vouched = check_signature(*checkpoint, *key); !vouched)
      return refused(vouched.error());
  }
  const auto& content = checkpoint->content;
  const auto& streams = content.streams;
  if (!what.workspace.empty()
      && std::ranges::find(streams, what.workspace, &stream_mark::workspace) == streams.end())
    return refused({errc::not_found, fmt::format("the checkpoint of {} has no workspace \"{}\"",
                                                 iso8601(content.time), what.workspace)});
  expected<comparison> compared;
  if (what.offline) {
    const auto log = open_offline(local.values.log);
    if (!log)
      return refused(log.error());
    const auto from_log = [&](const stream_mark& then) { return ask_log(**log, then); };
    compared = compare(content, what.workspace, from_log, to);
    if (const auto alone = no_server_on(local.values.log.directory); !alone)
      return refused(alone.error());
  } else {
    api_client client{server};
    const auto from_server = [&](const stream_mark& then) { return ask_server(client, then); };
    compared = compare(content, what.workspace, from_server, to);
  }
  if (!compared)
    return what.offline ? refused(compared.error()) : report_failure(compared.error(), server, to);
  if (compared->different > 0) {
    to.err << fmt::format("{} of the checkpoint of {} {} what was there then\n",
                          counted(compared->different), iso8601(content.time),
                          compared->different == 1 ? "does not hold" : "do not hold");
    return exit_failed;
  }
  to.out << fmt::format("{} as at {}: nothing was altered{} or cut off{}\n",
                        what.workspace.empty() ? counted(streams.size()) : what.workspace,
                        iso8601(content.time), compared->trimmed > 0 ? "" : ", removed",
                        compared->trimmed > 0 ? ", nothing removed but by retention" : "");
  if (!what.offline)
    to.err << "So says the server itself. To prove it, verify a copy of its data directory with "
              "--offline.\n";
  return exit_ok;
}

} // namespace tidemark
