#include "app/usage_error.hpp"

#include "app/closest_word.hpp"
#include "app/setting_table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tidemark {
namespace {

constexpr std::size_t most_edits = 2;

const CLI::App& innermost(const CLI::App& root) {
  const auto* at = &root;
  for (auto below = at->get_subcommands(); !below.empty(); below = at->get_subcommands())
    at = below.front();
  return *at;
}

/// `tidemark token create`
std::string full_name(const CLI::App& asked) {
  const auto* parent = asked.get_parent();
  return parent == nullptr ? asked.get_name() : full_name(*parent) + " " + asked.get_name();
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& among,
                         const CLI::App& asked) {
  const auto near = closest_word(word, among, most_edits);
  return near.empty() ? fmt::format("`{} --help` lists them", full_name(asked))
                      : fmt::format("did you mean {}?", near);
}

bool is_flag_of(const setting& s, const std::string& flag) {
  return s.flag() == flag || std::ranges::find(s.other_flags, flag) != s.other_flags.end();
}

bool takes(const CLI::App& asked, const std::string& option) {
  return asked.get_option_no_throw(option) != nullptr;
}

std::string unknown_option(const CLI::App& asked, const std::string& word) {
  const auto option = word.substr(0, word.find('='));
  const auto name = full_name(asked);
  if (option == "--token" || option == "--http-token")
    return fmt::format("{} is not an option, as arguments are public on the machine: set the "
                       "variable {}",
                       option,
                       asked.get_name() == "serve" ? "INTERNAL_API_TOKEN" : "TIDEMARK_TOKEN");
  if (std::ranges::any_of(all_settings(), [&](const auto& s) { return is_flag_of(s, option); }))
    return takes(asked, "--server")
             ? fmt::format("{} is a setting of the server, not an option of `{}`; which server to "
                           "ask is said by --server <url>",
                           option, name)
             : fmt::format("{} is a setting of `tidemark serve`, not an option of `{}`", option,
                           name);
  std::vector<std::string> known;
  for (const auto* each : asked.get_options())
    for (const auto& long_name : each->get_lnames())
      known.push_back("--" + long_name);
  return fmt::format("{} is not an option of `{}`; {}", option, name,
                     did_you_mean(option, known, asked));
}

std::string unknown_command(const CLI::App& above, const std::string& word) {
  std::vector<std::string> known;
  for (const auto* each : above.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(each->get_name());
  return fmt::format("there is no command {} {}; {}", full_name(above), word,
                     did_you_mean(word, known, above));
}

/// The first of these that is meant as an option; empty if none is.
std::string first_option(const std::vector<std::string>& words) {
  const auto found = std::ranges::find_if(
    words, [](const auto& word) { return word.size() > 1 && word.front() == '-'; });
  return found == words.end() ? std::string{} : *found;
}

} // namespace

std::string explain_usage(const CLI::App& root, const CLI::ParseError& why) {
  const auto& asked = innermost(root);
  if (const auto early = first_option(root.remaining()); !early.empty() && &asked != &root)
    return fmt::format("{} stands before the command; options come after it: {} {} …", early,
                       full_name(asked), early);
  // Before what CLI11 says: it may miss an argument that an unknown option's value stands for.
  const auto left_over = root.remaining(true);
  if (const auto option = first_option(left_over); !option.empty())
    return unknown_option(asked, option);
  const bool has_commands = !asked.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (!left_over.empty() && has_commands)
    return unknown_command(asked, left_over.front());
  if (!left_over.empty())
    return fmt::format("not expected: {}; `{} --help` says what is", fmt::join(left_over, " "),
                       full_name(asked));
  if (has_commands)
    return fmt::format("a command is missing; `{} --help` lists them", full_name(asked));
  return fmt::format("{}; `{} --help` says more", why.what(), full_name(asked));
}

} // namespace tidemark
