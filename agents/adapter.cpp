#include "agents/adapter.hpp"

namespace tidemark {

std::string_view to_string(outcome o) noexcept {
  switch (o) {
  case outcome::succeeded: return "succeeded";
  case outcome::failed: return "failed";
  case outcome::cancelled: return "cancelled";
  case outcome::interrupted: return "interrupted";
  }
  return "failed";
}

} // namespace tidemark
