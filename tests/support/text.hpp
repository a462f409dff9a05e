#pragma once

#include "base/json.hpp"

#include <set>
#include <string>
#include <string_view>

namespace tidemark::test {

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The names of an object's members.
inline std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items())
    names.insert(name);
  return names;
}

} // namespace tidemark::test
