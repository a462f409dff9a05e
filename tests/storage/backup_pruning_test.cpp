// What becomes of old backups, who may use a directory of them at a time, and what a damaged one says.
#include "storage/backup_lock.hpp"
#include "storage/backup_pruning.hpp"
#include "storage/staged_backups.hpp"
#include "support.hpp"

#include <sys/stat.h>

#include <fstream>
#include <map>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

/// A log, and backups of it, each with an event and a long line more than the one before.
struct kept_backups {
  temporary_directory directory;
  std::unique_ptr<event_log> log = open_log(directory.path() / "log");
  std::unique_ptr<staged_backups> staged =
    std::make_unique<staged_backups>(*log, directory.path() / "log");
  backup_repository backups = *backup_repository::open(directory.path() / "backups", true);

  [[nodiscard]] std::vector<std::string> names() const { return *backups.list(); }

  backup_manifest add() {
    const std::string long_line(300'000, static_cast<char>('a' + log->head().value % 26));
    if (!append(*log, "a", "{}", long_line))
      throw std::runtime_error("cannot append");
    const auto copy = *staged->make();
    for (const auto& file : copy.files) {
      if (backups.has(file))
        continue;
      auto out = unfinished_file::create(backups.object(file.hash));
      if (!out || !out->write(slurp(*staged->file(copy.id, file.hash))) || !out->keep(file))
        throw std::runtime_error("cannot store " + file.name);
    }
    if (!backups.add(copy) || !staged->release(copy.id))
      throw std::runtime_error("cannot finish the backup");
    return copy;
  }
};

std::vector<std::string> kept_of(const std::vector<int>& days, const keep_rules& keep) {
  constexpr std::int64_t nanoseconds_a_day = 86'400'000'000'000;
  std::vector<dated_backup> all;
  std::vector<std::string> left;
  for (const int day : days) {
    all.push_back({std::to_string(day), timestamp{day * nanoseconds_a_day}});
    left.push_back(std::to_string(day));
  }
  for (const auto& gone : not_kept(all, keep))
    std::erase(left, gone);
  return left;
}

using names = std::vector<std::string>;

} // namespace

SCENARIO("a backup stays if any rule keeps it, and the newest stays always", "[backup]") {
  const std::vector<int> days{1, 2, 10, 20, 29, 30};
  CHECK(kept_of(days, {}) == names{"1", "2", "10", "20", "29", "30"});
  CHECK(kept_of(days, {2, {}}) == names{"29", "30"});
  CHECK(kept_of(days, {{}, 240h}) == names{"20", "29", "30"});
  CHECK(kept_of(days, {4, 24h}) == names{"10", "20", "29", "30"});
  CHECK(kept_of(days, {1, 480h}) == names{"10", "20", "29", "30"});
  CHECK(kept_of(days, {0, {}}) == names{"30"});
  CHECK(kept_of(days, {{}, 0ms}) == names{"30"});
  CHECK(kept_of(days, {100, {}}).size() == days.size());
  CHECK(kept_of({}, {1, 1h}).empty());
}

SCENARIO("pruning removes what no backup that stays needs, and nothing else", "[backup]") {
  kept_backups on;
  on.add();
  on.add();
  const auto newest = on.add();
  const auto objects = on.directory.path() / "backups" / "objects";
  const std::string nobodys(64, 'a');
  overwrite(objects / nobodys, "of a run that was interrupted");
  overwrite(objects / (nobodys + ".part"), "half");
  overwrite(objects / "readme", "mine");

  const auto first = prune(on.backups, {});
  REQUIRE(first);
  CHECK(first->backups.empty());
  CHECK(first->objects == 2);
  CHECK(on.backups.list()->size() == 3);
  for (const auto& name : on.names())
    CHECK(on.backups.damage(*on.backups.read(name)).empty());

  const auto second = prune(on.backups, {1, {}});
  REQUIRE(second);
  CHECK(second->backups.size() == 2);
  CHECK(second->objects > 0);
  CHECK(second->bytes > 0);
  CHECK(on.backups.list()->size() == 1);
  CHECK(on.backups.damage(newest).empty());
  CHECK(slurp(objects / "readme") == "mine");
  REQUIRE(on.backups.restore(newest, on.directory.path() / "restored"));
  CHECK(prune(on.backups, {1, {}})->objects == 0);
}

SCENARIO("nothing is pruned while a list cannot be read, because nobody knows what it needs",
         "[backup]") {
  kept_backups on;
  on.add();
  on.add();
  const auto list = on.directory.path() / "backups" / "backups" / (on.names().front() + ".json");
  overwrite(list, "{");
  const std::string nobodys(64, 'a');
  overwrite(on.directory.path() / "backups" / "objects" / nobodys, "x");
  CHECK_FALSE(prune(on.backups, {1, {}}));
  CHECK(on.backups.list()->size() == 2);
  CHECK(std::filesystem::exists(on.directory.path() / "backups" / "objects" / nobodys));
}

SCENARIO("one backup at a time goes into a directory, readers share it, and pruning is alone",
         "[backup]") {
  const temporary_directory directory;
  using use = backup_lock::use;
  const auto refused = [&](use how) {
    const auto lock = backup_lock::take(directory.path(), how);
    return !lock && lock.error().code == errc::conflict;
  };
  CHECK_FALSE(refused(use::read)); // creates nothing
  CHECK(std::filesystem::is_empty(directory.path()));
  {
    const auto adding = backup_lock::take(directory.path(), use::add);
    REQUIRE(adding);
    CHECK(refused(use::add));
    CHECK(refused(use::remove));
    CHECK_FALSE(refused(use::read));
    const auto second = backup_lock::take(directory.path(), use::add);
    CHECK_THAT(second.error().message, Catch::Contains("process " + std::to_string(::getpid())));
  }
  {
    const auto reading = backup_lock::take(directory.path(), use::read);
    REQUIRE(reading);
    CHECK_FALSE(refused(use::read));
    CHECK_FALSE(refused(use::add));
    CHECK(refused(use::remove));
  }
  const auto removing = backup_lock::take(directory.path(), use::remove);
  REQUIRE(removing);
  CHECK(refused(use::read));
  CHECK(refused(use::add));
  CHECK(refused(use::remove));
}

SCENARIO("a restore from a damaged backup names the object and every backup that needs it",
         "[backup]") {
  kept_backups on;
  const auto first = on.add();
  on.add();
  const auto blob = std::ranges::find_if(
    first.files, [](const auto& file) { return file.name.starts_with("blobs/"); });
  REQUIRE(blob != first.files.end());
  const auto object = on.backups.object(blob->hash);
  GIVEN("another content of the same size") {
    auto text = slurp(object);
    text[7] ^= 1;
    overwrite(object, text);
    CHECK(on.backups.has(*blob)); // a size tells no more
  }
  GIVEN("another size") {
    overwrite(object, "short");
    CHECK_FALSE(on.backups.has(*blob));
  }
  GIVEN("none") {
    std::filesystem::remove(object);
    CHECK_FALSE(on.backups.has(*blob));
  }
  const auto done =
    on.backups.restore(*on.backups.newest(std::nullopt), on.directory.path() / "half");
  REQUIRE_FALSE(done);
  CHECK(done.error().code == errc::corrupt);
  CHECK_THAT(done.error().message,
             Catch::Contains(to_hex(blob->hash)) && Catch::Contains(blob->name));
  for (const auto& name : on.names())
    CHECK_THAT(done.error().message, Catch::Contains(name));
}

SCENARIO("when all backups were last found whole is kept beside them", "[backup]") {
  const temporary_directory directory;
  const auto backups = *backup_repository::open(directory.path(), true);
  CHECK_FALSE(backups.last_verified());
  const timestamp moment{1'764'435'909'042'000'000};
  REQUIRE(backups.note_verified(moment, "20251129T170509.042Z"));
  CHECK(backups.last_verified()->time == moment);
  CHECK(backups.last_verified()->newest == "20251129T170509.042Z");
  overwrite(directory.path() / "verified.json", "{\"time\":3}");
  CHECK_FALSE(backups.last_verified());
}
