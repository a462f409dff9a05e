#include "app/commands.hpp"

#include <ostream>

namespace tidemark {

int run_version(terminal& to) {
  to.out << "tidemark " TIDEMARK_VERSION "\n";
  return exit_ok;
}

} // namespace tidemark
