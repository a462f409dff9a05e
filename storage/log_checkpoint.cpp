#include "storage/log_checkpoint.hpp"

#include "storage/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tidemark {

namespace {

constexpr int checkpoint_version = 1;
constexpr std::int64_t checkpoint_precision = 1'000'000; // ns

tl::unexpected<error> no_checkpoint(std::string_view what) {
  return fail(errc::invalid_argument, fmt::format("this is no checkpoint: {}", what));
}

/// A whole number that is not negative.
std::optional<std::uint64_t> number_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned())
    return std::nullopt;
  return found->get<std::uint64_t>();
}

expected<stream_mark> parse_mark(const json& value) {
  if (!value.is_object())
    return no_checkpoint("a stream is no object");
  const auto name = string_at(value, "workspace");
  const auto incarnation = number_at(value, "epoch");
  const auto head = number_at(value, "head");
  const auto trimmed = number_at(value, "trimmed");
  const auto hash = digest_from_hex(string_or(value, "hash"));
  if (!name || !incarnation || !head || !trimmed || !hash)
    return no_checkpoint("a stream lacks workspace, epoch, head, trimmed or hash");
  return stream_mark{*name, epoch{*incarnation}, offset{*head}, offset{*trimmed}, *hash};
}

} // namespace

log_checkpoint checkpoint_of(const log_heads& heads, timestamp time) {
  time.nanoseconds -= time.nanoseconds % checkpoint_precision;
  log_checkpoint checkpoint{heads.incarnation, heads.head, time, {}};
  for (const auto& stream : heads.streams)
    checkpoint.streams.push_back(
      {stream.name, stream.incarnation, stream.head, stream.trimmed, stream.head_hash});
  std::ranges::sort(checkpoint.streams, {}, &stream_mark::workspace);
  return checkpoint;
}

std::string canonical_text(const log_checkpoint& checkpoint) {
  auto text = fmt::format(R"({{"log_epoch":{},"position":{},"streams":[)",
                          checkpoint.incarnation.value, checkpoint.head.value);
  auto streams = checkpoint.streams;
  std::ranges::sort(streams, {}, &stream_mark::workspace);
  std::string_view between = "\n";
  for (const auto& one : streams) {
    text += fmt::format(R"({}{{"epoch":{},"hash":"{}","head":{},"trimmed":{},"workspace":{}}})",
                        between, one.incarnation.value, to_hex(one.hash), one.head.value,
                        one.trimmed.value, quote_json(one.workspace));
    between = ",\n";
  }
  text += fmt::format("\n],\"time\":\"{}\",\"version\":{}}}\n", iso8601(checkpoint.time),
                      checkpoint_version);
  return text;
}

expected<log_checkpoint> parse_checkpoint(const json& value) {
  if (!value.is_object())
    return no_checkpoint("it is no object");
  if (const auto version = number_at(value, "version"); version != checkpoint_version)
    return no_checkpoint("its version is missing or unknown");
  const auto incarnation = number_at(value, "log_epoch");
  const auto head = number_at(value, "position");
  const auto time = parse_iso8601(string_or(value, "time"));
  if (!incarnation || !head || !time || !value.contains("streams") || !value["streams"].is_array())
    return no_checkpoint("it lacks log_epoch, position, time or streams");
  log_checkpoint checkpoint{epoch{*incarnation}, position{*head}, *time, {}};
  for (const auto& one : value["streams"]) {
    auto mark = parse_mark(one);
    if (!mark)
      return tl::unexpected(mark.error());
    checkpoint.streams.push_back(std::move(*mark));
  }
  std::ranges::sort(checkpoint.streams, {}, &stream_mark::workspace);
  const auto twice = std::ranges::adjacent_find(checkpoint.streams, {}, &stream_mark::workspace);
  if (twice != checkpoint.streams.end())
    return no_checkpoint("it names a workspace twice");
  return checkpoint;
}

std::string checkpoint_file(const log_checkpoint& checkpoint, const signing_key* key) {
  const auto text = canonical_text(checkpoint);
  auto file = "{\"checkpoint\":\n" + text + ",\"signature\":";
  if (key) {
    const auto made = key->sign(text);
    file += fmt::format(R"({{"algorithm":"ed25519","public_key":"{}","value":"{}"}})",
                        to_hex(made.public_key), to_hex(made.value));
  } else {
    file += "null";
  }
  return file + "}\n";
}

expected<signed_checkpoint> parse_checkpoint_file(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed)
    return fail(errc::invalid_argument, "this is no checkpoint file", parsed.error());
  if (!parsed->is_object() || !parsed->contains("checkpoint") || !parsed->contains("signature"))
    return no_checkpoint("the file lacks \"checkpoint\" or \"signature\"");
  auto content = parse_checkpoint((*parsed)["checkpoint"]);
  if (!content)
    return tl::unexpected(content.error());
  signed_checkpoint result{std::move(*content), std::nullopt};
  const auto& by = (*parsed)["signature"];
  if (by.is_null())
    return result;
  const auto key = from_hex(string_or(by, "public_key"));
  const auto value = from_hex(string_or(by, "value"));
  if (string_or(by, "algorithm") != "ed25519" || !key || !value)
    return no_checkpoint("its signature is not one of Ed25519");
  result.by = signature{*key, *value};
  return result;
}

expected<void> check_signature(const signed_checkpoint& checkpoint, const verifying_key& key) {
  if (!checkpoint.by)
    return fail(errc::unauthorized, "the checkpoint is not signed");
  if (checkpoint.by->public_key != key.bytes())
    return fail(errc::unauthorized,
                fmt::format("the checkpoint was signed with another key: {}, not {}",
                            to_hex(checkpoint.by->public_key), to_hex(key.bytes())));
  if (key.verify(canonical_text(checkpoint.content), checkpoint.by->value))
    return {};
  return fail(
    errc::unauthorized,
    "the signature does not belong to the checkpoint: it was altered after it was signed");
}

std::optional<std::string> contradiction(const stream_mark& then,
                                         const std::optional<stream_standing>& now) {
  if (!now)
    return "is missing";
  const auto& [stream, chain] = *now;
  const auto was_it = [&](const past_epoch& before) {
    return before.incarnation == then.incarnation;
  };
  if (stream.incarnation != then.incarnation && std::ranges::none_of(stream.past, was_it))
    return fmt::format("is another one: it has epoch {}, the checkpoint's had {}",
                       stream.incarnation.value, then.incarnation.value);
  if (stream.head < then.head)
    return fmt::format("was cut off: it ends at event {}, it had {}", stream.head.value,
                       then.head.value);
  if (chain.first_bad)
    return fmt::format("was altered: event {}: {}", chain.first_bad->value, chain.problem);
  if (then.head <= stream.trimmed)
    return fmt::format("cannot be compared: its events up to {} were removed, and with them event "
                       "{}, which the checkpoint vouches for",
                       stream.trimmed.value, then.head.value);
  if (chain.marked != then.hash)
    return fmt::format("was altered: event {} has another hash, and so another history",
                       then.head.value);
  return std::nullopt;
}

} // namespace tidemark
