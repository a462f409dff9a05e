// The real Claude Code CLI under Tidemark, against our stand-in for the Messages API.
#include <catch2/catch.hpp>
