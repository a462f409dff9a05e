#include "app/cli.hpp"

int main(int argc, char** argv) {
  auto to = tidemark::process_terminal();
  return tidemark::run_cli({argv + 1, argv + argc}, tidemark::process_environment(), to);
}
