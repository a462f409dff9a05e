#include "app/backup_archive.hpp"
#include "app/backup_target.hpp"
#include "app/commands.hpp"
#include "storage/backup_lock.hpp"
#include "storage/backup_repository.hpp"
#include "storage/files.hpp"
#include "storage/restored_directory.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <ostream>

namespace tidemark {
namespace {

void announce(const backup_manifest& manifest, const std::filesystem::path& into, terminal& to) {
  to.err << fmt::format("restoring the backup of {} ({} files, {} bytes) into {}\n",
                        iso8601(manifest.time), manifest.files.size(), manifest.bytes(),
                        neutralised(into.string()));
}

expected<void> not_later(const backup_manifest& manifest, std::optional<timestamp> latest,
                         const std::string& source) {
  if (!latest || manifest.time <= *latest)
    return {};
  return fail(errc::not_found, fmt::format("{} is of {}, later than {}", source,
                                           iso8601(manifest.time), iso8601(*latest)));
}

expected<backup_manifest> restore_directory(const std::string& source,
                                            std::optional<timestamp> latest,
                                            const std::filesystem::path& into, terminal& to) {
  const auto repository = backup_repository::open(source, false);
  if (!repository)
    return tl::unexpected(repository.error());
  const auto lock = backup_lock::take(source, backup_lock::use::read);
  if (!lock)
    return tl::unexpected(lock.error());
  auto manifest = repository->newest(latest);
  if (!manifest)
    return manifest;
  announce(*manifest, into, to);
  if (const auto done = repository->restore(*manifest, into); !done)
    return tl::unexpected(done.error());
  return manifest;
}

/// Copies a content that the log holds under several names to those that come after the first.
expected<void> copy_again(restored_directory& in, const std::string& from,
                          const backup_file& file) {
  auto out = in.create(file.name);
  if (!out)
    return tl::unexpected(out.error());
  constexpr std::size_t copied_piece_bytes = 1 << 20;
  expected<void> written;
  const auto read =
    files::read_pieces(in.file(from), copied_piece_bytes, [&](std::string_view piece) {
      written = out->write(piece);
      return written.has_value();
    });
  if (!read || !written)
    return read ? written : read;
  return out->keep(file);
}

expected<backup_manifest> restore_archive(const std::string& source,
                                          std::optional<timestamp> latest,
                                          const std::filesystem::path& into, terminal& to) {
  std::optional<restored_directory> target;
  std::optional<unfinished_file> out;
  backup_file at;
  std::map<digest, std::string> first_names;
  backup_archive_visitor visit;
  visit.begin = [&](const backup_manifest& manifest) -> expected<void> {
    if (auto fits = not_later(manifest, latest, source); !fits)
      return fits;
    announce(manifest, into, to);
    auto begun = restored_directory::begin(into);
    if (!begun)
      return tl::unexpected(begun.error());
    target.emplace(std::move(*begun));
    return {};
  };
  visit.begin_object = [&](const backup_file& file) -> expected<void> {
    auto made = target->create(file.name);
    if (!made)
      return tl::unexpected(made.error());
    out.emplace(std::move(*made));
    at = file;
    return {};
  };
  visit.piece = [&](std::string_view piece) { return out->write(piece); };
  visit.end_object = [&] {
    first_names.emplace(at.hash, at.name);
    return out->keep(at);
  };
  auto manifest = read_backup_archive(source, visit);
  if (!manifest)
    return manifest;
  for (const auto& file : manifest->files)
    if (const auto& first = first_names.at(file.hash); first != file.name)
      if (auto copied = copy_again(*target, first, file); !copied)
        return tl::unexpected(copied.error());
  if (auto finished = target->finish(*manifest); !finished)
    return tl::unexpected(finished.error());
  return manifest;
}

} // namespace

int run_restore(const config& local, const restore_options& what, terminal& to) {
  const auto& into = local.values.log.directory;
  if (!local.sources.contains("data.dir")) {
    to.err << painted(to, tint::red, "error: ")
           << "say into which directory with --data-dir <path>: a missing or an empty one\n";
    return exit_usage;
  }
  std::optional<timestamp> latest;
  if (!what.at.empty()) {
    const auto parsed = parse_iso8601(what.at);
    if (!parsed)
      return report_local_failure(parsed.error(), to);
    latest = *parsed;
  }
  const auto source = backup_target_of(what.source);
  if (!source) {
    report_local_failure(source.error(), to);
    return exit_usage;
  }
  const auto done = *source == backup_target::archive
                      ? restore_archive(what.source, latest, into, to)
                      : restore_directory(what.source, latest, into, to);
  if (!done)
    return report_local_failure(done.error(), to);
  to.out << fmt::format("the backup of {} is in {}: everything up to position {}\n",
                        iso8601(done->time), into.string(), done->head.value);
  to.err
    << "When a server starts on it, all workspaces go on under a new epoch: clients that had read "
       "further are told (gap) and begin anew. What lives in it lives on: queued tasks start, "
       "webhooks send to where they sent, and retention removes what is too old by now. "
       "To only look at it start the server with --passive, which holds all three.\n";
  return exit_ok;
}

} // namespace tidemark
