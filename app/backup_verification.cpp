#include "app/backup_archive.hpp"
#include "app/commands.hpp"
#include "app/offline_log.hpp"
#include "storage/backup_lock.hpp"
#include "storage/backup_repository.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>

namespace tidemark {
namespace {

/// A directory for the time of a verification, away from the backups: nothing of them is touched.
class scratch_directory {
public:
  static expected<scratch_directory> make() {
    std::error_code code;
    auto pattern = (std::filesystem::temp_directory_path(code) / "tidemark-verify-XXXXXX").string();
    if (code || !::mkdtemp(pattern.data()))
      return fail(errc::io, fmt::format("cannot create the directory {} to verify in", pattern));
    return scratch_directory{pattern};
  }
  scratch_directory(scratch_directory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  scratch_directory& operator=(scratch_directory&&) = delete;
  ~scratch_directory() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  explicit scratch_directory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Recomputes all hash chains of one backup; what is wrong, a line each.
expected<std::vector<std::string>> broken_chains(const backup_repository& from,
                                                 const backup_manifest& manifest) {
  const auto scratch = scratch_directory::make();
  if (!scratch)
    return tl::unexpected(scratch.error());
  if (auto shown = from.show(manifest, scratch->path()); !shown)
    return tl::unexpected(shown.error());
  rocks_log_options options;
  options.directory = scratch->path();
  const auto log = open_offline(options);
  if (!log)
    return tl::unexpected(log.error());
  std::vector<std::string> found;
  if ((*log)->head() < manifest.head)
    found.push_back(fmt::format("the log ends at position {}, the backup was made at {}",
                                (*log)->head().value, manifest.head.value));
  for (const auto& stream : (*log)->streams()) {
    const auto report = (*log)->verify(stream.id);
    if (!report)
      return tl::unexpected(report.error());
    if (report->first_bad)
      found.push_back(
        fmt::format("{}: event {}: {}", stream.name, report->first_bad->value, report->problem));
  }
  return found;
}

std::string summary(const std::string& name, const backup_manifest& manifest) {
  return fmt::format("{}: {} files, {} bytes, up to position {}: ", name, manifest.files.size(),
                     manifest.bytes(), manifest.head.value);
}

} // namespace

int verify_backup_archive(const std::string& file, terminal& to) {
  backup_archive_visitor only_read;
  only_read.begin = [](const backup_manifest&) { return expected<void>{}; };
  only_read.begin_object = [](const backup_file&) { return expected<void>{}; };
  only_read.piece = [](std::string_view) { return expected<void>{}; };
  only_read.end_object = [] { return expected<void>{}; };
  const auto manifest = read_backup_archive(file, only_read);
  if (!manifest)
    return report_local_failure(manifest.error(), to);
  to.out << neutralised(summary(file, *manifest)) << "every file is whole\n";
  to.err << "Its hash chains are checked in a directory: unpack it there (tar --zstd -xf) and "
            "verify that.\n";
  return exit_ok;
}

int verify_backups(const std::string& directory, terminal& to) {
  const auto repository = backup_repository::open(directory, false);
  if (!repository)
    return report_local_failure(repository.error(), to);
  const auto lock = backup_lock::take(directory, backup_lock::use::read);
  if (!lock)
    return report_local_failure(lock.error(), to);
  const auto names = repository->list();
  if (!names)
    return report_local_failure(names.error(), to);
  if (names->empty())
    return report_local_failure(repository->newest(std::nullopt).error(), to);
  const auto began = now_utc();
  bool all_good = true;
  for (const auto& name : *names) {
    const auto manifest = repository->read(name);
    if (!manifest) {
      report_local_failure(manifest.error(), to);
      all_good = false;
      continue;
    }
    auto wrong = repository->damage(*manifest);
    if (wrong.empty()) {
      auto broken = broken_chains(*repository, *manifest);
      if (!broken)
        wrong.push_back(broken.error().describe());
      else
        wrong = std::move(*broken);
    }
    to.out << summary(name, *manifest)
           << (wrong.empty() ? "whole, all hash chains hold" : "DAMAGED") << '\n';
    for (const auto& each : wrong)
      to.out << "  " << neutralised(each) << '\n';
    all_good = all_good && wrong.empty();
  }
  if (!all_good) {
    to.err << "To mend it remove the objects that are named, and run `tidemark backup` again: it "
              "fetches what is missing, if the server still has it.\n";
    return exit_failed;
  }
  if (const auto noted = repository->note_verified(began, names->back()); !noted)
    to.err << "This is not written down in the directory: " << neutralised(noted.error().describe())
           << '\n';
  return exit_ok;
}

} // namespace tidemark
