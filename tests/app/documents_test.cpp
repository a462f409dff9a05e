// Pages that name tests must name tests that there are.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

const fs::path project = fs::path{__FILE__}.parent_path().parent_path().parent_path();

std::string text_of(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The adjacent string literals that begin at `at`, as the compiler joins them.
std::string literal_at(const std::string& source, std::size_t at) {
  std::string joined;
  for (;;) {
    at = source.find_first_not_of(" \t\n", at);
    if (at == std::string::npos || source[at] != '"')
      return joined;
    for (++at; at < source.size() && source[at] != '"'; ++at) {
      at += source[at] == '\\' ? 1 : 0;
      joined += source[at];
    }
    ++at;
  }
}

std::set<std::string> scenarios() {
  std::set<std::string> names;
  const std::string word = "SCENARIO(";
  for (const auto& entry : fs::recursive_directory_iterator{project / "tests"}) {
    if (!entry.path().string().ends_with("_test.cpp"))
      continue;
    const auto source = text_of(entry.path());
    for (auto at = source.find(word); at != source.npos; at = source.find(word, at + 1))
      names.insert(literal_at(source, at + word.size()));
  }
  return names;
}

/// What stands in backticks in the given column of the page's tables.
std::set<std::string> named_in(const std::string& page, std::size_t column) {
  std::set<std::string> names;
  for (std::size_t begin = 0; begin < page.size();) {
    const auto end = std::min(page.find('\n', begin), page.size());
    auto line = page.substr(begin, end - begin);
    begin = end + 1;
    auto cell = std::size_t{0};
    for (std::size_t i = 0; i < column && cell != line.npos; ++i)
      cell = line.find(" | ", cell + 1);
    if (!line.starts_with("| ") || cell == line.npos)
      continue;
    line = line.substr(cell + 3, line.find(" | ", cell + 1) - cell - 3);
    for (auto at = line.find('`'); at != line.npos; at = line.find('`', at + 1)) {
      const auto close = line.find('`', at + 1);
      names.insert(line.substr(at + 1, close - at - 1));
      at = close;
    }
  }
  return names;
}

} // namespace

SCENARIO("every test that docs/contract.md and docs/neighbours.md name is there") {
  const auto known = scenarios();
  REQUIRE(known.size() > 100);
  const auto check = [&](const char* page, std::size_t column, std::size_t at_least) {
    INFO(page);
    const auto named = named_in(text_of(project / page), column);
    CHECK(named.size() >= at_least);
    for (const auto& name : named) {
      INFO(name);
      CHECK(known.contains(name));
    }
  };
  check("docs/contract.md", 1, 40);
  check("docs/neighbours.md", 2, 20);
}
