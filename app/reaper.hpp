#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tidemark {

/// Waits for children that this process did not start but inherited: as PID 1 of a container it is
/// the parent of every orphan, and nobody else removes their entries.
///
/// A dead child whose name is one of `own` is left alone: process/ waits for it. Own children are
/// always guards, so their name tells them apart. Names are cut to 15 characters as the kernel does.
/// Returns how many were reaped. Never blocks.
std::size_t reap_orphans(const std::vector<std::string_view>& own);

} // namespace tidemark
