#include "base/small_file.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <sys/stat.h>

using namespace tidemark;
using state = small_file::state;

SCENARIO(
  "only a regular file that fits is read, and nothing that stands in its place is waited for") {
  const test::temp_dir directory;
  const auto path = directory / "file";
  CHECK(read_small_file(path, 4).is == state::missing);
  CHECK(read_small_file(path + "/below", 4).is == state::missing);

  test::write_file(path, "four");
  const auto read = read_small_file(path, 4);
  CHECK(read.is == state::read);
  CHECK(read.text == "four");
  CHECK((read.mode & S_IRUSR) != 0);
  CHECK(read_small_file(path, 3).is == state::unfit);

  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  CHECK(read_small_file(directory / "pipe", 4).is == state::unfit);
  std::filesystem::create_symlink("/dev/zero", directory / "device");
  CHECK(read_small_file(directory / "device", 4).is == state::unfit);
  CHECK(read_small_file(directory.path(), 4).is == state::unfit);
}

SCENARIO("a settings file that cannot be one is refused by its name, with the reason") {
  const test::temp_dir directory;
  const auto path = directory / "settings.json";
  CHECK_FALSE(read_settings_file(path).value());
  test::write_file(path, "{}");
  CHECK(read_settings_file(path).value() == "{}");
  std::filesystem::resize_file(path, 700 << 20);
  const auto large = read_settings_file(path);
  REQUIRE_FALSE(large);
  CHECK(large.error().code == errc::invalid_argument);
  CHECK_THAT(large.error().message, Catch::Contains(path) && Catch::Contains("1 MiB"));
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(read_settings_file(path).error().code == errc::invalid_argument);
}
