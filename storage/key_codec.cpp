#include "storage/key_codec.hpp"

#include "storage/byte_codec.hpp"

namespace tidemark::keys {

event_key_bytes packed_event_key(stream_id stream, offset at) {
  event_key_bytes key{};
  bytes::store_fixed(key.data(), stream.value);
  bytes::store_fixed(key.data() + 8, at.value);
  return key;
}

std::string event_key(stream_id stream, offset at) {
  const auto key = packed_event_key(stream, at);
  return {key.data(), key.size()};
}

void move_event_key(std::string& key, offset to) {
  key.resize(sizeof(std::uint64_t));
  bytes::put_fixed(key, to.value);
}

std::optional<std::pair<stream_id, offset>> parse_event_key(std::string_view key) {
  bytes::reader in{key};
  const stream_id stream{in.fixed()};
  const offset at{in.fixed()};
  if (!in.complete())
    return std::nullopt;
  return std::pair{stream, at};
}

std::string commit_key(position first) {
  std::string key;
  bytes::put_fixed(key, first.value);
  return key;
}

std::optional<position> parse_commit_key(std::string_view key) {
  bytes::reader in{key};
  const position first{in.fixed()};
  return in.complete() ? std::optional{first} : std::nullopt;
}

bool is_valid_name(std::string_view name) {
  return !name.empty() && name.size() <= max_name_bytes
         && name.find('\0') == std::string_view::npos;
}

std::string stream_key(std::string_view name, epoch incarnation) {
  std::string key{name};
  key.push_back('\0');
  bytes::put_fixed(key, incarnation.value);
  return key;
}

std::optional<std::pair<std::string_view, epoch>> parse_stream_key(std::string_view key) {
  constexpr std::size_t tail = 1 + sizeof(std::uint64_t);
  if (key.size() <= tail || key[key.size() - tail] != '\0')
    return std::nullopt;
  const auto name = key.substr(0, key.size() - tail);
  if (!is_valid_name(name))
    return std::nullopt;
  return std::pair{name, epoch{bytes::reader{key.substr(key.size() - tail + 1)}.fixed()}};
}

std::string posting_prefix(std::string_view term) {
  std::string prefix{term};
  prefix.push_back('\0');
  return prefix;
}

std::string blob_prefix(std::string_view name) {
  return posting_prefix("blob:" + std::string{name});
}

void move_posting_key(std::string& key, std::size_t prefix_bytes, position to) {
  key.resize(prefix_bytes);
  bytes::put_fixed(key, to.value);
}

std::optional<position> parse_posting_key(std::string_view key, std::string_view prefix) {
  if (key.size() != prefix.size() + sizeof(std::uint64_t) || !key.starts_with(prefix))
    return std::nullopt;
  return position{bytes::reader{key.substr(prefix.size())}.fixed()};
}

std::string end_of_prefix(std::string_view prefix) {
  std::string end{prefix};
  while (!end.empty() && static_cast<std::uint8_t>(end.back()) == 0xFF)
    end.pop_back();
  if (!end.empty())
    end.back() = static_cast<char>(end.back() + 1);
  return end;
}

} // namespace tidemark::keys
