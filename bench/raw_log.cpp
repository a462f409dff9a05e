#include "bench/raw_log.hpp"

#include "bench/errno_failure.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace tidemark::bench {

raw_log::raw_log(const std::filesystem::path& file)
  : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (fd_ < 0)
    fail_with_errno("cannot create the raw log");
}

raw_log::~raw_log() {
  ::close(fd_);
}

void raw_log::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0)
      fail_with_errno("cannot write the raw log");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(fd_) != 0)
    fail_with_errno("cannot sync the raw log");
}

} // namespace tidemark::bench
