#include "http/problem.hpp"
#include "http/query_values.hpp"
#include "http/router.hpp"
#include "storage/hash_chain.hpp"
#include "storage/staged_backups.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

// Copies of the log for `tidemark backup` to fetch (docs/operations.md, Backup). What they hold is everything that
// anybody has said, so only `admin` may have them.
namespace tidemark {

namespace {

constexpr std::size_t backup_piece_bytes = 1 << 20;

error no_backups() {
  return {errc::unsupported, "this server makes no backups"};
}

task<void> make_backup(exchange& with) {
  auto* backups = with.services().backups;
  if (!backups) {
    co_await send_error(with, no_backups());
    co_return;
  }
  const auto make = [backups] { return backups->make(); };
  const auto made = co_await with.in_background(make);
  if (!made) {
    co_await send_error(with, made.error());
    co_return;
  }
  co_await with.send(201, dump_json(to_json(*made)));
}

/// `bytes=1024-`, which is all that somebody needs who goes on where a download broke off; 0 without.
std::optional<std::uint64_t> first_byte(const exchange& with) {
  const auto range = with.header("Range").value_or("bytes=0-");
  constexpr std::string_view unit = "bytes=";
  if (!range.starts_with(unit) || !range.ends_with('-'))
    return std::nullopt;
  return parse_number(std::string_view{range}.substr(unit.size(), range.size() - unit.size() - 1));
}

/// At most `backup_piece_bytes` of a file from `at` on; empty at its end.
expected<std::string> read_backup_piece(const std::filesystem::path& path, std::uint64_t at) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return fail(errc::not_found, "the backup was released");
  std::string piece(backup_piece_bytes, '\0');
  const auto got = ::pread(descriptor, piece.data(), piece.size(), static_cast<off_t>(at));
  const auto code = errno;
  ::close(descriptor);
  if (got < 0)
    return fail(errc::io, "cannot read a backup: " + std::generic_category().message(code));
  piece.resize(static_cast<std::size_t>(got));
  return piece;
}

task<void> send_pieces(exchange& with, std::filesystem::path path, std::uint64_t size,
                       std::uint64_t from) {
  auto headers = std::map<std::string, std::string>{};
  headers["Cache-Control"] = "no-store";
  if (from > 0)
    headers["Content-Range"] = fmt::format("bytes {}-{}/{}", from, size - 1, size);
  const auto status = from > 0 ? 206 : 200;
  auto type = std::string{"application/octet-stream"};
  auto body = co_await with.stream(status, std::move(type), std::move(headers));
  while (from < size) {
    const auto read = [path, from] { return read_backup_piece(path, from); };
    const auto piece = co_await with.blocking(read);
    if (!piece || piece->empty() || !with.still_admitted())
      co_return; // without the last chunk: the client sees that it is not whole
    const auto sent = co_await body->write(*piece);
    if (!sent)
      co_return;
    from += piece->size();
  }
  co_await body->finish();
}

struct found_file {
  std::filesystem::path path;
  std::uint64_t size = 0;
};

task<void> send_backup_file(exchange& with) {
  auto* backups = with.services().backups;
  const auto hash = digest_from_hex(with.param("sha256"));
  const auto from = first_byte(with);
  if (!backups || !hash || !from) {
    const auto why =
      !backups ? no_backups()
      : !hash  ? error{errc::invalid_argument, "a file is named by its SHA-256 in hexadecimal"}
               : error{errc::invalid_argument, "Range must be bytes=<first>-"};
    co_await send_error(with, why);
    co_return;
  }
  const auto find = [backups, id = with.param("id"), wanted = *hash]() -> expected<found_file> {
    auto path = backups->file(id, wanted);
    if (!path)
      return tl::unexpected(path.error());
    std::error_code gone;
    const auto size = std::filesystem::file_size(*path, gone);
    if (gone)
      return fail(errc::not_found, "the backup was released");
    return found_file{std::move(*path), size};
  };
  const auto file = co_await with.blocking(find);
  if (!file) {
    co_await send_error(with, file.error());
    co_return;
  }
  if (*from > 0 && *from >= file->size) {
    auto why = error{errc::ahead, "the file ends before the first byte of the range"};
    co_await send_error(with, std::move(why));
    co_return;
  }
  co_await send_pieces(with, file->path, file->size, *from);
}

task<void> release_backup(exchange& with) {
  auto* backups = with.services().backups;
  if (!backups) {
    co_await send_error(with, no_backups());
    co_return;
  }
  const auto release = [backups, id = with.param("id")] { return backups->release(id); };
  const auto released = co_await with.blocking(release);
  if (!released) {
    co_await send_error(with, released.error());
    co_return;
  }
  auto nothing = std::string{};
  co_await with.send(204, std::move(nothing));
}

} // namespace

void add_backup_routes(router& to) {
  to.add("POST", "/api/v1/backup", make_backup, scope::admin);
  to.add("GET", "/api/v1/backup/{id}/files/{sha256}", send_backup_file, scope::admin);
  to.add("DELETE", "/api/v1/backup/{id}", release_backup, scope::admin);
}

} // namespace tidemark
