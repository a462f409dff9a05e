// What the commands about backups do to files on this machine; no server takes part.
#include "app/cli.hpp"
#include "app/exit_code.hpp"
#include "app/terminal.hpp"
#include "storage/backup_lock.hpp"
#include "storage/backup_repository.hpp"
#include "storage/staged_backups.hpp"
#include "tests/storage/support.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <sstream>
#include <sys/stat.h>

using namespace tidemark;

namespace {

struct command_run {
  int code = 0;
  std::string out;
  std::string err;
};

command_run run_backup_command(std::vector<std::string> arguments) {
  std::ostringstream out;
  std::ostringstream err;
  terminal to{out, err, false};
  const int code = run_cli(std::move(arguments), {}, to);
  return {code, out.str(), err.str()};
}

/// A log with a long line, and two backups of it in a directory.
struct backed_up_log {
  testing::temporary_directory directory;
  std::string backups = directory.path() / "backups";

  backed_up_log() {
    const auto log = testing::open_log(directory.path() / "log");
    staged_backups staged{*log, directory.path() / "log"};
    auto repository = *backup_repository::open(backups, true);
    for (int i = 0; i < 2; ++i) {
      if (!testing::append(*log, "demo", "{}", std::string(300'000, static_cast<char>('a' + i))))
        throw std::runtime_error("cannot append");
      const auto copy = *staged.make();
      for (const auto& file : copy.files) {
        if (repository.has(file))
          continue;
        auto out = unfinished_file::create(repository.object(file.hash));
        if (!out || !out->write(testing::slurp(*staged.file(copy.id, file.hash)))
            || !out->keep(file))
          throw std::runtime_error("cannot store " + file.name);
      }
      if (!repository.add(copy))
        throw std::runtime_error("cannot finish the backup");
    }
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory.path() / name; }
  [[nodiscard]] backup_repository repository() const {
    return *backup_repository::open(backups, false);
  }
  [[nodiscard]] std::vector<std::string> names() const { return *repository().list(); }
  /// An object that both backups need.
  [[nodiscard]] backup_file shared_blob() const {
    const auto first = *repository().read(names().front());
    for (const auto& file : first.files)
      if (file.name.starts_with("blobs/"))
        return file;
    throw std::runtime_error("no blob");
  }
};

/// Everything that a change of a file, or of how often it is linked, would change: the time of the last
/// change of its record is moved by both.
std::map<std::string, std::tuple<std::string, ino_t, nlink_t, long, long, long, long>>
records_of(const std::filesystem::path& directory) {
  std::map<std::string, std::tuple<std::string, ino_t, nlink_t, long, long, long, long>> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory}) {
    struct stat at {};
    if (::lstat(entry.path().c_str(), &at) != 0)
      throw std::runtime_error("cannot look at " + entry.path().string());
    found[entry.path()] = {entry.is_regular_file() ? testing::slurp(entry.path()) : "",
                           at.st_ino,
                           at.st_nlink,
                           at.st_mtim.tv_sec,
                           at.st_mtim.tv_nsec,
                           at.st_ctim.tv_sec,
                           at.st_ctim.tv_nsec};
  }
  return found;
}

} // namespace

SCENARIO("verifying backups changes nothing of them, and their directory only by its date") {
  const backed_up_log on;
  const auto objects = records_of(on.path("backups/objects"));
  const auto lists = records_of(on.path("backups/backups"));
  const auto done = run_backup_command({"backup", on.backups, "--verify"});
  INFO(done.out << done.err);
  CHECK(done.code == exit_ok);
  CHECK_THAT(done.out, Catch::Contains("all hash chains hold"));
  CHECK(objects.size() > 4);
  CHECK(records_of(on.path("backups/objects")) == objects);
  CHECK(records_of(on.path("backups/backups")) == lists);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{on.backups})
    names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{"backups", "objects", "verified.json"});
  CHECK(on.repository().last_verified()->newest == on.names().back());
}

SCENARIO(
  "a damaged object is found by verification and by a restore, with the backups that need it") {
  const backed_up_log on;
  const auto blob = on.shared_blob();
  auto text = testing::slurp(on.repository().object(blob.hash));
  text[100] ^= 1;
  testing::overwrite(on.repository().object(blob.hash), text);
  const auto checked = run_backup_command({"backup", on.backups, "--verify"});
  CHECK(checked.code == exit_failed);
  CHECK_THAT(checked.out, Catch::Contains("DAMAGED") && Catch::Contains(to_hex(blob.hash)));
  CHECK_FALSE(on.repository().last_verified());
  const auto restored =
    run_backup_command({"restore", on.backups, "--data-dir", on.path("restored")});
  CHECK(restored.code == exit_failed);
  CHECK_THAT(restored.err, Catch::Contains(to_hex(blob.hash)));
  for (const auto& name : on.names())
    CHECK_THAT(restored.err, Catch::Contains(name));
}

SCENARIO("an object that has become endless is found out without being read to its end") {
  const backed_up_log on;
  const auto blob = on.shared_blob();
  constexpr std::uintmax_t terabyte = 1ULL << 40; // of holes
  std::filesystem::resize_file(on.repository().object(blob.hash), terabyte);
  const auto checked = run_backup_command({"backup", on.backups, "--verify"});
  CHECK(checked.code == exit_failed);
  CHECK_THAT(checked.out, Catch::Contains("DAMAGED") && Catch::Contains(to_hex(blob.hash)));
  const auto restored =
    run_backup_command({"restore", on.backups, "--data-dir", on.path("restored")});
  CHECK(restored.code == exit_failed);
  CHECK_THAT(restored.err, Catch::Contains(to_hex(blob.hash)));
}

SCENARIO("a list of files that was altered restores nothing and writes nowhere") {
  const backed_up_log on;
  const auto list = on.path("backups/backups/" + on.names().back() + ".json");
  const auto good = testing::slurp(list);
  const auto first_name = good.find("\"name\":\"") + 8;
  const auto end_of_name = good.find('"', first_name);
  for (const auto* name : {"../../outside", "/tmp/tidemark-outside", "objects/../../outside",
                           ".hidden", "tidemark.format", "a\\u0000b", "CURRENT\\n"}) {
    INFO(name);
    auto bad = good;
    bad.replace(first_name, end_of_name - first_name, name);
    testing::overwrite(list, bad);
    const auto done =
      run_backup_command({"restore", on.backups, "--data-dir", on.path("restored")});
    CHECK(done.code == exit_failed);
    CHECK_THAT(done.err, Catch::Contains("no backup's manifest"));
    CHECK_FALSE(std::filesystem::exists(on.path("restored")));
    CHECK_FALSE(std::filesystem::exists(on.path("outside")));
    CHECK(run_backup_command({"backup", on.backups, "--verify"}).code == exit_failed);
    CHECK(run_backup_command({"backup", on.backups, "--prune", "--keep-last", "1"}).code
          == exit_failed);
  }
  GIVEN("another object in the place of one") {
    auto bad = good;
    const auto hash = bad.find("\"sha256\":\"") + 10;
    bad.replace(hash, 64, to_hex(on.shared_blob().hash));
    testing::overwrite(list, bad);
    const auto done =
      run_backup_command({"restore", on.backups, "--data-dir", on.path("restored")});
    CHECK(done.code == exit_failed);
  }
}

SCENARIO("a restore says where it restores, and wants to be told, and wants an empty place") {
  const backed_up_log on;
  const auto untold = run_backup_command({"restore", on.backups});
  CHECK(untold.code == exit_usage);
  CHECK_THAT(untold.err, Catch::Contains("--data-dir"));
  std::filesystem::create_directories(on.path("used"));
  testing::overwrite(on.path("used/mine"), "x");
  const auto refused = run_backup_command({"restore", on.backups, "--data-dir", on.path("used")});
  CHECK(refused.code == exit_failed);
  CHECK_THAT(refused.err, Catch::Contains("is not empty"));
  CHECK(testing::slurp(on.path("used/mine")) == "x");
  std::filesystem::create_directories(on.path("empty"));
  const auto done = run_backup_command({"restore", on.backups, "--data-dir", on.path("empty")});
  INFO(done.err);
  CHECK(done.code == exit_ok);
  CHECK_THAT(done.err, Catch::Contains("into " + on.path("empty")) && Catch::Contains("--passive"));
  const auto proven =
    run_backup_command({"verify", "demo", "--offline", "--data-dir", on.path("empty")});
  CHECK(proven.code == exit_ok);
}

SCENARIO("pruning keeps what it was told to, and is refused beside a backup or a restore") {
  const backed_up_log on;
  CHECK(run_backup_command({"backup", on.backups, "--keep-last", "1"}).code == exit_usage);
  CHECK(run_backup_command({"backup", on.backups, "--prune", "--keep-last", "0"}).code
        == exit_usage);
  CHECK(run_backup_command({"backup", on.backups, "--prune", "--keep-within", "x"}).code
        == exit_usage);
  CHECK(run_backup_command({"backup", on.backups, "--prune", "--verify"}).code == exit_usage);
  CHECK(run_backup_command({"backup", on.path("nowhere"), "--prune"}).code == exit_failed);
  for (const auto how : {backup_lock::use::add, backup_lock::use::remove}) {
    const auto lock = backup_lock::take(on.backups, how);
    REQUIRE(lock);
    const auto busy = run_backup_command({"backup", on.backups, "--prune"});
    CHECK(busy.code == exit_failed);
    CHECK_THAT(busy.err, Catch::Contains("in use"));
    // No server is asked while another backup is made.
    const auto second =
      run_backup_command({"backup", on.backups, "--server", "http://127.0.0.1:1"});
    CHECK(second.code == exit_failed);
    CHECK_THAT(second.err, Catch::Contains("in use by process"));
  }
  const auto all = run_backup_command({"backup", on.backups, "--prune", "--keep-within", "30d"});
  CHECK_THAT(all.out, Catch::Contains("0 backups removed, 2 left"));
  const auto done = run_backup_command({"backup", on.backups, "--prune", "--keep", "1"});
  INFO(done.out << done.err);
  CHECK(done.code == exit_ok);
  CHECK_THAT(done.out, Catch::Contains("1 backups removed, 1 left"));
  CHECK(run_backup_command({"backup", on.backups, "--verify"}).code == exit_ok);
}

SCENARIO("what names neither a directory of backups nor an archive of one is refused at once") {
  const backed_up_log on;
  std::filesystem::create_directories(on.path("server"));
  testing::overwrite(on.path("server/tidemark.format"), "x");
  for (const auto& target : {std::string{}, on.path("log.tar"), on.path("log.tar.gz"),
                             on.path("log.zst"), on.path("log.tgz"), on.path("server")}) {
    INFO(target);
    const auto made = run_backup_command({"backup", target, "--server", "http://127.0.0.1:1"});
    CHECK(made.code == exit_usage);
    const auto restored = run_backup_command({"restore", target, "--data-dir", on.path("into")});
    CHECK(restored.code == exit_usage);
    CHECK_FALSE(std::filesystem::exists(on.path("into")));
  }
  CHECK_FALSE(std::filesystem::exists(on.path("log.tar.gz")));
  CHECK_FALSE(std::filesystem::exists(on.path("server/objects")));
  const auto pruned = run_backup_command({"backup", on.path("log.tar.zst"), "--prune"});
  CHECK(pruned.code == exit_usage);
  CHECK_THAT(pruned.err, Catch::Contains("only a directory of them is pruned"));
  GIVEN("a directory of backups with the name of an archive") {
    std::filesystem::rename(on.backups, on.path("backups.tar.zst"));
    CHECK(run_backup_command({"backup", on.path("backups.tar.zst"), "--verify"}).code == exit_ok);
  }
}

SCENARIO("verify says what is wrong with the directory that it was given") {
  const testing::temporary_directory directory;
  const auto nowhere = directory.path() / "nowhere";
  const auto missing =
    run_backup_command({"verify", "demo", "--offline", "--data-dir", nowhere.string()});
  CHECK(missing.code == exit_usage);
  CHECK_THAT(missing.err, Catch::Contains("there is no directory " + nowhere.string()));
  const auto empty =
    run_backup_command({"verify", "demo", "--offline", "--data-dir", directory.path().string()});
  CHECK(empty.code == exit_usage);
  CHECK_THAT(empty.err, Catch::Contains("holds no log"));
}

SCENARIO("a checkpoint replaces no file that nobody said it may") {
  const testing::temporary_directory directory;
  const std::string file = directory.path() / "checkpoint.json";
  testing::overwrite(file, "mine");
  const auto refused =
    run_backup_command({"checkpoint", "-o", file, "--server", "http://127.0.0.1:1"});
  CHECK(refused.code == exit_failed);
  CHECK_THAT(refused.err, Catch::Contains("--overwrite"));
  CHECK(
    run_backup_command({"checkpoint", "-o", file, "--overwrite", "--server", "http://127.0.0.1:1"})
      .code
    == exit_unreachable);
  CHECK(testing::slurp(file) == "mine");
}
