#include "app/archive_library.hpp"

#include <dlfcn.h>

namespace tidemark {
namespace {

template <class Function>
bool resolve(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

} // namespace

bool archive_library::load() {
  void* library = ::dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && resolve(library, "archive_write_new", write_new)
         && resolve(library, "archive_write_set_format_pax_restricted",
                    write_set_format_pax_restricted)
         && resolve(library, "archive_write_add_filter_zstd", write_add_filter_zstd)
         && resolve(library, "archive_write_set_bytes_per_block", write_set_bytes_per_block)
         && resolve(library, "archive_write_set_bytes_in_last_block", write_set_bytes_in_last_block)
         && resolve(library, "archive_write_open", write_open)
         && resolve(library, "archive_write_header", write_header)
         && resolve(library, "archive_write_data", write_data)
         && resolve(library, "archive_write_finish_entry", write_finish_entry)
         && resolve(library, "archive_write_close", write_close)
         && resolve(library, "archive_write_free", write_free)
         && resolve(library, "archive_read_new", read_new)
         && resolve(library, "archive_read_support_filter_zstd", read_support_filter_zstd)
         && resolve(library, "archive_read_support_format_tar", read_support_format_tar)
         && resolve(library, "archive_read_open_fd", read_open_fd)
         && resolve(library, "archive_read_next_header", read_next_header)
         && resolve(library, "archive_read_data", read_data)
         && resolve(library, "archive_read_free", read_free)
         && resolve(library, "archive_errno", error_number)
         && resolve(library, "archive_error_string", error_string)
         && resolve(library, "archive_entry_new", entry_new)
         && resolve(library, "archive_entry_free", entry_free)
         && resolve(library, "archive_entry_set_pathname", entry_set_pathname)
         && resolve(library, "archive_entry_set_filetype", entry_set_filetype)
         && resolve(library, "archive_entry_set_perm", entry_set_perm)
         && resolve(library, "archive_entry_set_size", entry_set_size)
         && resolve(library, "archive_entry_set_mtime", entry_set_mtime)
         && resolve(library, "archive_entry_pathname", entry_pathname)
         && resolve(library, "archive_entry_filetype", entry_filetype)
         && resolve(library, "archive_entry_size", entry_size)
         && resolve(library, "archive_entry_size_is_set", entry_size_is_set)
         && resolve(library, "archive_entry_hardlink", entry_hardlink)
         && resolve(library, "archive_entry_symlink", entry_symlink)
         && resolve(library, "archive_entry_sparse_count", entry_sparse_count);
}

expected<const archive_library*> archive_library::instance() {
  static archive_library only;
  static const bool is_there = only.load();
  if (!is_there)
    return fail(errc::unavailable,
                "a backup in one file needs libarchive (libarchive.so.13), which "
                "cannot be loaded: install it (Debian: libarchive13)");
  return &only;
}

} // namespace tidemark
