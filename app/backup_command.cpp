#include "app/commands.hpp"
#include "app/offline_log.hpp"
#include "base/json.hpp"
#include "storage/backup_repository.hpp"
#include "storage/files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <unistd.h>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

constexpr int most_attempts = 5;

std::string path_of(const backup_manifest& copy) {
  return "/api/v1/backup/" + percent_encoded(copy.id);
}

/// Fetches one file; goes on where a connection breaks off.
expected<void> fetch(api_client& client, const backup_manifest& copy, const backup_file& file,
                     const backup_repository& into) {
  auto out = unfinished_file::create(into.object(file.hash));
  if (!out)
    return tl::unexpected(out.error());
  const auto path = fmt::format("{}/files/{}", path_of(copy), to_hex(file.hash));
  for (int attempt = 1;; ++attempt) {
    expected<void> written;
    api_client::headers headers;
    if (out->bytes() > 0)
      headers.emplace("Range", fmt::format("bytes={}-", out->bytes()));
    const auto before = out->bytes();
    const auto done = client.stream(path, headers, [&](std::string_view piece) {
      written = out->write(piece);
      return written.has_value();
    });
    if (!written)
      return written;
    if (done)
      return out->keep(file);
    if (done.error().code != errc::io && done.error().code != errc::unavailable)
      return done;
    if (out->bytes() > before)
      attempt = 0;
    if (attempt >= most_attempts)
      return done;
  }
}

struct fetched {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

/// Fetches what the repository does not have yet.
expected<fetched> fetch_missing(api_client& client, const backup_manifest& copy,
                                const backup_repository& into, terminal& to) {
  fetched sum;
  for (const auto& file : copy.files) {
    if (into.has(file))
      continue;
    if (to.shows_progress)
      to.err << fmt::format("\r\x1b[K{} of {} files, {} MB", sum.files, copy.files.size(),
                            sum.bytes >> 20)
             << std::flush;
    if (auto done = fetch(client, copy, file, into); !done)
      return fail(done.error().code, file.name, done.error());
    ++sum.files;
    sum.bytes += file.bytes;
  }
  if (to.shows_progress)
    to.err << "\r\x1b[K" << std::flush;
  return sum;
}

expected<backup_manifest> ask_for_copy(const api_address& server) {
  auto patient = server;
  patient.patience = 1h; // a first backup hashes the whole log
  api_client client{patient};
  const auto response = client.call("POST", "/api/v1/backup");
  if (!response)
    return tl::unexpected(response.error());
  auto copy = parse_json(response->body).and_then(parse_backup_manifest);
  if (!copy)
    return fail(errc::internal, "the server's response is no backup", copy.error());
  return copy;
}

/// Recomputes all hash chains of one backup; what is wrong, a line each.
expected<std::vector<std::string>> broken_chains(const backup_repository& from,
                                                 const backup_manifest& manifest) {
  const auto directory = from.directory() / fmt::format("check-{}", ::getpid());
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  auto linked = from.link(manifest, directory);
  expected<std::vector<std::string>> found;
  const auto check = [&]() -> expected<void> {
    if (!linked)
      return linked;
    rocks_log_options options;
    options.directory = directory;
    const auto log = open_offline(options);
    if (!log)
      return tl::unexpected(log.error());
    if ((*log)->head() < manifest.head)
      found->push_back(fmt::format("the log ends at position {}, the backup was made at {}",
                                   (*log)->head().value, manifest.head.value));
    for (const auto& stream : (*log)->streams()) {
      const auto report = (*log)->verify(stream.id);
      if (!report)
        return tl::unexpected(report.error());
      if (report->first_bad)
        found->push_back(
          fmt::format("{}: event {}: {}", stream.name, report->first_bad->value, report->problem));
    }
    return {};
  };
  const auto checked = check();
  std::filesystem::remove_all(directory, ignored);
  if (!checked)
    return tl::unexpected(checked.error());
  return found;
}

int verify_backups(const std::string& directory, terminal& to) {
  const auto repository = backup_repository::open(directory, false);
  if (!repository)
    return report_local_failure(repository.error(), to);
  const auto names = repository->list();
  if (!names)
    return report_local_failure(names.error(), to);
  if (names->empty())
    return report_local_failure(repository->newest(std::nullopt).error(), to);
  bool all_good = true;
  for (const auto& name : *names) {
    const auto manifest = repository->read(name);
    if (!manifest)
      return report_local_failure(manifest.error(), to);
    auto wrong = repository->damage(*manifest);
    if (wrong.empty()) {
      auto broken = broken_chains(*repository, *manifest);
      if (!broken)
        wrong.push_back(broken.error().describe());
      else
        wrong = std::move(*broken);
    }
    to.out << fmt::format("{}: {} files, {} bytes, up to position {}: {}\n", name,
                          manifest->files.size(), manifest->bytes(), manifest->head.value,
                          wrong.empty() ? "whole, all hash chains hold" : "DAMAGED");
    for (const auto& each : wrong)
      to.out << "  " << neutralised(each) << '\n';
    all_good = all_good && wrong.empty();
  }
  if (!all_good)
    to.err << "To mend it remove the objects that are named, and run `tidemark backup` again: it "
              "fetches "
              "what is missing, if the server still has it.\n";
  return all_good ? exit_ok : exit_failed;
}

} // namespace

int run_backup(const api_address& server, const backup_options& what, terminal& to) {
  if (what.verify)
    return verify_backups(what.directory, to);
  catch_interrupts();
  auto repository = backup_repository::open(what.directory, true);
  if (!repository)
    return report_local_failure(repository.error(), to);
  const auto copy = ask_for_copy(server);
  if (!copy)
    return report_failure(copy.error(), server, to);
  api_client client{server};
  const auto done = fetch_missing(client, *copy, *repository, to);
  const auto name = done.and_then([&](const fetched&) { return repository->add(*copy); });
  // Where this fails the server gives it up by itself.
  [[maybe_unused]] const auto released = client.call("DELETE", path_of(*copy));
  if (!done && (done.error().code == errc::full || done.error().code == errc::corrupt))
    return report_local_failure(done.error(), to);
  if (!done)
    return report_failure(done.error(), server, to);
  if (!name)
    return report_local_failure(name.error(), to);
  to.out << fmt::format(
    "{}: everything up to position {}; {} of {} files fetched ({} of {} bytes)\n", *name,
    copy->head.value, done->files, copy->files.size(), done->bytes, copy->bytes());
  return exit_ok;
}

int run_restore(const config& local, const restore_options& what, terminal& to) {
  const auto repository = backup_repository::open(what.directory, false);
  if (!repository)
    return report_local_failure(repository.error(), to);
  std::optional<timestamp> latest;
  if (!what.at.empty()) {
    const auto parsed = parse_iso8601(what.at);
    if (!parsed)
      return report_local_failure(parsed.error(), to);
    latest = *parsed;
  }
  const auto manifest = repository->newest(latest);
  if (!manifest)
    return report_local_failure(manifest.error(), to);
  const auto& into = local.values.log.directory;
  if (const auto done = repository->restore(*manifest, into); !done)
    return report_local_failure(done.error(), to);
  to.out << fmt::format("the backup of {} is in {}: everything up to position {}\n",
                        iso8601(manifest->time), into.string(), manifest->head.value);
  to.err
    << "When a server starts on it, all workspaces go on under a new epoch: clients that had read "
       "further are told (gap) and begin anew. What lives in it lives on: its webhooks send to "
       "where "
       "they sent, and retention removes what is too old by now (doc: operations, Backup).\n";
  return exit_ok;
}

} // namespace tidemark
