#pragma once

#include <string_view>

namespace tidemark {

/// docs/openapi.yaml as one line of JSON. The build puts it into the program
/// (scripts/openapi.py), so what a server says of itself is what it was built with.
std::string_view openapi_document() noexcept;

} // namespace tidemark
