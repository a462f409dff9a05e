#pragma once

#include "base/error.hpp"

#include <map>
#include <string>
#include <string_view>

namespace tidemark {

/// Whether the kernel would start a program with these variables: what it refuses only then would
/// fail the turn with an error that says nothing. `field` is their name in the request.
/// Errors: `too_large` with the limit.
expected<void> check_environment_size(const std::map<std::string, std::string>& environment,
                                      std::string_view field);

} // namespace tidemark
