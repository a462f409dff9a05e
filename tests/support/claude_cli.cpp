#include "tests/support/claude_cli.hpp"

#include "base/json.hpp"
#include "tests/support/temp_dir.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>

namespace tidemark::test {

namespace fs = std::filesystem;

// The CLI's own native binary: the launcher beside it costs a second.
std::string installed_claude() {
  if (const char* given = std::getenv("TIDEMARK_TEST_CLAUDE")) {
    return given;
  }
  constexpr std::uintmax_t smallest_native = 1 << 20;
  std::error_code problem;
  fs::recursive_directory_iterator below(TIDEMARK_SOURCE_DIR "/build/claude", problem);
  for (; !problem && below != fs::recursive_directory_iterator(); below.increment(problem)) {
    if (below->path().filename() == "claude" && below->is_regular_file()
        && below->file_size() > smallest_native) {
      return below->path();
    }
  }
  return {};
}

std::string claude_advice() {
  return "*** SKIPPED: no Claude Code CLI. Install it with\n"
         "***   npm install --prefix build/claude @anthropic-ai/claude-code\n"
         "*** or set TIDEMARK_TEST_CLAUDE to its native binary.\n";
}

std::map<std::string, std::string> claude_environment(const std::string& binary,
                                                      const std::string& settings,
                                                      const std::string& model_url) {
  const json provider = json::object({{"name", "stand-in"},
                                      {"base_url", model_url},
                                      {"auth_token", "any-token-does"},
                                      {"model", "claude-sonnet-4-5"}});
  write_file(settings, json::object({{"active_provider", "stand-in"},
                                     {"timeout_ms", 60000},
                                     {"providers", json::object({{"stand-in", provider}})}})
                         .dump());
  // The CLI retries an overloaded API for minutes if it is not told otherwise.
  return {{"TIDEMARK_AGENT", "claude"},
          {"TIDEMARK_CLAUDE_BIN", binary},
          {"SETTINGS_PATH", settings},
          {"TIDEMARK_AGENT_ENV", "CLAUDE_CODE_MAX_RETRIES"},
          {"CLAUDE_CODE_MAX_RETRIES", "2"}};
}

std::string model_script() {
  return TIDEMARK_SOURCE_DIR "/tests/tools/model_stand_in.mjs";
}

} // namespace tidemark::test
