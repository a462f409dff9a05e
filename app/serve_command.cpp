#include "app/commands.hpp"
#include "app/config.hpp"
#include "app/process_limits.hpp"
#include "app/server.hpp"

namespace tidemark {

int run_serve(const config& what, terminal& to) {
  clear_secret_variables();
  if (!what.values.core_dumps)
    keep_memory_private();
  for (const auto& warning : what.warnings)
    logging::warning("config", "{}", warning);
  return run_server(what.values, to.out);
}

} // namespace tidemark
