#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>

namespace tidemark {

/// A connected pair of sockets whose far end is read by a thread that throws everything away.
class drained_socket {
public:
  enum class kind { local, tcp };

  explicit drained_socket(kind what);
  ~drained_socket();
  drained_socket(const drained_socket&) = delete;
  drained_socket& operator=(const drained_socket&) = delete;

  void write(std::string_view bytes);
  /// Returns once the far end has read everything.
  void finish();

private:
  int ends_[2]{};
  std::thread reader_;
};

struct frames_read {
  std::size_t frames = 0;
  std::size_t bytes = 0;
};

/// Follows the event stream at `target` as a client on loopback until `frames` frames have come,
/// and leaves. Frames are counted, not parsed, so that what is measured is the server.
frames_read read_frames(std::uint16_t port, std::string_view target, std::size_t frames);

} // namespace tidemark
