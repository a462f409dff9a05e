#include "base/ids.hpp"

namespace tidemark {

namespace {

constexpr std::size_t max_workspace_id_length = 128;
constexpr std::size_t max_turn_id_length = 64;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
         || c == '-';
}

} // namespace

expected<workspace_id> workspace_id::parse(std::string_view text) {
  auto valid = !text.empty() && text.size() <= max_workspace_id_length && is_word(text.front());
  for (auto c : text)
    valid = valid && (is_word(c) || c == '.');
  if (!valid)
    return fail(
      errc::invalid_argument,
      "a workspace id is 1 to 128 letters, digits, '_', '-' or '.', not starting with '.'");
  return workspace_id{std::string{text}};
}

expected<turn_id> turn_id::parse(std::string_view text) {
  auto valid = !text.empty() && text.size() <= max_turn_id_length;
  for (auto c : text)
    valid = valid && is_word(c);
  if (!valid)
    return fail(errc::invalid_argument, "a turn id is 1 to 64 letters, digits, '_' or '-'");
  return turn_id{std::string{text}};
}

} // namespace tidemark
