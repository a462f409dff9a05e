#include "tests/integration/stand_in_agent.hpp"

#include "tests/support/server_process.hpp"

#include <filesystem>
#include <sstream>

namespace tidemark::test {

stand_in_agent::stand_in_agent(const script& make) {
  if (make) {
    install(make);
  }
}

void stand_in_agent::install(const script& make) const {
  const std::string prepared = path() + ".new";
  write_file(prepared, "#!/bin/sh\n" + make(program("tidemark-demo-agent"), directory_.path()));
  std::filesystem::permissions(prepared, std::filesystem::perms::owner_all);
  std::filesystem::rename(prepared, path());
}

std::map<std::string, std::string> stand_in_agent::environment() const {
  return {{"TIDEMARK_AGENT", "claude"}, {"TIDEMARK_CLAUDE_BIN", path()}};
}

void stand_in_agent::write(const std::string& name, const std::string& text) const {
  write_file(directory_ / name, text);
}

std::string stand_in_agent::read(const std::string& name) const {
  return read_file(directory_ / name);
}

double metric(const std::string& exposition, const std::string& name) {
  double sum = 0;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + '{') || line.starts_with(name + ' ')) {
      sum += std::stod(line.substr(line.rfind(' ') + 1));
    }
  }
  return sum;
}

} // namespace tidemark::test
