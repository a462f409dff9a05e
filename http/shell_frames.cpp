#include "http/shell_frames.hpp"

#include "base/ids.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace tidemark {

namespace {

constexpr std::size_t max_argument_bytes = (128 << 10) - 1; // Linux: MAX_ARG_STRLEN
constexpr std::size_t max_arguments_bytes = 1 << 20;

expected<json> parse_object(std::string_view text, const char* what) {
  auto parsed = parse_json(text, 10'000);
  if (!parsed)
    return fail(errc::invalid_argument, fmt::format("{} is no JSON", what), parsed.error());
  if (!parsed->is_object())
    return fail(errc::invalid_argument, fmt::format("{} is no JSON object", what));
  return parsed;
}

bool is_given(const json& object, const char* key) {
  return object.contains(key) && !object[key].is_null();
}

expected<std::string> text_member(const json& object, const char* key, const char* otherwise) {
  if (!is_given(object, key))
    return std::string{otherwise};
  if (!object[key].is_string())
    return fail(errc::invalid_argument, fmt::format("\"{}\" must be a string", key));
  return object[key].get<std::string>();
}

expected<std::int64_t> whole_member(const json& object, const char* key, std::int64_t otherwise) {
  if (!is_given(object, key))
    return otherwise;
  const auto& value = object[key];
  if (!value.is_number_integer())
    return fail(errc::invalid_argument, fmt::format("\"{}\" must be a whole number", key));
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto beyond =
    value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  return beyond ? most : value.get<std::int64_t>();
}

expected<terminal_size> size_of(const json& object, terminal_size otherwise) {
  const auto rows = whole_member(object, "rows", otherwise.rows);
  if (!rows)
    return tl::unexpected{rows.error()};
  const auto columns = whole_member(object, "cols", otherwise.columns);
  if (!columns)
    return tl::unexpected{columns.error()};
  return terminal_size::checked(*rows, *columns);
}

expected<std::vector<std::string>> arguments_of(const json& object) {
  if (!is_given(object, "argv"))
    return std::vector<std::string>{"/bin/bash", "-l"};
  const auto& given = object["argv"];
  if (!given.is_array() || given.empty())
    return fail(errc::invalid_argument, "\"argv\" must be a list of strings, the program first");
  std::vector<std::string> out;
  std::size_t all = 0;
  for (const auto& each : given) {
    if (!each.is_string())
      return fail(errc::invalid_argument, "\"argv\" must hold strings only");
    out.push_back(each.get<std::string>());
    const auto& text = out.back();
    if (text.find('\0') != std::string::npos)
      return fail(errc::invalid_argument, "\"argv\" must not hold NUL characters");
    all += text.size() + 1;
    if (text.size() > max_argument_bytes || all > max_arguments_bytes)
      return fail(
        errc::invalid_argument,
        fmt::format("\"argv\" is too long: {} bytes are allowed in one argument, {} in all",
                    max_argument_bytes, max_arguments_bytes));
  }
  if (out.front().empty())
    return fail(errc::invalid_argument, "\"argv\" must begin with the name of a program");
  return out;
}

std::string cut_mark(std::uint64_t bytes) {
  return fmt::format("\r\n[tidemark: {} bytes of output are left out here]\r\n", bytes);
}

json frame(const char* type) {
  auto object = json::object();
  object["type"] = type;
  return object;
}

} // namespace

expected<shell_request> parse_shell_request(std::string_view body) {
  const auto object = parse_object(body.empty() ? "{}" : body, "the body");
  if (!object)
    return tl::unexpected{object.error()};
  const auto workspace = text_member(*object, "workspace_id", "default");
  if (!workspace)
    return tl::unexpected{workspace.error()};
  if (const auto id = workspace_id::parse(*workspace); !id)
    return tl::unexpected{id.error()};
  auto argv = arguments_of(*object);
  if (!argv)
    return tl::unexpected{argv.error()};
  const auto size = size_of(*object, {});
  if (!size)
    return tl::unexpected{size.error()};
  return shell_request{*workspace, std::move(*argv), *size, "client"};
}

json shell_object(const shell_info& info) {
  auto object = json::object();
  object["id"] = info.id;
  object["workspace_id"] = info.workspace;
  object["cwd"] = info.cwd;
  object["pid"] = info.pid;
  object["argv"] = info.argv;
  object["created_at"] = iso8601(info.created);
  object["last_active"] = iso8601(info.last_active);
  return object;
}

expected<shell_message> parse_shell_message(std::string_view text) {
  const auto object = parse_object(text, "the message");
  if (!object)
    return tl::unexpected{object.error()};
  const auto type = text_member(*object, "type", "");
  if (!type)
    return tl::unexpected{type.error()};
  if (*type == "close")
    return close_request{};
  if (*type == "input") {
    if (!is_given(*object, "data"))
      return fail(errc::invalid_argument, "\"input\" needs \"data\"");
    auto data = text_member(*object, "data", "");
    if (!data)
      return tl::unexpected{data.error()};
    return typed_input{std::move(*data)};
  }
  if (*type == "resize") {
    // Absent reads as 0, which is out of range: the message names the member.
    const auto size = size_of(*object, {0, 0});
    if (!size)
      return tl::unexpected{size.error()};
    return *size;
  }
  return fail(errc::invalid_argument, "\"type\" must be input, resize or close");
}

std::string ready_frame(std::string_view shell) {
  auto object = frame("ready");
  object["id"] = std::string{shell};
  return dump_json(object);
}

std::string output_frame(const shell_piece& piece) {
  auto object = frame("output");
  if (piece.cut > 0)
    object["cut"] = piece.cut;
  object["data"] = piece.cut > 0 ? cut_mark(piece.cut) + piece.text : piece.text;
  return dump_json(object);
}

std::string exit_frame(const shell_end& end) {
  auto object = frame("exit");
  object["code"] = end.exit.code >= 0 ? json(end.exit.code) : json(nullptr);
  object["signal"] = end.exit.signal > 0 ? json(end.exit.signal) : json(nullptr);
  object["reason"] = end.reason;
  return dump_json(object);
}

std::string error_frame(std::string_view message) {
  auto object = frame("error");
  object["message"] = std::string{message};
  return dump_json(object);
}

} // namespace tidemark
