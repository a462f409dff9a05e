#pragma once

#include <string>
#include <sys/types.h>

namespace tidemark::test {

/// The Messages API on loopback, played by tests/tools/model_stand_in.mjs. Ends with the object.
class model_stand_in {
public:
  /// Throws if node or the script does not start.
  explicit model_stand_in(const std::string& script);
  ~model_stand_in();
  model_stand_in(const model_stand_in&) = delete;
  model_stand_in& operator=(const model_stand_in&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port_; }

private:
  pid_t pid_ = -1;
  std::string port_;
};

} // namespace tidemark::test
