#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/mount.h>

namespace tidemark::test {

/// A small file system in memory, of its own; only root may mount one. Gone after the test.
class small_disk {
public:
  explicit small_disk(int megabytes = 48, int most_files = 10'000) {
    auto pattern = (std::filesystem::temp_directory_path() / "tidemark-disk-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw std::runtime_error("cannot make a directory to mount on");
    path_ = pattern;
    const auto size =
      "size=" + std::to_string(megabytes) + "m,mode=700,nr_inodes=" + std::to_string(most_files);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    if (mounted_)
      ::umount2(path_.c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
  bool mounted_ = false;
};

} // namespace tidemark::test
