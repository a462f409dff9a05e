#pragma once

#include "app/settings.hpp"

#include <cstdint>
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

/// The agent's executable: there, runnable, and telling its version within five seconds.
check check_agent(const agent_options& agent);
/// A key for the model, in the settings file or in a variable that agents may see.
check check_model_access(const agent_options& agent);
/// The process guard beside this executable.
check check_guard(const agent_options& agent);
/// The data directory: can be made and written, has space above the reserve. Changes nothing.
check check_data_directory(const settings& what);
/// Whether another server holds the log, and whether it opens.
check check_log(const settings& what);
/// The hard limit of open files against what full load needs.
check check_open_files(const settings& what);
/// The address and port: free, and with a token if others reach it.
check check_address_and_port(const http_options& http);

/// All of them in the order in which a start would need them.
std::vector<check> all_checks(const settings& what);

} // namespace tidemark
