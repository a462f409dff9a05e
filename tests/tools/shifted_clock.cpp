// Loaded before the C library: shows a wall clock that is wrong by as many seconds as the file that
// SHIFTED_CLOCK_FILE names holds (a 64-bit integer), which may change at any time. The monotonic
// clocks are left alone, as they are when somebody sets the clock of a machine.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

volatile const std::int64_t* map_shift() {
  static const std::int64_t none = 0;
  const char* path = std::getenv("SHIFTED_CLOCK_FILE");
  const int fd = path ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0)
    return &none;
  void* shared = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  return shared == MAP_FAILED ? &none : static_cast<const std::int64_t*>(shared);
}

std::int64_t shift() {
  static const auto where = map_shift();
  return *where;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto ask = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int done = ask(clock, now);
  if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += shift();
  return done;
}

extern "C" int gettimeofday(timeval* now, void* zone) noexcept {
  static const auto ask = real<int (*)(timeval*, void*)>("gettimeofday");
  const int done = ask(now, zone);
  if (done == 0 && now)
    now->tv_sec += shift();
  return done;
}

extern "C" time_t time(time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out)
    *out = now.tv_sec;
  return now.tv_sec;
}
