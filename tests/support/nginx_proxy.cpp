#include "tests/support/nginx_proxy.hpp"

#include "tests/support/http_client.hpp"
#include "tests/support/poll_until.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <netinet/in.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark::test {
namespace {

/// A port of the loopback address that nobody listens on now.
std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  const bool ok = ::bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0
                  && ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) == 0;
  ::close(socket);
  if (!ok) {
    throw std::runtime_error("there is no free port");
  }
  return ntohs(at.sin_port);
}

/// One process in the foreground, all of whose files are in `directory`.
std::string configuration(const std::string& directory, const std::string& address,
                          const std::string& server_url, const std::string& read_timeout) {
  std::string places;
  for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    places += std::string("  ") + kind + "_temp_path " + directory + "/" + kind + ";\n";
  }
  return "daemon off;\nmaster_process off;\npid " + directory + "/pid;\nerror_log " + directory
         + "/errors;\nevents { worker_connections 64; }\nhttp {\n  access_log off;\n" + places
         + "  server {\n    listen " + address + ";\n    location / {\n      proxy_pass "
         + server_url + ";\n      proxy_http_version 1.1;\n      proxy_read_timeout " + read_timeout
         + ";\n    }\n  }\n}\n";
}

} // namespace

std::optional<std::string> nginx_proxy::installed() {
  for (const char* path : {"/usr/sbin/nginx", TIDEMARK_SOURCE_DIR "/build/nginx/usr/sbin/nginx"}) {
    if (::access(path, X_OK) == 0) {
      return path;
    }
  }
  return std::nullopt;
}

nginx_proxy::nginx_proxy(const std::string& server_url, const std::string& read_timeout) {
  const auto address = "127.0.0.1:" + std::to_string(free_port());
  const auto conf = directory_ / "nginx.conf";
  const auto errors = directory_ / "errors";
  write_file(conf, configuration(directory_.path(), address, server_url, read_timeout));
  std::array<std::string, 7> words{
    installed().value(), "-p", directory_.path(), "-c", conf, "-e", errors};
  std::array<char*, 8> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    argv[i] = words[i].data();
  }
  if (::posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ) != 0) {
    throw std::runtime_error("cannot start nginx");
  }
  url_ = "http://" + address;
  const http_client client(url_, "");
  if (!poll_until([&] { return client.get("/health").status == 200; })) {
    throw std::runtime_error("nginx does not listen; it says:\n" + read_file(errors));
  }
}

nginx_proxy::~nginx_proxy() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

} // namespace tidemark::test
