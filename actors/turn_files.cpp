#include "actors/turn_files.hpp"

#include "actors/agent_launch.hpp"
#include "actors/turn_changes.hpp"
#include "actors/workspace_directory.hpp"
#include "base/logging.hpp"
#include "base/redactor.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

using namespace std::chrono_literals;

namespace {

/// Of a turn's changed files, how many its event names.
constexpr std::size_t most_named = 500;

constexpr auto no_record = "what the files were before the turn is not known: ";

// The scripts get the directory of our repositories as $1 and the turn as $2. There is one for the
// workspace's directory and one for each repository in it, because git does not look into those.

/// Records the files as $3, `before` or `after`. Whatever the repositories of the workspace say of
/// line ends, filters and the like, bytes are kept as they are; what .gitignore names is left out. Prints
/// where it could not read all of them.
constexpr auto take = R"sh(
set -fu
mkdir -p -m 700 "$1" || exit
roots=$(find . -mindepth 2 -maxdepth 5 -name .git -prune -printf '%h\n' | sort)
IFS='
'
for root in . $roots; do
  export GIT_DIR="$1/$(printf %s "$root" | git hash-object --stdin).git" || exit
  export GIT_WORK_TREE="$PWD/$root"
  if [ ! -s "$GIT_DIR/root" ]; then
    env -u GIT_WORK_TREE git init -q --bare "$GIT_DIR" || exit
    printf '* -text -eol -ident -filter -working-tree-encoding\n' > "$GIT_DIR/info/attributes"
    printf %s "$root" > "$GIT_DIR/root"
  fi
  find "$GIT_DIR" -name '*.lock' -delete # of a git that was killed
  for other in $roots; do
    case "$other" in "$root"/*)
      printf '/%s/\n' "${other#"$root"/}" | sed 's/[][*?\\ ]/\\&/g'
    esac
  done > "$GIT_DIR/info/exclude"
  (cd "$root" && git add -A --ignore-errors . >&2) || echo "$root"
  tree=$(git write-tree) && git update-ref "refs/turns/$2/$3" "$tree" || exit
done
)sh";

/// Runs git over all that were recorded for the turn. A repository that came or went was empty; the
/// workspace's directory is always there, so that it tells whether anything was recorded.
std::string for_each_root(std::string_view command) {
  return fmt::format(R"sh(
set -u
for when in before after; do
  git --git-dir="$1/$(printf . | git hash-object --stdin).git" rev-parse -q --verify "refs/turns/$2/$when" \
    > /dev/null 2>&1 || exit {}
done
for GIT_DIR in "$1"/*.git; do
  export GIT_DIR
  before=$(git rev-parse -q --verify "refs/turns/$2/before")
  after=$(git rev-parse -q --verify "refs/turns/$2/after")
  [ -n "$before$after" ] || continue
  empty=$(git hash-object -w -t tree /dev/null)
  before=${{before:-$empty}} after=${{after:-$empty}} root=$(cat "$GIT_DIR/root")
  {}
done
)sh",
                     git_script::nothing_found, command);
}

std::string list_script() {
  return for_each_root(R"sh(printf '>%s\0' "$root"
  git diff-tree -r --no-renames --raw --numstat -z "$before" "$after" || exit 2)sh");
}

std::string patch_script() {
  return for_each_root(R"sh(path=${root#.}; path=${path#/}; path=${path:+$path/}
  git diff-tree -r -M -p --no-color --no-ext-diff --no-textconv --src-prefix="a/$path" --dst-prefix="b/$path" \
    "$before" "$after" || exit 2)sh");
}

/// Removes what was recorded of the turns $2, which are told apart by blanks. What git packed (files too
/// large to be loose) is packed anew without it.
constexpr auto forget = R"sh(
set -u
for GIT_DIR in "$1"/*.git; do
  [ -s "$GIT_DIR/root" ] || continue
  export GIT_DIR
  prefixes=$(printf ' refs/turns/%s' $2)
  git for-each-ref --format='delete %(refname)' $prefixes | git update-ref --stdin || exit
  for pack in "$GIT_DIR"/objects/pack/*.pack; do
    if [ -e "$pack" ]; then
      git repack -q -A -d --unpack-unreachable=1.hour.ago || exit
    fi
    break
  done
  git prune --expire=1.hour.ago || exit
done
)sh";

std::string store_of(const agent_options& options, const std::string& workspace) {
  std::error_code ignored;
  // `.` begins no workspace id, so it cannot meet an agent's directory.
  return std::filesystem::absolute(
           std::filesystem::path{options.state_directory} / ".turn-files" / workspace, ignored)
    .string();
}

/// What must not be shown of the workspace's files: all that its agent is known to be given.
redactor secrets_of(agent_runtime& runtime, const std::string& workspace) {
  auto known = runtime.options.server_secrets;
  if (const auto inputs = gather_inputs(runtime.options, workspace, {}))
    if (const auto plan = runtime.plan(*inputs))
      known.insert(known.end(), plan->secrets.begin(), plan->secrets.end());
  return redactor{known};
}

agent_event changes_event(json data) {
  return {"turn.changes", std::move(data)};
}

json problem_data(const std::string& problem) {
  auto data = json::object();
  data["problem"] = problem;
  return data;
}

} // namespace

turn_files::turn_files(agent_runtime& runtime, std::string workspace)
  : runtime_(runtime),
    workspace_(std::move(workspace)),
    later_(runtime.io.get_executor()) {}

void turn_files::run(std::string script, std::string when,
                     std::function<void(expected<git_script::outcome>)> done) {
  git_script::job job;
  job.script = std::move(script);
  job.arguments = {store_of(runtime_.options, workspace_), turn_, std::move(when)};
  job.directory = (std::filesystem::path{runtime_.options.workspace_root} / workspace_).string();
  job.limit = runtime_.options.snapshot_limit;
  script_ = std::make_unique<git_script>(runtime_, std::move(job), std::move(done));
}

void turn_files::before(const std::string& turn, std::function<void()> done) {
  turn_ = turn;
  problem_.clear();
  incomplete_ = false;
  run(take, "before", [this, done = std::move(done)](const expected<git_script::outcome>& result) {
    script_.reset();
    if (!result) {
      problem_ = no_record + result.error().describe();
      logging::warning("agent", "{}: {}", workspace_, problem_);
    }
    incomplete_ = result && !result->output.empty();
    done();
  });
}

void turn_files::after(std::function<void(std::optional<agent_event>)> done) {
  if (!problem_.empty() || turn_.empty())
    return later_.start(0ms, [this, done = std::move(done)] {
      done(turn_.empty() ? std::nullopt : std::optional{changes_event(problem_data(problem_))});
    });
  run(take, "after", [this, done = std::move(done)](const expected<git_script::outcome>& result) {
    script_.reset();
    if (!result)
      return done(changes_event(problem_data(result.error().describe())));
    incomplete_ = incomplete_ || !result->output.empty();
    compare(done);
  });
}

void turn_files::compare(std::function<void(std::optional<agent_event>)> done) {
  run(list_script(), {},
      [this, done = std::move(done)](const expected<git_script::outcome>& result) {
        script_.reset();
        if (!result)
          return done(changes_event(problem_data(result.error().describe())));
        auto data = to_json(parse_changes(result->output), most_named);
        data["incomplete"] = incomplete_;
        done(changes_event(std::move(data)));
      });
}

bool has_turn_files(const agent_options& options) {
  std::error_code ignored;
  return std::filesystem::exists(store_of(options, {}), ignored);
}

std::unique_ptr<git_script> forget_turn_files(agent_runtime& runtime, const std::string& workspace,
                                              const std::vector<std::string>& turns,
                                              std::function<void(expected<void>)> done) {
  git_script::job job;
  job.script = forget;
  job.arguments = {store_of(runtime.options, workspace), fmt::format("{}", fmt::join(turns, " "))};
  job.directory = runtime.options.state_directory;
  job.limit = runtime.options.snapshot_limit;
  return std::make_unique<git_script>(
    runtime, std::move(job), [done = std::move(done)](const expected<git_script::outcome>& result) {
      done(result ? expected<void>{} : tl::make_unexpected(result.error()));
    });
}

turn_patch::turn_patch(agent_runtime& runtime, const std::string& workspace,
                       const std::string& turn, callback done) {
  git_script::job job;
  job.script = patch_script();
  job.arguments = {store_of(runtime.options, workspace), turn};
  job.directory = runtime.options.state_directory;
  job.limit = runtime.options.snapshot_limit;
  job.most_output = most_bytes;
  auto secrets = secrets_of(runtime, workspace);
  script_ = std::make_unique<git_script>(runtime, std::move(job),
                                         [secrets = std::move(secrets), done = std::move(done)](
                                           const expected<git_script::outcome>& result) {
                                           if (!result)
                                             return done(tl::make_unexpected(result.error()));
                                           auto text = secrets.apply(repair_utf8(result->output));
                                           if (result->truncated)
                                             text += fmt::format("\n(cut off after {} MiB)\n",
                                                                 most_bytes >> 20);
                                           done(std::move(text));
                                         });
}

} // namespace tidemark
