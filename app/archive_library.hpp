#pragma once

#include "base/error.hpp"

#include <archive.h>
#include <archive_entry.h>

namespace tidemark {

/// The functions of libarchive that are used here, loaded at the first call of `instance`, which only the
/// commands for archives of a backup make: no server loads it (docs/decisions/010 and 034).
struct archive_library {
  decltype(&::archive_write_new) write_new = nullptr;
  decltype(&::archive_write_set_format_pax_restricted) write_set_format_pax_restricted = nullptr;
  decltype(&::archive_write_add_filter_zstd) write_add_filter_zstd = nullptr;
  decltype(&::archive_write_set_bytes_per_block) write_set_bytes_per_block = nullptr;
  decltype(&::archive_write_set_bytes_in_last_block) write_set_bytes_in_last_block = nullptr;
  decltype(&::archive_write_open) write_open = nullptr;
  decltype(&::archive_write_header) write_header = nullptr;
  decltype(&::archive_write_data) write_data = nullptr;
  decltype(&::archive_write_finish_entry) write_finish_entry = nullptr;
  decltype(&::archive_write_close) write_close = nullptr;
  decltype(&::archive_write_free) write_free = nullptr;
  decltype(&::archive_read_new) read_new = nullptr;
  decltype(&::archive_read_support_filter_zstd) read_support_filter_zstd = nullptr;
  decltype(&::archive_read_support_format_tar) read_support_format_tar = nullptr;
  decltype(&::archive_read_open_fd) read_open_fd = nullptr;
  decltype(&::archive_read_next_header) read_next_header = nullptr;
  decltype(&::archive_read_data) read_data = nullptr;
  decltype(&::archive_read_free) read_free = nullptr;
  decltype(&::archive_errno) error_number = nullptr;
  decltype(&::archive_error_string) error_string = nullptr;
  decltype(&::archive_entry_new) entry_new = nullptr;
  decltype(&::archive_entry_free) entry_free = nullptr;
  decltype(&::archive_entry_set_pathname) entry_set_pathname = nullptr;
  decltype(&::archive_entry_set_filetype) entry_set_filetype = nullptr;
  decltype(&::archive_entry_set_perm) entry_set_perm = nullptr;
  decltype(&::archive_entry_set_size) entry_set_size = nullptr;
  decltype(&::archive_entry_set_mtime) entry_set_mtime = nullptr;
  decltype(&::archive_entry_pathname) entry_pathname = nullptr;
  decltype(&::archive_entry_filetype) entry_filetype = nullptr;
  decltype(&::archive_entry_size) entry_size = nullptr;
  decltype(&::archive_entry_size_is_set) entry_size_is_set = nullptr;
  decltype(&::archive_entry_hardlink) entry_hardlink = nullptr;
  decltype(&::archive_entry_symlink) entry_symlink = nullptr;
  decltype(&::archive_entry_sparse_count) entry_sparse_count = nullptr;

  /// Any thread. Errors: `unavailable` if this machine has no libarchive.
  static expected<const archive_library*> instance();

private:
  bool load();
};

} // namespace tidemark
