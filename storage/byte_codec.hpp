#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::bytes {

/// Writes 8 bytes at `to`, most significant first, so that keys sort as their numbers do.
inline void store_fixed(char* to, std::uint64_t number) {
  for (int i = 0; i < 8; ++i)
    to[i] = static_cast<char>(number >> (56 - 8 * i));
}

/// Appends 8 bytes, most significant first.
inline void put_fixed(std::string& out, std::uint64_t number) {
  std::array<char, 8> bytes{};
  store_fixed(bytes.data(), number);
  out.append(bytes.data(), bytes.size());
}

/// Appends 1 to 10 bytes, 7 bits each, least significant first.
inline void put_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    out.push_back(static_cast<char>(number | 0x80));
  out.push_back(static_cast<char>(number));
}

/// Appends a length and the text.
inline void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out.append(text);
}

/// Takes values off the front of a record. After a value that is not there, `ok()` is false and
/// everything reads as zero or empty: check once, at the end.
class reader {
public:
  explicit reader(std::string_view record) : rest_(record) {}

  std::uint64_t fixed() {
    const auto stored = take(sizeof(std::uint64_t));
    if (stored.empty())
      return 0;
    std::uint64_t number = 0;
    std::memcpy(&number, stored.data(), sizeof number);
    return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
  }

  std::uint64_t varint() {
    if (ok_ && !rest_.empty() && !(rest_.front() & 0x80)) // most lengths
      return static_cast<std::uint64_t>(take(1).front());
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = take(1);
      if (byte.empty())
        return 0;
      number |= static_cast<std::uint64_t>(byte[0] & 0x7F) << shift;
      if (!(byte[0] & 0x80))
        return number;
    }
    ok_ = false;
    return 0;
  }

  std::string_view text() { return take(varint()); }

  std::string_view take(std::uint64_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// Everything was there and nothing is left.
  [[nodiscard]] bool complete() const noexcept { return ok_ && rest_.empty(); }

private:
  std::string_view rest_;
  bool ok_ = true;
};

} // namespace tidemark::bytes
