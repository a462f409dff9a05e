#include "app/commands.hpp"
#include "app/doctor.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {
namespace {

std::string mark(const terminal& to, finding found) {
  switch (found) {
  case finding::good: return painted(to, tint::green, "ok     ");
  case finding::warning: return painted(to, tint::yellow, "warning");
  case finding::bad: break;
  }
  return painted(to, tint::red, "bad    ");
}

} // namespace

int run_doctor(const config& what, const std::string& token, terminal& to) {
  bool healthy = true;
  for (const auto& one : all_checks(what.values, token)) {
    healthy = healthy && one.found != finding::bad;
    to.out << fmt::format("{} {:<15} {}\n", mark(to, one.found), one.name, neutralised(one.detail));
    if (!one.remedy.empty())
      to.out << fmt::format("{:>24}{}\n", "", painted(to, tint::dim, "→ " + one.remedy));
  }
  for (const auto& warning : what.warnings)
    to.out << fmt::format("{} {:<15} {}\n", mark(to, finding::warning), "settings",
                          neutralised(warning));
  return healthy ? exit_ok : exit_failed;
}

} // namespace tidemark
