#include "http/parse_body.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tidemark {

expected<json> parse_members(const std::string& text,
                             std::initializer_list<std::string_view> known) {
  auto parsed = parse_json(text, max_body_values);
  if (!parsed && parsed.error().code == errc::too_large)
    return fail(errc::too_large, "the body is too large", parsed.error());
  if (!parsed)
    return fail(errc::invalid_argument, "the body is not JSON", parsed.error());
  if (!parsed->is_object())
    return fail(errc::invalid_argument, "the body must be a JSON object");
  for (const auto& [name, value] : parsed->items())
    if (std::ranges::find(known, name) == known.end())
      return fail(errc::invalid_argument,
                  fmt::format("the body has no member \"{}\"; it takes \"{}\"", name.substr(0, 64),
                              fmt::join(known, "\", \"")));
  return std::move(*parsed);
}

} // namespace tidemark
