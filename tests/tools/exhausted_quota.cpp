// Loaded before the C library: while the file that EXHAUSTED_QUOTA_FILE names exists, nothing can be
// written to files, as for a user whose quota is used up. Each refusal adds a byte to that file.
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using write_call = ssize_t (*)(int, const void*, size_t);
using write_at_call = ssize_t (*)(int, const void*, size_t, off_t);

template <class Call>
Call real(const char* name) {
  return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

ssize_t really_write(int fd, const void* bytes, size_t size) {
  static const auto call = real<write_call>("write");
  return call(fd, bytes, size);
}

bool is_refused(int fd) {
  static const char* const path = std::getenv("EXHAUSTED_QUOTA_FILE");
  struct stat facts {};
  if (!path || ::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
    return false;
  const int count = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (count < 0)
    return false;
  (void) !really_write(count, "x", 1);
  ::close(count);
  errno = EDQUOT;
  return true;
}

} // namespace

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  return is_refused(fd) ? -1 : really_write(fd, bytes, size);
}

extern "C" ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  static const auto call = real<write_at_call>("pwrite");
  return is_refused(fd) ? -1 : call(fd, bytes, size, at);
}

extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  return pwrite(fd, bytes, size, at);
}
