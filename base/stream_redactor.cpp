#include "base/stream_redactor.hpp"

#include <utility>

namespace tidemark {

std::string stream_redactor::push(const redactor& secrets, std::string_view piece) {
  held_ += piece;
  const auto size = secrets.settled(held_);
  auto shown = secrets.apply(std::string_view{held_}.substr(0, size));
  held_.erase(0, size);
  return shown;
}

std::string stream_redactor::finish(const redactor& secrets) {
  return secrets.apply(std::exchange(held_, {}));
}

} // namespace tidemark
