#pragma once

#include "app/settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemark {

enum class finding { good, warning, bad };

/// One check of `tidemark doctor`: what was found, and how to mend it unless it is good.
struct check {
  std::string name;
  finding found = finding::good;
  std::string detail;
  std::string remedy = {};
};

/// The server that runs on the data directory already.
struct running_server {
  std::string process;  ///< the holder of the log's lock; may be empty
  bool answers = false; ///< at the configured address
  bool admits = true;   ///< takes the token that it was asked with
};
/// Nothing if no process has the log locked. Asks with `token`, if it is empty with `http.token`.
std::optional<running_server> find_running_server(const settings& what,
                                                  const std::string& token = {});

/// The agent's executable: there, runnable, and telling its version within five seconds.
check check_agent(const agent_options& agent);
/// A key for the model, in the settings file or in a variable that agents may see, that is no mere
/// placeholder. Whether the model's API takes it is not tried.
check check_model_access(const agent_options& agent);
/// The process guard beside this executable.
check check_guard(const agent_options& agent);
/// The data directory: can be made and written, has space above the reserve. Changes nothing.
check check_data_directory(const settings& what);
/// Whether the log opens; one that a healthy server has open is fine.
check check_log(const settings& what, const std::optional<running_server>& running = {});
/// The hard limit of open files against what full load needs.
check check_open_files(const settings& what);
/// The address and port: free or served by this very server, and with a token if others reach it.
check check_address_and_port(const http_options& http,
                             const std::optional<running_server>& running = {});

/// All of them in the order in which a start would need them; `token` as for `find_running_server`.
std::vector<check> all_checks(const settings& what, const std::string& token = {});

} // namespace tidemark
