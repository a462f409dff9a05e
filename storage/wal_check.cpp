#include "storage/wal_check.hpp"

#include "storage/files.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace tidemark {

namespace {

// The layout of RocksDB's log files: blocks of 32 KiB, in each fragments of records, none of them
// reaching over a block's end: masked CRC-32C of type and payload (4), length (2), type (1) and
// the payload.
constexpr std::size_t block_bytes = 32 << 10;
constexpr std::size_t piece_bytes = 8 * block_bytes; // read at once
constexpr std::size_t header_bytes = 7;
constexpr std::uint8_t full = 1, last_plain_type = 4, compression_type = 9;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t castagnoli = 0x82F63B78;
  std::array<std::uint32_t, 256> entries{};
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    auto value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ (value & 1 ? castagnoli : 0);
    entries[i] = value;
  }
  return entries;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr auto entries = make_crc_table();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes)
    crc = (crc >> 8) ^ entries[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

struct fragment {
  std::string_view block;
  std::size_t at = 0;

  [[nodiscard]] std::uint32_t byte(std::size_t i) const {
    return static_cast<std::uint8_t>(block[at + i]);
  }
  [[nodiscard]] std::uint32_t crc() const {
    return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
  }
  [[nodiscard]] std::size_t length() const { return byte(4) | byte(5) << 8; }
  [[nodiscard]] std::uint32_t type() const { return byte(6); }
  [[nodiscard]] bool fits(std::size_t size) const {
    return at + header_bytes + size <= block.size();
  }
  [[nodiscard]] bool is_plain() const { return type() >= full && type() <= last_plain_type; }
  /// Undamaged if its payload had `size` bytes.
  [[nodiscard]] bool has_checksum_of(std::size_t size) const {
    return fits(size) && masked_crc32c(block.substr(at + 6, 1 + size)) == crc();
  }
  [[nodiscard]] bool is_whole(std::size_t size) const {
    return is_plain() && has_checksum_of(size);
  }
};

bool anything_whole_after(std::string_view block, std::size_t at) {
  for (++at; at + header_bytes <= block.size(); ++at)
    if (const fragment candidate{block, at};
        candidate.length() > 0 && candidate.is_whole(candidate.length()))
      return true;
  return false;
}

enum class verdict { fine, torn, damaged };
struct finding {
  verdict what = verdict::fine;
  std::size_t at = 0;
};

finding inspect_block(std::string_view block) {
  std::size_t at = 0;
  while (at + header_bytes <= block.size()) {
    const fragment next{block, at};
    const auto is_blank = next.type() == 0 && next.length() == 0;
    if (is_blank || !next.fits(next.length())) {
      const auto rest = block.size() - at - header_bytes;
      const auto hides = next.is_whole(rest) || anything_whole_after(block, at);
      return {hides ? verdict::damaged : verdict::torn, at};
    }
    // Types of recycled logs, which this log never has, read as the end of the file.
    if (!next.is_plain() && next.type() != compression_type)
      return {verdict::damaged, at};
    at += header_bytes + next.length();
  }
  return {};
}

bool has_bad_checksum(std::string_view block) {
  for (fragment next{block}; next.fits(0); next.at += header_bytes + next.length()) {
    const auto is_blank = next.type() == 0 && next.length() == 0;
    if (is_blank || !next.fits(next.length()))
      break;
    if (!next.has_checksum_of(next.length()))
      return true;
  }
  return false;
}

/// Goes through a log block by block.
class damage_search {
public:
  /// Takes the next blocks; all but the log's last one are whole. False once damage is found.
  bool take(std::string_view blocks) {
    for (std::size_t at = 0; at < blocks.size() && !found_; at += block_bytes)
      take_block(blocks.substr(at, block_bytes));
    return !found_;
  }
  [[nodiscard]] const std::optional<std::size_t>& found() const { return found_; }

private:
  void take_block(std::string_view block) {
    const auto seen = inspect_block(block);
    // Nothing follows a write that was cut short.
    if (torn_ && (seen.what != verdict::torn || seen.at > 0))
      found_ = torn_;
    else if (seen.what == verdict::damaged)
      found_ = start_ + seen.at;
    else if (seen.what == verdict::torn)
      torn_ = start_ + seen.at;
    start_ += block.size();
  }

  std::size_t start_ = 0; // of the next block
  std::optional<std::size_t> torn_;
  std::optional<std::size_t> found_;
};

} // namespace

std::vector<std::filesystem::path> wal_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code code;
  for (std::filesystem::directory_iterator entry{directory, code}, end; !code && entry != end;
       entry.increment(code))
    if (entry->path().extension() == ".log")
      found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::size_t> find_hidden_damage(std::string_view wal) {
  damage_search search;
  search.take(wal);
  return search.found();
}

// A file that cannot be read is left to RocksDB, which says so.
std::optional<std::string> find_hidden_wal_damage(const std::filesystem::path& directory) {
  for (const auto& file : wal_files(directory)) {
    damage_search search;
    const auto take = [&](std::string_view piece) { return search.take(piece); };
    if (files::read_pieces(file, piece_bytes, take) && search.found())
      return fmt::format("{} is damaged at byte {}, and whole records follow",
                         file.filename().string(), *search.found());
  }
  return std::nullopt;
}

bool has_wal_damage(const std::filesystem::path& directory) {
  const auto wals = wal_files(directory);
  return std::any_of(wals.begin(), wals.end(), [](const auto& file) {
    damage_search search;
    auto is_sound = true;
    const auto take = [&](std::string_view piece) {
      is_sound = search.take(piece);
      for (std::size_t at = 0; at < piece.size() && is_sound; at += block_bytes)
        is_sound = !has_bad_checksum(piece.substr(at, block_bytes));
      return is_sound;
    };
    return files::read_pieces(file, piece_bytes, take) && !is_sound;
  });
}

} // namespace tidemark
