#pragma once

#include "tests/support/temp_dir.hpp"

#include <optional>
#include <string>
#include <sys/types.h>

namespace tidemark::test {

/// A real nginx in front of a server, with its default buffering. Ended with the test.
class nginx_proxy {
public:
  /// Path of the program: of the system, or where `scripts/setup --tests` puts it; nothing if
  /// there is none.
  static std::optional<std::string> installed();

  /// Starts it and waits until it listens. `read_timeout`: how long the server may say nothing, in
  /// nginx's own notation.
  nginx_proxy(const std::string& server_url, const std::string& read_timeout);
  ~nginx_proxy();
  nginx_proxy(const nginx_proxy&) = delete;
  nginx_proxy& operator=(const nginx_proxy&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }

private:
  temp_dir directory_;
  std::string url_;
  pid_t pid_ = -1;
};

} // namespace tidemark::test
