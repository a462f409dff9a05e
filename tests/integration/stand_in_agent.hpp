#pragma once

#include "tests/support/temp_dir.hpp"

#include <functional>
#include <map>
#include <string>

namespace tidemark::test {

/// A shell script in the place of the agent's CLI, in a directory of its own.
class stand_in_agent {
public:
  /// Makes the script of what follows its first line, from the demo agent's path and the
  /// directory.
  using script = std::function<std::string(const std::string& demo, const std::string& directory)>;

  /// Without a script there is no executable yet.
  explicit stand_in_agent(const script& make = {});

  /// Puts a script there, in one step, in place of what was there.
  void install(const script& make) const;
  /// What makes a server use it.
  [[nodiscard]] std::map<std::string, std::string> environment() const;
  [[nodiscard]] std::string path() const { return directory_ / "agent"; }

  /// A file of the directory.
  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;

private:
  temp_dir directory_;
};

/// The sum of a metric's series in an exposition; 0 if there is none.
double metric(const std::string& exposition, const std::string& name);

} // namespace tidemark::test
