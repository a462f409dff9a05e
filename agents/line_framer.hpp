#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tidemark {

/// Cuts a byte stream into lines at LF; strips one CR before it. Works on bytes, so a UTF-8
/// sequence split over two reads stays whole. Linear in the input; holds at most `max_line` bytes.
class line_framer {
public:
  /// `line` is valid only during the call. A line over the limit is reported once, at its end, with
  /// its first bytes, `truncated` and its full size; it costs nothing but itself.
  using line_sink =
    std::function<void(std::string_view line, bool truncated, std::uint64_t full_size)>;

  explicit line_framer(std::size_t max_line_bytes) : limit_(max_line_bytes) {}

  void feed(std::string_view bytes, const line_sink& sink);
  /// The stream has ended: reports a last line without LF, if there is one.
  void finish(const line_sink& sink);

private:
  void keep(std::string_view bytes);
  void report_kept(const line_sink& sink);
  void report(std::string_view line, std::uint64_t size, bool ends_in_cr,
              const line_sink& sink) const;

  std::size_t limit_;
  std::string partial_;
  std::uint64_t partial_size_ = 0;
  bool ends_in_cr_ = false; ///< the last byte of the partial line, which `partial_` may not hold
};

} // namespace tidemark
