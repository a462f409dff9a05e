#include "base/json.hpp"

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t max_depth = 512;
constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Length of the well-formed UTF-8 sequence at the start of `s`, 0 if malformed
/// (Unicode 15, table 3-7).
std::size_t sequence_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto trail = [&](std::size_t i) { return i < s.size() && (byte(i) & 0xC0) == 0x80; };
  const auto lead = byte(0);
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    return trail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (!trail(1) || !trail(2))
      return 0;
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F))
      return 0;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (!trail(1) || !trail(2) || !trail(3))
      return 0;
    if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F))
      return 0;
    return 4;
  }
  return 0;
}

int hex4(std::string_view s, std::size_t at) {
  if (at + 4 > s.size())
    return -1;
  int value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const auto c = s[i];
    const auto digit = c >= '0' && c <= '9'   ? c - '0'
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                              : -1;
    if (digit < 0)
      return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// Rewrites `\ud800` … `\udfff` escapes that have no partner to `\ufffd`; nlohmann/json rejects them.
std::string repair_surrogates(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      out += text[i++];
      continue;
    }
    if (text[i + 1] != 'u') {
      out.append(text, i, 2);
      i += 2;
      continue;
    }
    const auto unit = hex4(text, i + 2);
    const auto high = unit >= 0xD800 && unit <= 0xDBFF;
    const auto low = unit >= 0xDC00 && unit <= 0xDFFF;
    const auto next = high && i + 7 < text.size() && text[i + 6] == '\\' && text[i + 7] == 'u'
                        ? hex4(text, i + 8)
                        : -1;
    if (high && next >= 0xDC00 && next <= 0xDFFF) {
      out.append(text, i, 12);
      i += 12;
    } else if (high || low) {
      out += "\\ufffd";
      i += 6;
    } else {
      out.append(text, i, 2);
      i += 2;
    }
  }
  return out;
}

enum class size_check { fine, too_deep, too_many };

/// Counts values by what separates them, so that keys cost nothing and an empty list is a value.
size_check check_size(std::string_view text, std::size_t max_values) {
  std::size_t depth = 0;
  std::size_t values = 1;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > max_depth)
        return size_check::too_deep;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else if (c == ',') {
      ++values;
    }
    if (values > max_values)
      return size_check::too_many;
  }
  return size_check::fine;
}

/// Escapes what JSON allows raw but line splitters do not: DEL, C1 controls, U+2028 and U+2029.
/// Such characters can only stand inside strings, so a scan over the whole text is enough.
std::string escape_line_breaks(std::string text) {
  const auto suspicious = text.find_first_of("\x7F\xC2\xE2");
  if (suspicious == std::string::npos)
    return text;
  std::string out{text, 0, suspicious};
  out.reserve(text.size() + 16);
  for (std::size_t i = suspicious; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto second = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const auto third = i + 2 < text.size() ? static_cast<unsigned char>(text[i + 2]) : 0U;
    if (byte == 0x7F) {
      out += "\\u007f";
      i += 1;
    } else if (byte == 0xC2 && second >= 0x80 && second <= 0x9F) {
      out += fmt::format("\\u{:04x}", second);
      i += 2;
    } else if (byte == 0xE2 && second == 0x80 && (third == 0xA8 || third == 0xA9)) {
      out += third == 0xA8 ? "\\u2028" : "\\u2029";
      i += 3;
    } else {
      out += text[i++];
    }
  }
  return out;
}

const json* member(const json& object, const char* key) {
  if (!object.is_object())
    return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

} // namespace

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto length = sequence_length(text.substr(i));
    if (length == 0) {
      out += replacement;
      ++i;
    } else {
      out.append(text, i, length);
      i += length;
    }
  }
  return out;
}

expected<json> parse_json(std::string_view text, std::size_t max_values) {
  // The library takes a NUL for the end, whatever follows it (and RFC 8259 has none outside strings
  // nor, unescaped, within).
  if (text.find('\0') != text.npos)
    return fail(errc::invalid_argument, "not valid JSON: a NUL byte");
  const auto size = check_size(text, max_values);
  if (size == size_check::too_deep)
    return fail(errc::invalid_argument, "JSON nested deeper than 512 levels");
  if (size == size_check::too_many)
    return fail(errc::too_large, fmt::format("JSON of more than {} values", max_values));
  auto value = json::parse(text.begin(), text.end(), nullptr, false);
  if (!value.is_discarded())
    return value;
  const auto repaired = repair_surrogates(repair_utf8(text));
  try {
    return json::parse(repaired);
  } catch (const json::parse_error& cause) {
    return fail(errc::invalid_argument, fmt::format("not valid JSON at byte {}", cause.byte));
  } catch (const json::exception&) {
    // A number out of range: falls through to the general message.
  }
  return fail(errc::invalid_argument, "not valid JSON");
}

std::string dump_json(const json& value) {
  return escape_line_breaks(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string quote_json(std::string_view text) {
  return dump_json(json(std::string{text}));
}

std::string string_or(const json& object, const char* key, std::string_view otherwise) {
  const auto* found = member(object, key);
  return found && found->is_string() ? found->get<std::string>() : std::string{otherwise};
}

std::optional<std::string> string_at(const json& object, const char* key) {
  const auto* found = member(object, key);
  if (!found || !found->is_string())
    return std::nullopt;
  return found->get<std::string>();
}

bool bool_or(const json& object, const char* key, bool otherwise) {
  const auto* found = member(object, key);
  return found && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::int64_t int_or(const json& object, const char* key, std::int64_t otherwise) {
  const auto* found = member(object, key);
  if (!found || !found->is_number())
    return otherwise;
  if (found->is_number_integer())
    return found->get<std::int64_t>();
  const auto number = found->get<double>();
  // Outside this range the conversion is undefined behaviour.
  return number >= -9.2e18 && number <= 9.2e18 ? static_cast<std::int64_t>(number) : otherwise;
}

double number_or(const json& object, const char* key, double otherwise) {
  const auto* found = member(object, key);
  return found && found->is_number() ? found->get<double>() : otherwise;
}

const json& object_at(const json& object, const char* key) {
  static const json empty = json::object();
  const auto* found = member(object, key);
  return found && found->is_object() ? *found : empty;
}

const json& array_at(const json& object, const char* key) {
  static const json empty = json::array();
  const auto* found = member(object, key);
  return found && found->is_array() ? *found : empty;
}

} // namespace tidemark
