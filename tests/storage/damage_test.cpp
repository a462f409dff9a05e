#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"
#include "storage/wal_check.hpp"

#include "tests/storage/support.hpp"

#include <unistd.h>

#include <rocksdb/db.h>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

constexpr std::size_t events_written = 300;

/// A closed log whose events are all in its write-ahead log, to be copied and damaged.
class sample_log {
public:
  sample_log() {
    const auto log = open_log(path());
    for (std::size_t i = 1; i <= events_written; ++i)
      if (!append(*log, i % 2 ? "a" : "b", fmt::format("{} {}", i, std::string(i % 200, '.'))))
        throw std::runtime_error("append failed");
  }
  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "log"; }

private:
  temporary_directory directory_;
};

class damaged_copy {
public:
  explicit damaged_copy(const sample_log& sample) {
    std::filesystem::copy(sample.path(), path(), std::filesystem::copy_options::recursive);
  }
  [[nodiscard]] std::filesystem::path path() const { return directory_.path() / "log"; }
  [[nodiscard]] std::filesystem::path wal() const { return wal_files(path()).back(); }

private:
  temporary_directory directory_;
};

/// Every stream is dense and its chain holds; the number of events.
std::size_t check_whole(const event_log& log) {
  std::size_t sum = 0;
  for (const auto& stream : log.streams()) {
    const auto report = log.verify(stream.id);
    REQUIRE(report.has_value());
    REQUIRE_FALSE(report->first_bad);
    REQUIRE(report->checked == stream.head.value);
    sum += stream.head.value;
  }
  REQUIRE(log.figures().head == position{sum});
  return sum;
}

} // namespace

SCENARIO("a log whose last write was cut short opens with everything before it") {
  const sample_log sample;
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  for (const std::size_t cut :
       {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{100}, std::size_t{4096},
        std::size_t{1 + random() % 4096}, std::size_t{1 + random() % 4096}}) {
    CAPTURE(cut);
    const damaged_copy copy{sample};
    const auto size = std::filesystem::file_size(copy.wal());
    std::filesystem::resize_file(copy.wal(), size - cut);
    const auto log = open_log(copy.path());
    const auto left = check_whole(*log);
    CHECK(left < events_written);
    CHECK(left > events_written - 60);
    CHECK(append(*log, "a", "goes on").has_value());
  }
}

SCENARIO("a damaged byte inside the write-ahead log is refused and costs nothing unnoticed") {
  const sample_log sample;
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  const auto size = std::filesystem::file_size(damaged_copy{sample}.wal());
  std::vector<std::size_t> places;
  for (int i = 0; i < 10; ++i)
    places.push_back(random() % size);
  for (int i = 0; i < 20; ++i)
    places.push_back(size - 1 - random() % 1000);
  for (const auto place : places) {
    const damaged_copy copy{sample};
    auto content = slurp(copy.wal());
    const auto bit = random() % 8;
    content[place] = static_cast<char>(content[place] ^ (1 << bit));
    overwrite(copy.wal(), content);
    CAPTURE(place, bit, size);
    const auto why = refusal_to_open(options_for(copy.path()));
    REQUIRE(why.code == errc::corrupt);
    REQUIRE(why.message.find(accept_wal_loss_flag) != std::string::npos);
  }
}

SCENARIO("a damaged record is found wherever it lies in a write-ahead log of many pieces") {
  const sample_log sample;
  const damaged_copy copy{sample};
  const auto one = slurp(copy.wal());
  // Whole blocks of records that are sound by themselves, as often as it takes.
  constexpr std::size_t block = 32 << 10;
  REQUIRE(one.size() > block);
  std::string wal;
  while (wal.size() < 40 * block)
    wal += one.substr(0, block);
  wal += one;
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  overwrite(copy.wal(), wal);
  CHECK_FALSE(find_hidden_wal_damage(copy.path()));
  CHECK_FALSE(has_wal_damage(copy.path()));
  for (int i = 0; i < 20; ++i) {
    const auto place = random() % 40 * block;
    auto damaged = wal;
    damaged[place + 5] = static_cast<char>(damaged[place + 5] ^ 0x80); // the record's length
    overwrite(copy.wal(), damaged);
    CAPTURE(place);
    REQUIRE(find_hidden_damage(damaged) == place);
    const auto told = find_hidden_wal_damage(copy.path());
    REQUIRE(told);
    REQUIRE(told->find(fmt::format("at byte {},", place)) != std::string::npos);
    REQUIRE(has_wal_damage(copy.path()));
  }
}

SCENARIO("no damaged length or type of a record passes as the end of the write-ahead log") {
  const sample_log sample;
  const damaged_copy copy{sample};
  const auto wal = slurp(copy.wal());
  CHECK_FALSE(find_hidden_damage(wal));
  for (const std::size_t cut : {1U, 5U, 50U, 500U, 5000U})
    CHECK_FALSE(find_hidden_damage(std::string_view{wal}.substr(0, wal.size() - cut)));
  CHECK_FALSE(find_hidden_damage(wal + std::string(5000, '\0')));

  // The last 20 records' headers: found by walking the last block as RocksDB does.
  auto at = wal.size() / (32 << 10) * (32 << 10);
  int checked = 0;
  while (at + 7 <= wal.size()) {
    const auto length =
      static_cast<std::uint8_t>(wal[at + 4]) | static_cast<std::uint8_t>(wal[at + 5]) << 8;
    auto damaged = wal;
    damaged[at + 5] = static_cast<char>(damaged[at + 5] ^ 0x80);
    REQUIRE(find_hidden_damage(damaged) == at);
    damaged = wal;
    damaged[at + 6] = static_cast<char>(damaged[at + 6] ^ 0x04);
    REQUIRE(find_hidden_damage(damaged) == at);
    at += 7 + static_cast<std::size_t>(length);
    ++checked;
  }
  CHECK(checked > 3);
}

SCENARIO(
  "an operator may open a damaged log with what precedes the damage, and the rest is kept aside") {
  const sample_log sample;
  const damaged_copy copy{sample};
  auto content = slurp(copy.wal());
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  overwrite(copy.wal(), content);
  auto options = options_for(copy.path());
  options.accept_wal_loss = true;
  const auto log = open_log(options);
  const auto left = check_whole(*log);
  CHECK(left > 0);
  CHECK(left < events_written);
  CHECK(append(*log, "a", "goes on").has_value());
  bool kept = false;
  for (const auto& entry : std::filesystem::directory_iterator{copy.path()})
    kept = kept || entry.path().filename().string().starts_with("damaged-wal-");
  CHECK(kept);
}

SCENARIO("whoever gave up a damaged write-ahead log is not asked about it again") {
  const bool whole_before = GENERATE(false, true); // whether RocksDB finds anything in it
  const sample_log sample;
  const damaged_copy copy{sample};
  auto content = slurp(copy.wal());
  auto& damaged = content[whole_before ? content.size() / 2 : 10];
  damaged = static_cast<char>(damaged ^ 1);
  overwrite(copy.wal(), content);
  auto options = options_for(copy.path());
  CHECK(refusal_to_open(options).code == errc::corrupt);
  options.accept_wal_loss = true;
  const auto head = open_log(options)->head();
  options.accept_wal_loss = false;
  const auto log = open_log(options);
  CHECK(log->head() == head);
  CHECK(append(*log, "a", "goes on").has_value());
}

SCENARIO("a log that lost a file is refused and never opens as if it were empty") {
  const sample_log sample;
  {
    const damaged_copy copy{sample};
    std::filesystem::remove(copy.path() / "CURRENT");
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto why = refusal_to_open(options_for(copy.path()));
      CHECK(why.code == errc::corrupt);
      CHECK(why.message.find("CURRENT") != std::string::npos);
    }
    CHECK_FALSE(std::filesystem::exists(copy.path() / "CURRENT"));
  }
  {
    const damaged_copy copy{sample};
    std::filesystem::remove(copy.wal());
    CHECK(refusal_to_open(options_for(copy.path())).code == errc::corrupt);
  }
  {
    const damaged_copy copy{sample};
    std::filesystem::remove(copy.path() / "tidemark.format");
    CHECK(refusal_to_open(options_for(copy.path())).code == errc::corrupt);
  }
  for (const std::string kind : {"MANIFEST-", ".sst"}) {
    CAPTURE(kind);
    const damaged_copy copy{sample};
    open_log(copy.path()).reset(); // recovery writes what was in the write-ahead log to tables
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator{copy.path()})
      if (entry.path().filename().string().find(kind) != std::string::npos)
        found.push_back(entry.path());
    REQUIRE_FALSE(found.empty());
    std::filesystem::remove(found[0]);
    CHECK(refusal_to_open(options_for(copy.path())).code == errc::corrupt);
  }
}

SCENARIO("a directory with foreign content is left alone") {
  const temporary_directory directory;
  overwrite(directory.path() / "thesis.txt", "years of work");
  const auto why = refusal_to_open(options_for(directory.path()));
  CHECK(why.code == errc::corrupt);
  CHECK(why.message.find("thesis.txt") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(directory.path() / "CURRENT"));
}

SCENARIO("what a server keeps beside its log is no foreign content") {
  const temporary_directory directory;
  std::filesystem::create_directory(directory.path() / "workspaces");
  overwrite(directory.path() / "settings.json", "{}");
  CHECK(open_log(directory.path())->streams().empty());
}

SCENARIO("a log's directory that others could look into is closed to them, a foreign one is not") {
  using std::filesystem::perms;
  const auto others = perms::group_all | perms::others_all;
  const temporary_directory directory;
  const bool foreign = GENERATE(false, true);
  if (foreign)
    overwrite(directory.path() / "thesis.txt", "years of work");
  std::filesystem::permissions(directory.path(),
                               perms::owner_all | perms::group_exec | perms::others_read);
  if (foreign)
    refusal_to_open(options_for(directory.path()));
  else
    open_log(directory.path());
  const auto now = std::filesystem::status(directory.path()).permissions();
  CHECK(((now & others) != perms::none) == foreign);
}

SCENARIO("a log of a newer format is refused with the remedy") {
  const temporary_directory directory;
  open_log(directory.path()).reset();
  overwrite(directory.path() / "tidemark.format", "tidemark log 2 complete\n");
  const auto why = refusal_to_open(options_for(directory.path()));
  CHECK(why.code == errc::newer_format);
  CHECK(why.message.find("newer Tidemark") != std::string::npos);
}

SCENARIO("a creation that a crash cut short is begun again") {
  const temporary_directory directory;
  overwrite(directory.path() / "tidemark.format", "tidemark log 1 creating\n");
  CHECK(append(*open_log(directory.path()), "a", "1").has_value());
  CHECK(open_log(directory.path())->find("a")->head == offset{1});
}

SCENARIO("a creation that was cut short between two families is completed") {
  const temporary_directory directory;
  overwrite(directory.path() / "tidemark.format", "tidemark log 1 creating\n");
  {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    REQUIRE(rocksdb::DB::Open(options, directory.path(), &opened).ok());
    const std::unique_ptr<rocksdb::DB> database{opened};
    for (const auto* name : {"streams", "events"}) {
      rocksdb::ColumnFamilyHandle* family = nullptr;
      REQUIRE(database->CreateColumnFamily({}, name, &family).ok());
      database->DestroyColumnFamilyHandle(family);
    }
  }
  CHECK(append(*open_log(directory.path()), "a", "1").has_value());
  CHECK(open_log(directory.path())->find("a")->head == offset{1});
}

SCENARIO("a second opener is told who holds the log, and gets it once that is gone") {
  const temporary_directory directory;
  {
    const auto log = open_log(directory.path());
    const auto why = refusal_to_open(options_for(directory.path()));
    CHECK(why.code == errc::locked);
    CHECK(why.message.find(fmt::format("process {}", ::getpid())) != std::string::npos);
    CHECK(append(*log, "a", "1").has_value());
  }
  CHECK(open_log(directory.path())->find("a")->head == offset{1});
}

SCENARIO("verify finds the first event that was altered or removed") {
  const sample_log sample;
  const auto a = open_log(damaged_copy{sample}.path())->find("a")->id;
  const offset victim{70};
  const auto report_after =
    [&](const std::function<void(rocksdb::DB&, rocksdb::ColumnFamilyHandle*)>& change) {
      const damaged_copy copy{sample};
      tamper(copy.path(), "events", change);
      return *open_log(copy.path())->verify(a);
    };
  const auto key = keys::event_key(a, victim);

  const auto flipped = report_after([&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* events) {
    std::string record;
    REQUIRE(db.Get({}, events, key, &record).ok());
    record[record.size() - 2] = static_cast<char>(record[record.size() - 2] ^ 1);
    REQUIRE(db.Put({}, events, key, record).ok());
  });
  CHECK(flipped.first_bad == victim);
  CHECK(flipped.checked == victim.value - 1);

  const auto forged = report_after([&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* events) {
    std::string record;
    REQUIRE(db.Get({}, events, key, &record).ok());
    auto e = *records::decode_event(record);
    e.data = "never happened";
    REQUIRE(db.Put({}, events, key, records::encode(e)).ok());
  });
  CHECK(forged.first_bad == victim);

  const auto removed = report_after([&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* events) {
    REQUIRE(db.Delete({}, events, key).ok());
  });
  CHECK(removed.first_bad == victim);
  CHECK(removed.problem.find("missing") != std::string::npos);

  const auto cut = report_after([&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* events) {
    REQUIRE(db.Delete({}, events, keys::event_key(a, offset{150})).ok());
  });
  CHECK(cut.first_bad == offset{150}); // the head of its stream, but not of the log
}
