#include "actors/agent_launch.hpp"
#include "actors/shell_launch.hpp"
#include "actors/workspace_directory.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <string>
#include <vector>

using namespace tidemark;
using namespace tidemark::test;

namespace {

namespace fs = std::filesystem;

/// Takes all the room for files that a disk has, until it goes.
class filling {
public:
  explicit filling(const fs::path& disk) {
    for (;;) {
      auto file = disk / ("filling-" + std::to_string(files_.size()));
      if (!std::ofstream{file})
        break;
      files_.push_back(std::move(file));
    }
  }
  ~filling() {
    std::error_code ignored;
    for (const auto& each : files_)
      fs::remove(each, ignored);
  }
  filling(const filling&) = delete;
  filling& operator=(const filling&) = delete;

private:
  std::vector<fs::path> files_;
};

constexpr int most_files = 16;

bool says_no_space(const std::string& text) {
  return text.find("No space left on device") != std::string::npos;
}

} // namespace

SCENARIO("B68: a directory for which the disk has no room is told from one that cannot be made") {
  const small_disk disk(4, most_files);
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  const auto root = disk.path() / "workspaces";
  const auto refused = [](const expected<std::string>& made) {
    REQUIRE_FALSE(made);
    INFO(made.error().message);
    CHECK(made.error().code == errc::full);
    CHECK(says_no_space(made.error().message));
  };
  WHEN("the root is missing and cannot be made") {
    const filling full{disk.path()};
    refused(make_workspace_directory(root, "demo"));
  }
  WHEN("the workspace's own cannot be made") {
    fs::create_directory(root);
    {
      const filling full{disk.path()};
      refused(make_workspace_directory(root, "demo"));
      const auto hidden = make_private_directory((root / "private").string());
      REQUIRE_FALSE(hidden);
      CHECK(hidden.error().code == errc::full);
      CHECK(says_no_space(hidden.error().message));
    }
    CHECK(make_workspace_directory(root, "demo"));
    CHECK(make_private_directory((root / "private").string()));
  }
  WHEN("something else is in the way") {
    std::ofstream{root} << "x";
    CHECK(make_workspace_directory(root, "demo").error().code == errc::io);
    CHECK(make_private_directory((root / "private").string()).error().code == errc::io);
  }
}

SCENARIO("B68: agents and shells without room for their directories say so, and may try again") {
  const small_disk disk(4, most_files);
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  const temp_dir elsewhere;
  agent_options options;
  options.workspace_root = elsewhere / "workspaces";
  options.state_directory = elsewhere / "agents";
  auto& filled = GENERATE(true, false) ? options.workspace_root : options.state_directory;
  filled = disk.path() / "full";
  const filling full{disk.path()};
  const auto inputs = gather_inputs(options, "demo", {});
  REQUIRE_FALSE(inputs);
  INFO(inputs.error().message);
  CHECK(inputs.error().code == "STORAGE_FULL");
  CHECK(inputs.error().retryable);
  CHECK(says_no_space(inputs.error().message));
  shell_request request;
  request.workspace = "demo";
  const auto shell = plan_shell(options, request);
  REQUIRE_FALSE(shell);
  CHECK(explain_shell(shell.error()).code == errc::full);
}
