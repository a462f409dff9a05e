// Loaded before the C library: a sync of a file waits while the file that BLOCKED_DISK_FILE names
// exists, as it does on a disk that does not answer.
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <unistd.h>

namespace {

using sync_call = int (*)(int);

void wait_for_disk() {
  static const char* const path = std::getenv("BLOCKED_DISK_FILE");
  constexpr timespec moment{0, 5'000'000};
  while (path && ::access(path, F_OK) == 0)
    ::nanosleep(&moment, nullptr);
}

sync_call real(const char* name) {
  return reinterpret_cast<sync_call>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" int fdatasync(int fd) {
  static const auto call = real("fdatasync");
  wait_for_disk();
  return call(fd);
}

extern "C" int fsync(int fd) {
  static const auto call = real("fsync");
  wait_for_disk();
  return call(fd);
}
