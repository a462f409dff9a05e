#include "app/commands.hpp"
#include "app/setting_table.hpp"

#include <ostream>

namespace tidemark {

int run_config(const config& what, config_format format, terminal& to) {
  switch (format) {
  case config_format::lines: to.out << show_config(what); break;
  case config_format::object: to.out << show_config_json(what) << '\n'; break;
  case config_format::markdown: to.out << settings_as_markdown(); break;
  }
  for (const auto& warning : what.warnings)
    to.err << painted(to, tint::yellow, "warning: ") << neutralised(warning) << '\n';
  return exit_ok;
}

} // namespace tidemark
