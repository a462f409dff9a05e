#include "process/terminal.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace tidemark {
namespace {

expected<void> check(const char* name, std::int64_t value) {
  if (value >= 1 && value <= terminal_size::most)
    return {};
  return fail(errc::invalid_argument, std::string{"\""} + name + "\" must be from 1 to "
                                        + std::to_string(terminal_size::most) + ", not "
                                        + std::to_string(value));
}

tl::unexpected<error> no_terminal(int number) {
  return fail(errc::unavailable, std::string{"cannot open a terminal: "} + std::strerror(number));
}

/// Line editing by the kernel then removes whole characters, not bytes.
void show_utf8(int terminal) {
  termios mode{};
  if (::tcgetattr(terminal, &mode) != 0)
    return;
  mode.c_iflag |= IUTF8;
  ::tcsetattr(terminal, TCSANOW, &mode);
}

} // namespace

expected<terminal_size> terminal_size::checked(std::int64_t rows, std::int64_t columns) {
  if (auto good = check("rows", rows); !good)
    return tl::unexpected{good.error()};
  if (auto good = check("cols", columns); !good)
    return tl::unexpected{good.error()};
  return terminal_size{static_cast<int>(rows), static_cast<int>(columns)};
}

expected<terminal_ends> open_terminal(terminal_size size) {
  terminal_ends made;
  made.ours = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (made.ours < 0)
    return no_terminal(errno);
  if (::grantpt(made.ours) == 0 && ::unlockpt(made.ours) == 0)
    // By descriptor and not by name: /dev/pts may be another one's in a container.
    made.theirs = ::ioctl(made.ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (made.theirs < 0) {
    const int number = errno;
    ::close(made.ours);
    return no_terminal(number);
  }
  show_utf8(made.theirs);
  resize_terminal(made.ours, size);
  return made;
}

void resize_terminal(int ours, terminal_size size) {
  winsize wanted{};
  wanted.ws_row = static_cast<unsigned short>(size.rows);
  wanted.ws_col = static_cast<unsigned short>(size.columns);
  ::ioctl(ours, TIOCSWINSZ, &wanted);
}

} // namespace tidemark
