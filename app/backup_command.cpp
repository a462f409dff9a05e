#include "app/backup_archive.hpp"
#include "app/backup_fetch.hpp"
#include "app/backup_target.hpp"
#include "app/commands.hpp"
#include "storage/backup_lock.hpp"
#include "storage/backup_pruning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

namespace tidemark {
namespace {

/// What was fetched so far, shown while it is.
class progress {
public:
  progress(const backup_manifest& copy, terminal& to) : copy_(copy), to_(to) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() {
    if (to_.shows_progress)
      to_.err << "\r\x1b[K" << std::flush;
  }

  void add(const backup_file& file) {
    ++files_;
    bytes_ += file.bytes;
    if (to_.shows_progress)
      to_.err << fmt::format("\r\x1b[K{} of {} files, {} MB", files_, copy_.files.size(),
                             bytes_ >> 20)
              << std::flush;
  }
  [[nodiscard]] std::size_t files() const { return files_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

private:
  const backup_manifest& copy_;
  terminal& to_;
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Of this machine's files rather than of the server.
bool is_local(const error& why) {
  return why.code == errc::full || why.code == errc::corrupt || why.code == errc::too_large;
}

int report_misuse(const error& why, terminal& to) {
  report_local_failure(why, to);
  return exit_usage;
}

int report_fetching(const error& why, const api_address& server, terminal& to) {
  return is_local(why) ? report_local_failure(why, to) : report_failure(why, server, to);
}

/// Fetches what the repository does not have yet.
expected<void> fetch_missing(api_client& client, const backup_manifest& copy,
                             const backup_repository& into, progress& so_far) {
  for (const auto& file : copy.files) {
    if (into.has(file))
      continue;
    auto out = unfinished_file::create(into.object(file.hash));
    if (!out)
      return tl::unexpected(out.error());
    const auto take = [&](std::string_view piece) { return out->write(piece); };
    auto done = fetch_file(client, copy, file, take).and_then([&] { return out->keep(file); });
    if (!done)
      return fail(done.error().code, file.name, done.error());
    so_far.add(file);
  }
  return {};
}

void advise_verification(const backup_repository& in, terminal& to) {
  const auto last = in.last_verified();
  to.err << (last ? fmt::format("Last verified {}. ", iso8601(last->time)) : "Never verified yet. ")
         << fmt::format("`tidemark backup {} --verify` reads every file of every backup.\n",
                        neutralised(in.directory().string()));
}

int back_up_into_directory(const api_address& server, const backup_options& what, terminal& to) {
  auto repository = backup_repository::open(what.target, true);
  if (!repository)
    return report_local_failure(repository.error(), to);
  const auto lock = backup_lock::take(what.target, backup_lock::use::add);
  if (!lock)
    return report_local_failure(lock.error(), to);
  const auto copy = ask_for_copy(server);
  if (!copy)
    return report_failure(copy.error(), server, to);
  api_client client{server};
  std::optional<progress> so_far{std::in_place, *copy, to};
  const auto done = fetch_missing(client, *copy, *repository, *so_far);
  const auto name = done.and_then([&] { return repository->add(*copy); });
  release_copy(client, *copy);
  const auto [files, bytes] = std::pair{so_far->files(), so_far->bytes()};
  so_far.reset();
  if (!done)
    return report_fetching(done.error(), server, to);
  if (!name)
    return report_local_failure(name.error(), to);
  to.out << fmt::format(
    "{}: everything up to position {}; {} of {} files fetched ({} of {} bytes)\n", *name,
    copy->head.value, files, copy->files.size(), bytes, copy->bytes());
  advise_verification(*repository, to);
  return exit_ok;
}

expected<void> fetch_all(api_client& client, const backup_manifest& copy,
                         backup_archive_writer& out, progress& so_far) {
  if (auto begun = out.begin(copy); !begun)
    return begun;
  std::set<digest> written;
  const auto take = [&](std::string_view piece) { return out.write(piece); };
  for (const auto& file : copy.files) {
    if (!written.insert(file.hash).second)
      continue;
    auto done = out.begin_object(file)
                  .and_then([&] { return fetch_file(client, copy, file, take); })
                  .and_then([&] { return out.end_object(); });
    if (!done)
      return fail(done.error().code, file.name, done.error());
    so_far.add(file);
  }
  return {};
}

int back_up_into_archive(const api_address& server, const backup_options& what, terminal& to) {
  auto out = backup_archive_writer::create(what.target, what.overwrite);
  if (!out)
    return report_local_failure(out.error(), to);
  const auto copy = ask_for_copy(server);
  if (!copy)
    return report_failure(copy.error(), server, to);
  api_client client{server};
  std::optional<progress> so_far{std::in_place, *copy, to};
  const auto done = fetch_all(client, *copy, *out, *so_far);
  so_far.reset();
  release_copy(client, *copy);
  if (!done)
    return report_fetching(done.error(), server, to);
  if (const auto finished = out->finish(); !finished)
    return report_local_failure(finished.error(), to);
  to.out << fmt::format("{}: everything up to position {}; {} files, {} bytes in {}\n", what.target,
                        copy->head.value, copy->files.size(), copy->bytes(), out->bytes());
  return exit_ok;
}

int prune_backups(const backup_options& what, terminal& to) {
  const auto repository = backup_repository::open(what.target, false);
  if (!repository)
    return report_local_failure(repository.error(), to);
  const auto lock = backup_lock::take(what.target, backup_lock::use::remove);
  if (!lock)
    return report_local_failure(lock.error(), to);
  const auto gone = prune(*repository, what.keep);
  if (!gone)
    return report_local_failure(gone.error(), to);
  for (const auto& name : gone->backups)
    to.out << "removed " << name << '\n';
  const auto left = repository->list();
  to.out << fmt::format("{} backups removed, {} left; {} objects removed ({} bytes)\n",
                        gone->backups.size(), left ? left->size() : 0, gone->objects, gone->bytes);
  return exit_ok;
}

} // namespace

int run_backup(const api_address& server, const backup_options& what, terminal& to) {
  const auto target = backup_target_of(what.target);
  if (!target)
    return report_misuse(target.error(), to);
  const bool is_archive = *target == backup_target::archive;
  if (what.verify)
    return is_archive ? verify_backup_archive(what.target, to) : verify_backups(what.target, to);
  if (what.prune && is_archive)
    return report_misuse(
      {errc::invalid_argument,
       fmt::format("{} is one backup in one file: only a directory of them is pruned",
                   what.target)},
      to);
  if (what.prune)
    return prune_backups(what, to);
  catch_interrupts();
  return is_archive ? back_up_into_archive(server, what, to)
                    : back_up_into_directory(server, what, to);
}

} // namespace tidemark
