#include "storage/wal_check.hpp"

#include "tests/storage/support.hpp"

using namespace tidemark;
using namespace tidemark::testing;

namespace {

bool advises_wal_loss(const error& why) {
  return why.message.find(accept_wal_loss_flag) != std::string::npos;
}

void check_stopped_for_good(event_log& log) {
  const auto answer = append(log, "a", "must not be acknowledged");
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().why.code == errc::io);
  CHECK_FALSE(answer.error().why.retryable);
  CHECK_FALSE(log.try_recover());
  CHECK_FALSE(log.health().accepting);
  CHECK(log.health().reason.find("moved or removed") != std::string::npos);
  CHECK(log.health().reason.find("Restore it and restart") != std::string::npos);
}

std::filesystem::path file_like(const std::filesystem::path& directory, std::string_view part) {
  for (const auto& entry : std::filesystem::directory_iterator{directory})
    if (entry.path().filename().string().find(part) != std::string::npos)
      return entry.path();
  throw std::runtime_error(fmt::format("no file like {}", part));
}

void empty_wals(const std::filesystem::path& directory) {
  for (const auto& wal : wal_files(directory))
    std::filesystem::resize_file(wal, 0);
}

} // namespace

SCENARIO("a log whose directory is moved away acknowledges nothing more, even once it is back") {
  const temporary_directory directory;
  const auto path = directory.path() / "log", elsewhere = directory.path() / "elsewhere";
  {
    const auto log = open_log(path);
    REQUIRE(append(*log, "a", "1").has_value());
    std::filesystem::rename(path, elsewhere);
    check_stopped_for_good(*log);
    std::filesystem::create_directory(path);
    check_stopped_for_good(*log);
    CHECK(std::filesystem::is_empty(path));
    std::filesystem::remove(path);
    std::filesystem::rename(elsewhere, path);
    check_stopped_for_good(*log);
  }
  const auto log = open_log(path);
  CHECK(data_of(*log, log->find("a")->id) == std::vector<std::string>{"1"});
  CHECK(append(*log, "a", "2").has_value());
}

SCENARIO("a log whose directory is removed says so before anybody appends") {
  const temporary_directory directory;
  const auto path = directory.path() / "log";
  const auto log = open_log(path);
  REQUIRE(append(*log, "a", "1").has_value());
  CHECK(log->health().accepting);
  std::filesystem::remove_all(path);
  std::filesystem::create_directory(path);
  CHECK_FALSE(log->health().accepting);
  check_stopped_for_good(*log);
}

SCENARIO("a log whose write-ahead log was emptied is refused and reuses no offset") {
  const temporary_directory directory;
  REQUIRE(append(*open_log(directory.path()), "a", "1").has_value());
  empty_wals(directory.path());
  auto options = options_for(directory.path());
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto why = refusal_to_open(options);
    CHECK(why.code == errc::corrupt);
    CHECK(advises_wal_loss(why));
  }
  options.accept_wal_loss = true;
  CHECK(open_log(options)->streams().empty());
  options.accept_wal_loss = false; // once was enough
  CHECK(append(*open_log(options), "a", "begins anew")->first == offset{1});
  empty_wals(directory.path());
  CHECK(refusal_to_open(options).code == errc::corrupt);
}

SCENARIO("a log that never had an event opens empty, however often") {
  const temporary_directory directory;
  for (int i = 0; i < 3; ++i)
    CHECK(open_log(directory.path())->streams().empty());
}

SCENARIO("a log of a build that did not mark events opens, and is marked by its next event") {
  const temporary_directory directory;
  REQUIRE(append(*open_log(directory.path()), "a", "1").has_value());
  overwrite(directory.path() / "tidemark.format", "tidemark log 1 complete\n");
  CHECK(append(*open_log(directory.path()), "a", "2")->first == offset{2});
  CHECK(slurp(directory.path() / "tidemark.format") == "tidemark log 1 committed\n");
}

SCENARIO("giving up the write-ahead log is advised only if it is what is damaged") {
  for (const std::string part : {"CURRENT", "MANIFEST-", ".sst"}) {
    CAPTURE(part);
    const temporary_directory directory;
    REQUIRE(append(*open_log(directory.path()), "a", "1").has_value());
    open_log(directory.path()).reset(); // recovery writes what was in the write-ahead log to tables
    overwrite(file_like(directory.path(), part), "rubbish\n");
    const auto why = refusal_to_open(options_for(directory.path()));
    CHECK(why.code == errc::corrupt);
    CHECK(why.message.find("backup") != std::string::npos);
    CHECK_FALSE(advises_wal_loss(why));
  }
  const temporary_directory directory;
  REQUIRE(append(*open_log(directory.path()), "a", std::string(1000, 'x')).has_value());
  const auto wal = file_like(directory.path(), ".log");
  CHECK_FALSE(has_wal_damage(directory.path()));
  auto content = slurp(wal);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  overwrite(wal, content);
  CHECK(has_wal_damage(directory.path()));
  CHECK(advises_wal_loss(refusal_to_open(options_for(directory.path()))));
}
