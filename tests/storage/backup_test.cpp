// Backups: copies of a log that is written meanwhile, and what becomes of a log that was restored from one.
#include "storage/backup_repository.hpp"
#include "storage/data_directory.hpp"
#include "storage/memory_log.hpp"
#include "storage/staged_backups.hpp"
#include "support.hpp"

#include <atomic>
#include <fstream>
#include <thread>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

/// What `tidemark backup` does with a server between; the files that the repository had not.
std::size_t back_up(staged_backups& from, backup_repository& into) {
  const auto copy = from.make();
  if (!copy)
    throw std::runtime_error(copy.error().describe());
  std::size_t fetched = 0;
  for (const auto& file : copy->files) {
    if (into.has(file))
      continue;
    auto out = unfinished_file::create(into.object(file.hash));
    if (!out || !out->write(slurp(*from.file(copy->id, file.hash))) || !out->keep(file))
      throw std::runtime_error("cannot store " + file.name);
    ++fetched;
  }
  if (!into.add(*copy) || !from.release(copy->id))
    throw std::runtime_error("cannot finish the backup");
  return fetched;
}

/// A log that is backed up, and where.
struct stage {
  temporary_directory directory;
  std::unique_ptr<event_log> log = open_log(directory.path() / "log");
  std::unique_ptr<staged_backups> staged =
    std::make_unique<staged_backups>(*log, directory.path() / "log");
  backup_repository backups = *backup_repository::open(directory.path() / "backups", true);

  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return directory.path() / name;
  }
};

std::string code_of(const expected<void>& done) {
  return done ? "done" : std::string{to_string(done.error().code)};
}

} // namespace

SCENARIO(
  "a backup holds everything acknowledged before it, and a restored log goes on under new epochs",
  "[backup]") {
  stage on;
  const std::string long_line(300'000, 'x');
  for (int i = 0; i < 3; ++i)
    REQUIRE(append(*on.log, "a", fmt::format("{}", i), i == 1 ? long_line : ""));
  REQUIRE(append(*on.log, "b", "first"));
  auto ended = request_for(*on.log->acquire("over"), {event_of("last")});
  ended.ends_stream = true;
  REQUIRE(append(*on.log, ended));
  back_up(*on.staged, on.backups);
  const auto before = *on.log->find("a");
  REQUIRE(append(*on.log, "a", "lost")); // after the backup

  REQUIRE(on.backups.restore(*on.backups.newest(std::nullopt), on.path("restored")));
  THEN("it can be read before a server has opened it, as it was") {
    auto options = options_for(on.path("restored"));
    options.read_only = true;
    const auto log = open_log(options);
    CHECK(log->find("a")->incarnation == epoch{1});
    CHECK_FALSE(log->verify(log->find("a")->id)->first_bad);
  }
  auto log = open_log(on.path("restored"));
  const auto a = *log->find("a");
  CHECK(data_of(*log, a.id) == std::vector<std::string>{"0", "1", "2"});
  CHECK(a.head == offset{3});
  CHECK(a.head_hash == before.head_hash);
  CHECK(log->head() == position{5});
  CHECK(log->incarnation() > epoch{1});
  CHECK(a.incarnation == log->incarnation());
  CHECK(a.past == std::vector<past_epoch>{{epoch{1}, offset{3}}});
  CHECK(log->find("over")->incarnation == epoch{1});

  WHEN("it is written again") {
    CHECK(append(*log, request_for(before, {event_of("stale")})).error().why.code == errc::fenced);
    REQUIRE(append(*log, "a", "another 4"));
    REQUIRE(append(*log, "new", "1"));
    REQUIRE(append(*log, "over", "again"));
    THEN("every stream is at an epoch that the lost history cannot have had") {
      for (const auto* name : {"a", "b", "new", "over"})
        CHECK(log->find(name)->incarnation >= log->incarnation());
    }
    THEN("the hash chain holds over both epochs, also after a reopen") {
      const auto epoch_now = log->incarnation();
      log.reset();
      log = open_log(on.path("restored"));
      CHECK(log->incarnation() == epoch_now);
      const auto report = log->verify(log->find("a")->id, offset{3});
      CHECK(report->checked == 4);
      CHECK(report->problem.empty());
      CHECK(report->marked == before.head_hash);
      CHECK(log->find("a")->past.size() == 1);
    }
    THEN("the old server's next event has another hash than the new one's") {
      CHECK(on.log->find("a")->head == log->find("a")->head);
      CHECK(on.log->find("a")->head_hash != log->find("a")->head_hash);
    }
  }
}

SCENARIO("a second restore of the same backup is a third history", "[backup]") {
  stage on;
  REQUIRE(append(*on.log, "a", "1"));
  back_up(*on.staged, on.backups);
  REQUIRE(on.backups.restore(*on.backups.newest(std::nullopt), on.path("once")));
  epoch first;
  {
    const auto log = open_log(on.path("once"));
    first = log->incarnation();
    staged_backups staged{*log, on.path("once")};
    auto again = *backup_repository::open(on.path("more"), true);
    back_up(staged, again);
    REQUIRE(again.restore(*again.newest(std::nullopt), on.path("twice")));
  }
  const auto log = open_log(on.path("twice"));
  CHECK(log->incarnation() > first);
  const auto a = *log->find("a");
  CHECK(a.past.size() == 1); // nothing was written under the first one
  CHECK(a.written_under(offset{1}) == epoch{1});
  CHECK_FALSE(log->verify(a.id)->first_bad);
}

SCENARIO("a backup that follows another fetches only what has changed", "[backup]") {
  stage on;
  const std::string long_line(300'000, 'x');
  REQUIRE(append(*on.log, "a", "1", long_line));
  back_up(*on.staged, on.backups);
  const auto all = on.backups.newest(std::nullopt)->files.size();
  REQUIRE(append(*on.log, "a", "2", long_line));
  const auto fetched = back_up(*on.staged, on.backups);
  const auto second = *on.backups.newest(std::nullopt);
  CHECK(fetched < second.files.size());
  const auto first = *on.backups.read(on.backups.list()->front());
  for (const auto& file : first.files)
    CHECK(on.backups.has(file));
  CHECK(on.backups.list()->size() == 2);
  CHECK(all > 4);
  CHECK(on.backups.damage(second).empty());
}

SCENARIO("events that are appended while a copy is made are in it or not, but never in part",
         "[backup]") {
  stage on;
  std::atomic<std::uint64_t> acknowledged = 0;
  std::atomic<bool> stop = false;
  std::thread writer{[&] {
    while (!stop)
      if (append(*on.log, "a", fmt::format("{}", acknowledged.load() + 1), "raw"))
        ++acknowledged;
  }};
  std::vector<std::uint64_t> least;
  for (int i = 0; i < 5; ++i) {
    least.push_back(acknowledged);
    back_up(*on.staged, on.backups);
  }
  stop = true;
  writer.join();
  const auto names = *on.backups.list();
  REQUIRE(names.size() == least.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto into = on.path("restored-" + std::to_string(i));
    REQUIRE(on.backups.restore(*on.backups.read(names[i]), into));
    const auto log = open_log(into);
    if (least[i] == 0)
      continue;
    const auto a = *log->find("a");
    CHECK(a.head.value >= least[i]);
    CHECK(a.head.value <= acknowledged.load());
    CHECK(log->verify(a.id)->checked == a.head.value);
    CHECK_FALSE(log->verify(a.id)->first_bad);
  }
}

SCENARIO("a restore that was cut short, or into the wrong place, is refused with what to do",
         "[backup]") {
  stage on;
  REQUIRE(append(*on.log, "a", "1"));
  back_up(*on.staged, on.backups);
  const auto manifest = *on.backups.newest(std::nullopt);
  GIVEN("a directory that holds something") {
    std::filesystem::create_directories(on.path("used"));
    overwrite(on.path("used") / "mine", "x");
    CHECK(code_of(on.backups.restore(manifest, on.path("used"))) == "conflict");
    CHECK(slurp(on.path("used") / "mine") == "x");
  }
  GIVEN("a damaged object") {
    overwrite(on.backups.object(manifest.files.back().hash), "other");
    CHECK(on.backups.damage(manifest).size() == 1);
    CHECK(code_of(on.backups.restore(manifest, on.path("half"))) == "corrupt");
    const auto why = refusal_to_open(options_for(on.path("half")));
    CHECK(why.code == errc::corrupt);
    CHECK_THAT(why.message, Catch::Contains("begun and not finished"));
    CHECK(code_of(on.backups.restore(manifest, on.path("half"))) == "conflict");
  }
  GIVEN("a missing object") {
    std::filesystem::remove(on.backups.object(manifest.files.front().hash));
    CHECK(on.backups.damage(manifest).size() == 1);
    CHECK_FALSE(on.backups.restore(manifest, on.path("half")));
  }
  GIVEN("a moment before the first backup") {
    CHECK(on.backups.newest(timestamp{0}).error().code == errc::not_found);
    CHECK(on.backups.newest(manifest.time)->id == manifest.id);
  }
}

SCENARIO("copies on the server go when they are released, forgotten, or of an earlier run",
         "[backup]") {
  stage on;
  REQUIRE(append(*on.log, "a", "1"));
  const auto staging = on.path("log") / "backup-staging";
  const auto copies = [&] {
    std::error_code missing;
    const std::filesystem::directory_iterator entries{staging, missing};
    return std::distance(begin(entries), end(entries));
  };
  const auto copy = *on.staged->make();
  CHECK(copies() == 1);
  CHECK_FALSE(on.staged->file(copy.id, digest{}));
  CHECK_FALSE(on.staged->file("../..", copy.files.front().hash));
  REQUIRE(on.staged->release(copy.id));
  CHECK_FALSE(on.staged->release(copy.id));
  CHECK_FALSE(on.staged->file(copy.id, copy.files.front().hash));
  CHECK(copies() == 0);

  std::filesystem::create_directories(staging / "old");
  overwrite(staging / "old" / "000001.sst", "x");
  on.staged = std::make_unique<staged_backups>(
    *on.log, on.path("log"), staged_backups::settings{std::chrono::seconds{0}, 1});
  CHECK(copies() == 0);
  REQUIRE(on.staged->make());
  on.staged->expire();
  CHECK(on.staged->count() == 0);
  CHECK(copies() == 0);

  on.staged = std::make_unique<staged_backups>(*on.log, on.path("log"),
                                               staged_backups::settings{std::chrono::hours{1}, 1});
  REQUIRE(on.staged->make());
  CHECK(on.staged->make().error().code == errc::conflict);
  memory_log none;
  CHECK(none.copy_to(on.path("nowhere")).error().code == errc::unsupported);
}

SCENARIO("a manifest leads nowhere but into its own directory", "[backup]") {
  const backup_manifest good{
    "id", timestamp{1'764'435'909'042'000'000}, epoch{1}, position{3}, {{"CURRENT", 1, {}}}};
  CHECK(*parse_backup_manifest(to_json(good)) == good);
  for (const auto* name : {"../x", "/etc/passwd", "a/../b", "a//b", "", ".x", "a/",
                           "tidemark.format", "a\\b", "a b", "CURRENT", "CURRENT/x", "x.part"}) {
    INFO(name);
    auto bad = good;
    bad.files.push_back({name, 1, {}});
    CHECK_FALSE(parse_backup_manifest(to_json(bad)));
  }
  auto named = good;
  named.files.push_back({std::string(200, 'a'), 1, {}});
  CHECK(parse_backup_manifest(to_json(named)));
  named.files.back().name += 'a'; // more than a file system may take
  CHECK_FALSE(parse_backup_manifest(to_json(named)));
  CHECK_FALSE(parse_backup_manifest(json::object()));
  CHECK_FALSE(parse_backup_manifest(json::array()));
}
