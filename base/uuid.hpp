#pragma once

#include "base/time.hpp"

#include <string>

namespace tidemark {

/// A UUID version 7 (RFC 9562, 5.7): time-ordered, 36 characters. Thread-safe; ids made by one
/// process sort in the order they were made even within one millisecond or when the clock goes back.
std::string new_uuid(timestamp now);

} // namespace tidemark
