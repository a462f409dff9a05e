#include "storage/removal_note.hpp"

#include "storage/hash_chain.hpp"

#include <algorithm>

namespace tidemark {
namespace {

std::optional<std::uint8_t> digit_of(char c) {
  if (c >= '0' && c <= '9')
    return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f')
    return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<digest> digest_of(std::string_view hex) {
  digest out{};
  if (hex.size() != 2 * out.size())
    return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto high = digit_of(hex[2 * i]);
    const auto low = digit_of(hex[2 * i + 1]);
    if (!high || !low)
      return std::nullopt;
    out[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return out;
}

std::uint64_t count_at(const json& data, const char* key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(int_or(data, key, 0), 0));
}

} // namespace

std::string_view to_string(removal_kind what) {
  return what == removal_kind::turns ? "turns" : "deltas";
}

json to_json(const removal_note& note) {
  json data = json::object();
  data["what"] = to_string(note.what);
  data["from"] = note.from.value;
  data["to"] = note.to.value;
  data["count"] = note.count;
  data["bytes"] = note.bytes;
  data["reason"] = note.reason;
  data["policy"] = note.policy;
  if (note.hash)
    data["hash"] = to_hex(*note.hash);
  return data;
}

std::optional<removal_note> removal_note_of(const json& data) {
  if (!data.is_object())
    return std::nullopt;
  removal_note note;
  const auto what = string_or(data, "what");
  if (what == "deltas")
    note.what = removal_kind::deltas;
  else if (what != "turns")
    return std::nullopt;
  note.from = offset{count_at(data, "from")};
  note.to = offset{count_at(data, "to")};
  if (note.from == offset{0} || note.to < note.from)
    return std::nullopt;
  note.count = count_at(data, "count");
  note.bytes = count_at(data, "bytes");
  note.reason = string_or(data, "reason");
  note.policy = object_at(data, "policy");
  note.hash = digest_of(string_or(data, "hash"));
  return note;
}

json emptied_delta(std::string_view item) {
  json data = json::object();
  data["item"] = item;
  data["text"] = "";
  data["removed"] = true;
  return data;
}

} // namespace tidemark
