#include "actors/workspace_directory.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

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
  const auto base = fs::canonical(root, failed);
  if (failed)
    return fail(code_of(failed),
                "the workspace root \"" + root + "\" cannot be used: " + failed.message());
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

} // namespace tidemark
