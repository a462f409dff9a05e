#include "storage/files.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <sys/stat.h>

using namespace tidemark;

SCENARIO(
  "a pipe, or more than fits, in the place of a stored file is neither waited for nor read") {
  const test::temp_dir directory;
  const auto path = directory / "file";
  CHECK_FALSE(files::read_whole(path, 4).value());
  test::write_file(path, "four");
  CHECK(files::read_whole(path, 4).value() == "four");
  CHECK(files::read_whole(path, 3).error().code == errc::corrupt);
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(files::read_whole(path, 4).error().code == errc::corrupt);
}

SCENARIO("writing a file durably neither waits for a pipe nor follows a link beside it") {
  const test::temp_dir directory;
  const auto path = directory / "file";
  REQUIRE(::mkfifo((path + ".tmp").c_str(), 0600) == 0);
  REQUIRE(files::write_durably(path, "one"));
  CHECK(test::read_file(path) == "one");

  test::write_file(directory / "other", "other");
  std::filesystem::create_symlink("other", path + ".tmp");
  REQUIRE(files::write_durably(path, "two"));
  CHECK(test::read_file(path) == "two");
  CHECK(test::read_file(directory / "other") == "other");
  CHECK_FALSE(std::filesystem::is_symlink(path));
}
