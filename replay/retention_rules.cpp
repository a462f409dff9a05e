#include "replay/retention_rules.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

namespace tidemark {
namespace {

/// About three hundred years: as nanoseconds it would not fit a moment in time.
constexpr std::int64_t longest_seconds = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;

enum class kind { whole_seconds, duration, size, count };

/// What a client may write, and the member that is stored.
struct rule_member {
  std::string_view name;
  const char* stored;
  kind takes;
};

constexpr std::array<rule_member, 6> members{{{"age", "age_s", kind::duration},
                                              {"age_s", "age_s", kind::whole_seconds},
                                              {"bytes", "bytes", kind::size},
                                              {"turns", "turns", kind::count},
                                              {"deltas", "deltas_s", kind::duration},
                                              {"deltas_s", "deltas_s", kind::whole_seconds}}};

/// What people write, in words.
std::string_view form_of(kind takes) {
  switch (takes) {
  case kind::whole_seconds: return "a whole number of seconds";
  case kind::duration: return "a duration of whole seconds like \"30d\", \"12h\" or \"90s\"";
  case kind::size: return "a number of bytes or a size like \"10GB\"";
  case kind::count: return "a whole number";
  }
  return "a whole number";
}

std::optional<std::uint64_t> seconds_in(const std::string& text) {
  const auto given = parse_duration(text);
  if (!given || given->count() % 1000 != 0)
    return std::nullopt;
  return static_cast<std::uint64_t>(given->count() / 1000);
}

/// The value to store; nothing if it is not of the form that the member takes.
std::optional<std::uint64_t> value_of(const json& given, kind takes) {
  std::optional<std::uint64_t> value;
  if (given.is_string() && takes == kind::size) {
    if (const auto bytes = parse_bytes(given.get_ref<const std::string&>()))
      value = *bytes;
  } else if (given.is_string() && takes == kind::duration) {
    value = seconds_in(given.get_ref<const std::string&>());
  } else if (given.is_number_unsigned() && takes != kind::duration) {
    value = given.get<std::uint64_t>();
  }
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value && *value <= largest ? value : std::nullopt;
}

json value_or_null(std::uint64_t value) {
  return value > 0 ? json(value) : json(nullptr);
}

json seconds_or_null(std::chrono::milliseconds value) {
  return value_or_null(
    static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(value).count()));
}

json shown(const retention_rules& rules) {
  json out = json::object();
  out["age_s"] = seconds_or_null(rules.age);
  out["bytes"] = value_or_null(rules.bytes);
  out["turns"] = value_or_null(rules.turns);
  out["deltas_s"] = seconds_or_null(rules.deltas);
  return out;
}

} // namespace

bool retention_rules::keep_all() const {
  return *this == retention_rules{};
}

json to_json(const retention_rules& rules) {
  json out = json::object();
  if (rules.age.count() > 0)
    out["age_s"] = std::chrono::duration_cast<std::chrono::seconds>(rules.age).count();
  if (rules.bytes > 0)
    out["bytes"] = rules.bytes;
  if (rules.turns > 0)
    out["turns"] = rules.turns;
  if (rules.deltas.count() > 0)
    out["deltas_s"] = std::chrono::duration_cast<std::chrono::seconds>(rules.deltas).count();
  return out;
}

retention_rules rules_with(retention_rules defaults, const json& own) {
  const auto take = [&](const char* key) -> std::optional<std::int64_t> {
    if (!own.is_object() || !own.contains(key) || !own[key].is_number_integer())
      return std::nullopt;
    return std::clamp<std::int64_t>(int_or(own, key, 0), 0,
                                    std::numeric_limits<std::int64_t>::max());
  };
  if (const auto age = take("age_s"))
    defaults.age = std::chrono::seconds{std::min(*age, longest_seconds)};
  if (const auto bytes = take("bytes"))
    defaults.bytes = static_cast<std::uint64_t>(*bytes);
  if (const auto turns = take("turns"))
    defaults.turns = static_cast<std::uint64_t>(*turns);
  if (const auto deltas = take("deltas_s"))
    defaults.deltas = std::chrono::seconds{std::min(*deltas, longest_seconds)};
  return defaults;
}

expected<json> parse_retention(const json& given) {
  if (!given.is_object())
    return fail(errc::invalid_argument, "\"retain\" must be an object");
  json out = json::object();
  for (const auto& [key, value] : given.items()) {
    const auto found = std::ranges::find(members, std::string_view{key}, &rule_member::name);
    if (found == members.end())
      return fail(
        errc::invalid_argument,
        fmt::format("\"retain\" has no member \"{}\"; it takes \"age\" or \"age_s\", \"bytes\", "
                    "\"turns\", and \"deltas\" or \"deltas_s\"",
                    key));
    if (out.contains(found->stored))
      return fail(
        errc::invalid_argument,
        fmt::format("\"retain\" has the same rule twice, as \"{}\" and by another name", key));
    const auto wanted = value_of(value, found->takes);
    if (!wanted && !value.is_null())
      return fail(
        errc::invalid_argument,
        fmt::format(
          "\"retain.{}\" must be {}; 0{} keeps everything, null is the server's own setting", key,
          form_of(found->takes), found->takes == kind::duration ? "s" : ""));
    out[found->stored] = wanted ? json(*wanted) : json(nullptr);
  }
  return out;
}

json describe_retention(const retention_rules& server, const json& own) {
  json out = json::object();
  out["own"] = own.is_object() ? own : json::object();
  out["server"] = shown(server);
  out["effective"] = shown(rules_with(server, own));
  return out;
}

} // namespace tidemark
