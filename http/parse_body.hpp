#pragma once

#include "base/json.hpp"
#include "http/exchange.hpp"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tidemark {

/// A body of more JSON values than this is refused: their tree in memory would be many times as
/// large as the body.
inline constexpr std::size_t max_body_values = 1'000'000;

/// The body of a native call: a JSON object with no other members than these. A mistyped name would
/// look like a success, so it is refused (the workspace API v1 takes what it does not know).
/// Errors: `invalid_argument`, `too_large`.
expected<json> parse_members(const std::string& text,
                             std::initializer_list<std::string_view> known);

/// `parse(body)`, which must need nothing but the body. Large ones are parsed on the blocking pool:
/// the I/O thread has other clients.
template <class F>
task<std::invoke_result_t<F, const std::string&>> parse_body(exchange& with, F parse) {
  constexpr std::size_t parsed_at_once = 64 << 10;
  const auto& text = with.request().body();
  if (text.size() <= parsed_at_once)
    co_return parse(text);
  auto work = [&text, run = std::move(parse)]() mutable { return run(text); };
  co_return co_await with.blocking(std::move(work));
}

} // namespace tidemark
