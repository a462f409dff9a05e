#include "agents/launch.hpp"

#include "agents/settings_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace tidemark {

namespace {

using environment = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 4> inherited{"PATH", "LANG", "TZ", "TMPDIR"};
constexpr std::string_view default_path =
  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Marks of a surrounding Claude Code session: with them the CLI refuses to start or keeps no
/// transcript, so not even `agent.env` lets them through.
constexpr std::array<std::string_view, 3> session_marks{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT",
                                                        "CLAUDE_CODE_SSE_PORT"};

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_servers_own(std::string_view name) {
  return name == "INTERNAL_API_TOKEN" || name.starts_with("TIDEMARK_");
}

/// `agent.env` entries: a name, or a beginning followed by `*`.
bool is_passed(std::string_view name, const std::vector<std::string>& passed) {
  return std::ranges::any_of(passed, [&](std::string_view entry) {
    return entry.ends_with('*') ? name.starts_with(entry.substr(0, entry.size() - 1))
                                : name == entry;
  });
}

bool is_valid_name(std::string_view name) {
  return !name.empty() && name.find_first_of(std::string_view{"=\0", 2}) == std::string_view::npos;
}

/// Text that the CLI cannot take for an option.
bool is_plain_argument(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.find('\0') == std::string_view::npos;
}

bool is_session_id(std::string_view text) {
  return is_plain_argument(text) && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_';
         });
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty())
      text += ',';
    text += name;
  }
  return text;
}

/// SHA-256 over length-prefixed parts, so that no two different lists of parts are alike.
class fingerprint {
public:
  fingerprint() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void add(std::string_view part) {
    const auto size = fmt::format("{}:", part.size());
    EVP_DigestUpdate(context_.get(), size.data(), size.size());
    EVP_DigestUpdate(context_.get(), part.data(), part.size());
  }
  std::string finish() {
    std::array<unsigned char, 32> digest{};
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    std::string hex;
    for (const auto byte : digest)
      hex += fmt::format("{:02x}", byte);
    return hex;
  }

private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

struct settings {
  settings_contribution provider;
  settings_contribution project;
  settings_contribution mcp;
};

expected<settings> read_settings(const launch_inputs& inputs) {
  auto provider = read_provider_settings(inputs.provider_settings);
  if (!provider)
    return tl::unexpected{provider.error()};
  auto project = read_project_settings(inputs.project_settings);
  if (!project)
    return tl::unexpected{project.error()};
  auto mcp = read_mcp_config(inputs.mcp_config);
  if (!mcp)
    return tl::unexpected{mcp.error()};
  return settings{std::move(*provider), std::move(*project), std::move(*mcp)};
}

/// Later ones win: server, provider settings, project settings, the turn's own, ours.
environment build_environment(const launch_inputs& inputs, const settings& files) {
  auto made = allowed_environment(inputs.server_environment, inputs.passed_names);
  for (const auto* more :
       {&files.provider.environment, &files.project.environment, &inputs.turn_environment})
    for (const auto& [name, value] : *more)
      if (is_valid_name(name))
        made.insert_or_assign(name, value.substr(0, value.find('\0')));
  made["HOME"] = inputs.home_directory;
  made["CLAUDE_CONFIG_DIR"] = inputs.config_directory;
  made["DISABLE_AUTOUPDATER"] = "1";
  made["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1";
  // As root the CLI skips permissions only if it believes to be contained.
  if (inputs.skip_permissions && inputs.running_as_root)
    made["IS_SANDBOX"] = "1";
  return made;
}

/// The CLI ranks its flag over ANTHROPIC_MODEL over its settings; so a model of the project's settings
/// becomes the flag only where no variable names one.
std::string choose_model(const launch_inputs& inputs, const settings& files,
                         const environment& env) {
  if (!inputs.model.empty())
    return inputs.model;
  const auto named = env.find("ANTHROPIC_MODEL");
  return named != env.end() && !named->second.empty() ? std::string{} : files.project.model;
}

void add_rights(std::vector<std::string>& argv, const launch_inputs& inputs,
                const settings& files) {
  const auto rights =
    inputs.asks_people ? offer_for_asking(inputs.rights) : summarize(inputs.rights);
  if (!rights.allowed_tools.empty())
    argv.insert(argv.end(), {"--tools", joined(rights.allowed_tools)});
  if (!rights.blocked_tools.empty())
    argv.insert(argv.end(), {"--disallowedTools", joined(rights.blocked_tools)});
  if (inputs.skip_permissions)
    argv.emplace_back("--dangerously-skip-permissions");
  // A repository must not widen `strict`: neither by its settings nor by servers of its own.
  if (inputs.rights == policy::strict)
    argv.insert(argv.end(), {"--setting-sources", "user", "--strict-mcp-config"});
  else if (files.mcp.has_mcp_servers)
    argv.insert(argv.end(), {"--mcp-config", inputs.workspace_directory + "/.mcp.json"});
}

std::vector<std::string> build_argv(const launch_inputs& inputs, const settings& files,
                                    const std::string& model) {
  std::vector<std::string> argv{inputs.binary,
                                "-p",
                                "--input-format",
                                "stream-json",
                                "--output-format",
                                "stream-json",
                                "--verbose",
                                "--include-partial-messages",
                                "--permission-prompt-tool",
                                "stdio"};
  if (!model.empty())
    argv.insert(argv.end(), {"--model", model});
  add_rights(argv, inputs, files);
  return argv;
}

std::string fingerprint_of(const launch_plan& plan, const launch_inputs& inputs) {
  fingerprint sum;
  for (const auto& argument : plan.argv)
    sum.add(argument);
  sum.add("environment");
  for (const auto& [name, value] : plan.environment) {
    sum.add(name);
    sum.add(value);
  }
  sum.add(plan.cwd);
  // The files themselves: the agent reads them again at its start.
  for (const auto* file : {&inputs.project_settings, &inputs.mcp_config}) {
    sum.add(*file ? "file" : "none");
    sum.add(file->value_or(""));
  }
  return sum.finish();
}

std::vector<std::string> secrets_of(const launch_plan& plan, const launch_inputs& inputs,
                                    const settings& files) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : plan.environment)
    if (names_secret(name) || holds_credentials(value))
      secrets.push_back(value);
  for (const auto& [name, value] : inputs.turn_environment)
    secrets.push_back(value);
  for (const auto* file : {&files.provider, &files.project, &files.mcp})
    secrets.insert(secrets.end(), file->secrets.begin(), file->secrets.end());
  std::ranges::sort(secrets);
  const auto rest = std::ranges::unique(secrets);
  secrets.erase(rest.begin(), rest.end());
  std::erase(secrets, "");
  return secrets;
}

} // namespace

environment allowed_environment(const environment& server_environment,
                                const std::vector<std::string>& passed_names) {
  environment made;
  for (const auto& [name, value] : server_environment) {
    const auto wanted =
      is_one_of(name, inherited) || name.starts_with("LC_") || is_passed(name, passed_names);
    if (wanted && is_valid_name(name) && !is_one_of(name, session_marks) && !is_servers_own(name))
      made[name] = value;
  }
  made.try_emplace("PATH", default_path);
  return made;
}

expected<launch_plan> plan_claude(const launch_inputs& inputs) {
  for (const auto& [name, value] : inputs.turn_environment)
    if (!is_valid_name(name))
      return fail(errc::invalid_argument,
                  fmt::format("\"{}\" is not the name of an environment variable", name));
  const auto files = read_settings(inputs);
  if (!files)
    return tl::unexpected{files.error()};
  launch_plan plan;
  plan.environment = build_environment(inputs, *files);
  const auto model = choose_model(inputs, *files, plan.environment);
  if (!model.empty() && !is_plain_argument(model))
    return fail(errc::invalid_argument, fmt::format("\"{}\" is not the name of a model", model));
  plan.argv = build_argv(inputs, *files, model);
  plan.cwd = inputs.workspace_directory;
  plan.fingerprint = fingerprint_of(plan, inputs);
  plan.secrets = secrets_of(plan, inputs, *files);
  if (is_session_id(inputs.resume_session))
    plan.argv.insert(plan.argv.end(), {"--resume", inputs.resume_session});
  return plan;
}

} // namespace tidemark
