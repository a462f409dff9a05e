#pragma once

#include "tests/integration/scene.hpp"
#include "tests/support/process_memory.hpp"

#include <cstddef>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace tidemark::test {

/// Takes something away from a running process, and gives it back at its end.
class taken_away {
public:
  taken_away(pid_t from, __rlimit_resource what, rlim_t left);
  ~taken_away() { give_back(); }
  taken_away(const taken_away&) = delete;
  taken_away& operator=(const taken_away&) = delete;
  void give_back();

private:
  pid_t from_;
  __rlimit_resource what_;
  rlimit before_{};
  bool taken_ = false;
};

/// A connection that says what it is told and reads nothing.
class raw_connection {
public:
  explicit raw_connection(const std::string& url);
  ~raw_connection();
  raw_connection(raw_connection&& other) noexcept;
  raw_connection& operator=(raw_connection&&) = delete;
  /// What the socket takes without waiting; the rest is dropped.
  void say(const std::string& bytes) const;

private:
  int fd_;
};

/// By the server's own account: nobody else may look at the descriptors of a process that protects
/// itself. The connection that asks is one of them.
std::size_t open_descriptors(const scene& stage);
/// The mark that the server's agents and all that they start carry.
std::string mark_of(const server_process& server);

} // namespace tidemark::test
