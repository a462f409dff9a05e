#include "actors/workspace_directory.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark {

namespace fs = std::filesystem;

namespace {

errc code_of(const std::error_code& why) {
  const auto number = why.value();
  return number == ENOSPC || number == EDQUOT ? errc::full : errc::io;
}

} // namespace

expected<std::string> make_workspace_directory(const std::string& root,
                                               const std::string& workspace) {
  std::error_code failed;
  fs::create_directories(root, failed);
  std::error_code missing;
  const auto base = fs::canonical(root, missing);
  if (missing) {
    const auto& why = failed ? failed : missing; // why it is missing says more than that it is
    return fail(code_of(why),
                "the workspace root \"" + root + "\" cannot be used: " + why.message());
  }
  const auto path = base / workspace;
  const auto made = fs::create_directory(path, failed);
  const auto there = fs::exists(fs::symlink_status(path));
  if (!made && !there)
    return fail(code_of(failed),
                "cannot make the directory of workspace " + workspace + ": " + failed.message());
  return path.string();
}

expected<void> check_workspace_directory(const std::string& path) {
  std::error_code failed;
  const auto found = fs::symlink_status(path, failed);
  if (fs::is_directory(found))
    return {};
  if (fs::is_symlink(found))
    return fail(errc::forbidden, "the workspace's directory \"" + path
                                   + "\" is a symbolic link, which could lead out of the workspace "
                                     "root: remove it, or mount the other directory there");
  if (fs::exists(found))
    return fail(errc::not_found, "in the place of the workspace's directory \"" + path
                                   + "\" stands something else: remove it");
  return fail(errc::not_found,
              "the workspace's directory \"" + path + "\" does not exist and cannot be made");
}

expected<void> make_private_directory(const std::string& path) {
  const auto failed = [&](const std::error_code& why) {
    return fail(code_of(why), "cannot make the directory \"" + path + "\": " + why.message());
  };
  std::error_code why;
  fs::create_directories(path, why);
  if (why)
    return failed(why);
  // Not through a link that somebody put there: it would close the link's target to others.
  const int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0)
    return failed({errno, std::generic_category()});
  const int refused = ::fchmod(opened, S_IRWXU) == 0 ? 0 : errno;
  ::close(opened);
  return refused == 0 ? expected<void>{} : failed({refused, std::generic_category()});
}

} // namespace tidemark
