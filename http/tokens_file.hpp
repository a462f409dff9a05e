#pragma once

#include "base/error.hpp"
#include "http/api_tokens.hpp"

#include <string>
#include <vector>

namespace tidemark {

/// Reads a tokens file. Opened without waiting and only if it is a regular file of at most 1 MiB (some
/// thousand tokens): requests wait meanwhile. Errors: `not_found`; `invalid_argument` for a wrong
/// content, something else than a file, or one that others than its owner may write, who could let
/// themselves in; `io`.
expected<std::vector<api_token>> read_tokens_file(const std::string& path);

} // namespace tidemark
