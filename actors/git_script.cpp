#include "actors/git_script.hpp"

#include "base/json.hpp"
#include "process/orphans.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t most_said = 2000;

void append_bounded(std::string& to, std::string_view bytes, std::size_t most) {
  to += bytes.substr(0, most - std::min(to.size(), most));
}

/// Neither the configuration of the server's user nor that of the repositories at hand may decide what
/// git runs.
std::map<std::string, std::string> environment_for(const agent_options& options) {
  const auto path = options.server_environment.find("PATH");
  return {{"PATH", path == options.server_environment.end() ? "/usr/local/bin:/usr/bin:/bin"
                                                            : path->second},
          {"HOME", options.state_directory},
          {"LC_ALL", "C"},
          {"GIT_CONFIG_GLOBAL", "/dev/null"},
          {"GIT_CONFIG_NOSYSTEM", "1"},
          {"GIT_TERMINAL_PROMPT", "0"},
          {std::string{instance_mark}, options.instance}};
}

} // namespace

git_script::git_script(agent_runtime& runtime, job what, callback done)
  : most_output_(what.most_output),
    done_(std::move(done)),
    limit_(runtime.io.get_executor()),
    finish_(runtime.io.get_executor()) {
  child_options options;
  options.argv = {"/bin/sh", "-c", std::move(what.script), "tidemark"};
  std::ranges::move(what.arguments, std::back_inserter(options.argv));
  options.environment = environment_for(runtime.options);
  options.cwd = std::move(what.directory);
  options.guard = runtime.options.guard;
  child::callbacks events;
  events.on_stdout = [this](std::string_view bytes) {
    out_.truncated = out_.truncated || out_.output.size() + bytes.size() > most_output_;
    append_bounded(out_.output, bytes, most_output_);
    if (out_.truncated)
      process_->kill_tree();
  };
  events.on_stderr = [this](std::string_view bytes) { append_bounded(said_, bytes, most_said); };
  events.on_exit = [this](child_exit how) { on_exit(how); };
  auto started = child::spawn(runtime.io, std::move(options), std::move(events));
  if (!started) {
    finish(tl::make_unexpected(started.error()));
    return;
  }
  process_ = std::move(*started);
  process_->close_stdin();
  limit_.start(what.limit, [this, limit = what.limit] {
    finish(fail(errc::deadline, fmt::format("git was not done after {} ms", limit.count())));
  });
}

void git_script::on_exit(child_exit how) {
  constexpr int no_such_command = 127;
  if (how.code == 0 || out_.truncated)
    return finish(std::move(out_));
  if (how.code == no_such_command)
    return finish(fail(errc::unavailable, "git cannot be run; is it installed?"));
  if (how.code == nothing_found)
    return finish(fail(errc::not_found, "nothing was recorded"));
  finish(fail(errc::io, fmt::format("git failed: {}", repair_utf8(said_))));
}

/// Later, because the caller may be one of the process's own callbacks.
void git_script::finish(expected<outcome> result) {
  if (std::exchange(finished_, true))
    return;
  limit_.cancel();
  finish_.start(std::chrono::milliseconds{0}, [this, result = std::move(result)]() mutable {
    process_.reset();
    const auto done = std::move(done_); // which may destroy this
    done(std::move(result));
  });
}

} // namespace tidemark
