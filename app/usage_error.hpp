#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace tidemark {

/// What is wrong with a command line, in one line, and what was probably meant. `root` has tried to
/// parse it and failed with `why`.
std::string explain_usage(const CLI::App& root, const CLI::ParseError& why);

} // namespace tidemark
