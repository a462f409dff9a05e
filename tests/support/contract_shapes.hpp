#pragma once

#include "base/json.hpp"

#include <string>

namespace tidemark::test {

/// What is wrong with a value for a client that takes the drop-in contract at its word; empty if
/// nothing is. `type` is a name of the contract (`WorkspaceInfo`, `QueueStatus`, `frame` …), or `str`,
/// `text` (not empty), `int`, `number`, `bool`, `object`, `time`; `[type]` for a list of them; `type?`
/// where null may stand. Members that the contract does not name are no fault.
std::string contract_fault(const json& value, const std::string& type);

/// What is wrong with one object of a message stream, by its `type`.
std::string frame_fault(const json& frame);

} // namespace tidemark::test
