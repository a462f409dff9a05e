#pragma once

#include "process/terminal.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace tidemark {

/// The clients of one terminal: how far each has read, and which of them decides its size. Pure but
/// for the wakers, which it calls.
class shell_audience {
public:
  explicit shell_audience(terminal_size initial) : initial_(initial), size_(initial) {}

  /// A client that begins at place 0, so with all that is still there. Returns its number.
  std::uint64_t enter(std::function<void()> wake, bool keeps);
  /// What was its size counts no more. False if it is not here (any more).
  bool leave(std::uint64_t client);

  /// The client's present place; null if it is not here.
  [[nodiscard]] const std::uint64_t* place_of(std::uint64_t client) const;
  /// It has read up to `place`, and sleeps until the next text if that is all there is.
  void move(std::uint64_t client, std::uint64_t place, bool sleeps);
  /// There is something to read.
  void wake();

  /// It came too late for some of the text: it is slower than another one.
  void mark_cut(std::uint64_t client);
  /// Place of the client that has read most, among those that missed nothing if there are any; nothing
  /// if nobody is here. The terminal waits for that one alone, so one that is slow delays nobody. Nor
  /// does it hurry anybody: after a cut it stands at the end, and its socket takes much at once.
  [[nodiscard]] std::optional<std::uint64_t> foremost() const;

  /// Returns false if the client is not here.
  bool resize(std::uint64_t client, terminal_size wanted);
  /// The size that was asked for last by a client that is still here; the initial one if they asked
  /// for none; unchanged while nobody is here.
  [[nodiscard]] terminal_size size() const { return size_; }

  [[nodiscard]] bool empty() const { return clients_.empty(); }
  /// Whether the terminal outlives the client that left last; true before the first one.
  [[nodiscard]] bool is_kept() const { return kept_; }

private:
  struct client {
    std::function<void()> wake;
    bool keeps = false;
    bool sleeps = false;
    bool was_cut = false;
    std::uint64_t place = 0;
    std::optional<terminal_size> size;
    std::uint64_t resized = 0; // which resize in order it was
  };
  void choose_size();

  terminal_size initial_;
  terminal_size size_;
  std::map<std::uint64_t, client> clients_;
  std::uint64_t last_ = 0;
  std::uint64_t resizes_ = 0;
  bool kept_ = true;
};

} // namespace tidemark
