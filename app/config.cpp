#include "app/config.hpp"

#include "app/setting_table.hpp"
#include "app/setting_values.hpp"
#include "base/json.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <set>
#include <sstream>

namespace tidemark {
namespace {

struct toml_value {
  std::string text;
  std::string source;
};
using toml_values = std::map<std::string, toml_value>;

std::string at_line(const config_file& file, const toml::node& node) {
  return fmt::format("{} line {}", file.name, node.source().begin.line);
}

/// A value as the table reads it; nothing for forms that no setting has.
std::optional<std::string> as_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>())
    return *text;
  if (const auto number = node.value_exact<std::int64_t>())
    return std::to_string(*number);
  if (const auto toggle = node.value_exact<bool>())
    return *toggle ? "true" : "false";
  if (const auto* items = node.as_array()) {
    std::vector<std::string> texts;
    for (const auto& item : *items) {
      const auto text = item.value_exact<std::string>();
      if (!text)
        return std::nullopt;
      texts.push_back(*text);
    }
    return show_list(texts);
  }
  return std::nullopt;
}

expected<void> flatten(const config_file& file, const toml::table& from, const std::string& prefix,
                       toml_values& to) {
  for (const auto& [name, node] : from) {
    const auto key = prefix + std::string{name.str()};
    if (const auto* inner = node.as_table()) {
      if (auto done = flatten(file, *inner, key + ".", to); !done)
        return done;
      continue;
    }
    if (!find_setting(key)) {
      const auto near = closest_setting(key);
      return fail(errc::invalid_argument,
                  fmt::format("{}: \"{}\" is not a setting{}; `tidemark config` lists them all",
                              at_line(file, node), key,
                              near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near)));
    }
    const auto text = as_text(node);
    if (!text)
      return fail(errc::invalid_argument, fmt::format("{}: {} must be {}", at_line(file, node), key,
                                                      find_setting(key)->allowed));
    to[key] = {*text, at_line(file, node)};
  }
  return {};
}

expected<toml_values> parse_file(const config_file& file) {
  try {
    toml_values values;
    const auto parsed = toml::parse(file.text, file.name);
    return flatten(file, parsed, "", values).map([&] { return std::move(values); });
  } catch (const toml::parse_error& why) { // the packaged library is built to throw
    return fail(errc::invalid_argument, fmt::format("{} line {}: {}", file.name,
                                                    why.source().begin.line, why.description()));
  }
}

/// The environment's value for a setting with the name it was given under; empty values are unset.
std::optional<std::pair<std::string, std::string>>
from_environment(const setting& s, const environment_map& environment) {
  auto names = s.other_environment;
  names.insert(names.begin(), s.environment());
  for (const auto& name : names)
    if (const auto found = environment.find(name);
        found != environment.end() && !found->second.empty())
      return std::pair{name, found->second};
  return std::nullopt;
}

std::vector<std::string> unknown_names(const environment_map& environment) {
  // Names of ours that are no settings.
  std::set<std::string> known{"TIDEMARK_CONFIG", "TIDEMARK_SERVER", "TIDEMARK_TOKEN",
                              "TIDEMARK_INSTANCE", "TIDEMARK_PROCESS"};
  for (const auto& s : all_settings()) {
    known.insert(s.environment());
    known.insert(s.other_environment.begin(), s.other_environment.end());
  }
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment)
    if (name.starts_with("TIDEMARK_") && !known.contains(name))
      warnings.push_back(fmt::format("environment {} is not a setting and has no effect", name));
  return warnings;
}

expected<void> take(config& to, const setting& s, std::string_view value, std::string source) {
  if (auto done = s.read(to.values, value); !done)
    return fail(errc::invalid_argument,
                fmt::format("{} = \"{}\" ({}): {}", s.key, s.secret ? "***" : value, source,
                            done.error().message));
  to.sources[s.key] = std::move(source);
  return {};
}

std::string shown_value(const config& what, const setting& s) {
  auto value = s.show(what.values);
  return s.secret && !value.empty() ? "***" : value;
}

std::string source_of(const config& what, const setting& s) {
  const auto found = what.sources.find(s.key);
  return found == what.sources.end() ? "default" : found->second;
}

} // namespace

expected<config> load_config(const config_inputs& inputs) {
  config result;
  toml_values from_file;
  if (inputs.file) {
    auto parsed = parse_file(*inputs.file);
    if (!parsed)
      return tl::unexpected(parsed.error());
    from_file = std::move(*parsed);
  }
  for (const auto& s : all_settings()) {
    expected<void> done;
    if (const auto flag = inputs.flags.find(s.key); flag != inputs.flags.end())
      done = take(result, s, flag->second, "flag " + s.flag());
    else if (const auto set = from_environment(s, inputs.environment))
      done = take(result, s, set->second, "environment " + set->first);
    else if (const auto line = from_file.find(s.key); line != from_file.end())
      done = take(result, s, line->second.text, line->second.source);
    if (!done)
      return tl::unexpected(done.error());
  }
  result.warnings = unknown_names(inputs.environment);
  return result;
}

std::string show_config(const config& what) {
  std::string out;
  for (const auto& s : all_settings())
    out += fmt::format("{:<32} {:<28} # {}\n", s.key, shown_value(what, s), source_of(what, s));
  return out;
}

std::string show_config_json(const config& what) {
  auto all = json::object();
  for (const auto& s : all_settings())
    all[s.key] = json::object({{"value", shown_value(what, s)}, {"source", source_of(what, s)}});
  return dump_json(all);
}

} // namespace tidemark
