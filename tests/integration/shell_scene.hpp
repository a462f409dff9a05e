#pragma once

#include "tests/integration/scene.hpp"
#include "tests/support/ws_client.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tidemark::test {

inline const std::string shells_path = "/api/v1/shells";

/// Opens a shell and returns its id; requires the 200.
std::string open_shell(const scene& stage, const std::string& workspace,
                       const std::vector<std::string>& argv = {"/bin/bash", "--norc"});
/// The same for a script of `sh -c`.
std::string open_script(const scene& stage, const std::string& workspace,
                        const std::string& script);

/// A client of a shell; requires that the server says `ready`.
std::unique_ptr<ws_client> attach(const scene& stage, const std::string& shell,
                                  const std::string& query = "", ws_client::options how = {});

/// The items of the list of shells.
std::vector<json> list_shells(const scene& stage);
/// The process of a shell in the list; 0 if it is not there.
pid_t pid_of(const scene& stage, const std::string& shell);

/// Waits until the workspace's log has the end of this shell, and returns the data of that event.
json closing_of(const scene& stage, const std::string& workspace, const std::string& shell);

} // namespace tidemark::test
