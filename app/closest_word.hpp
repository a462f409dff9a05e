#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tidemark {

/// The word that looks most like `word`, for "did you mean"; empty if none is within `most_edits`
/// letters changed, added or left out.
std::string closest_word(std::string_view word, std::span<const std::string> among,
                         std::size_t most_edits);

} // namespace tidemark
