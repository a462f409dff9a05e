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
