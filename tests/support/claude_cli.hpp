#pragma once

#include <map>
#include <string>

namespace tidemark::test {

/// The native binary of the real Claude Code CLI: what TIDEMARK_TEST_CLAUDE names, else what npm has
/// installed below build/claude. Empty if there is none.
std::string installed_claude();

/// How to install it, for those who have to do without it.
std::string claude_advice();

/// A server's environment in which its agent is this CLI, or a program that stands before it, and
/// asks the model at `model_url`. Writes the provider's settings to the file `settings`.
std::map<std::string, std::string> claude_environment(const std::string& binary,
                                                      const std::string& settings,
                                                      const std::string& model_url);

/// The script for model_stand_in.
std::string model_script();

} // namespace tidemark::test
