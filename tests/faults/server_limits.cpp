#include "tests/faults/server_limits.hpp"

#include "tests/integration/stand_in_agent.hpp"

#include <arpa/inet.h>
#include <cstdlib>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace tidemark::test {

taken_away::taken_away(pid_t from, __rlimit_resource what, rlim_t left) : from_(from), what_(what) {
  if (::prlimit(from, what, nullptr, &before_) != 0) {
    throw std::runtime_error("cannot read a limit");
  }
  const rlimit now{left, before_.rlim_max}; // the soft one: it can be raised again
  taken_ = ::prlimit(from, what, &now, nullptr) == 0;
  if (!taken_) {
    throw std::runtime_error("cannot set a limit");
  }
}

void taken_away::give_back() {
  if (std::exchange(taken_, false)) {
    ::prlimit(from_, what_, &before_, nullptr);
  }
}

raw_connection::raw_connection(const std::string& url)
  : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  if (fd_ < 0 || ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    ::close(fd_);
    throw std::runtime_error("cannot connect to " + url);
  }
}

raw_connection::raw_connection(raw_connection&& other) noexcept
  : fd_(std::exchange(other.fd_, -1)) {}

raw_connection::~raw_connection() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

void raw_connection::say(const std::string& bytes) const {
  (void) !::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::size_t open_descriptors(const scene& stage) {
  return static_cast<std::size_t>(metric(stage.client.get("/metrics").body, "process_open_fds"));
}

std::string mark_of(const server_process& server) {
  const std::string text = read_file(server.path("data") + "/instance");
  return "TIDEMARK_INSTANCE=" + text.substr(0, text.find('\n'));
}

} // namespace tidemark::test
