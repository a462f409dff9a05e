#include "storage/unfinished_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

tl::unexpected<error> cannot(std::string_view doing, const std::filesystem::path& path, int code) {
  const auto is_full = code == ENOSPC || code == EDQUOT;
  return fail(is_full ? errc::full : errc::io, fmt::format("cannot {} {}: {}", doing, path.string(),
                                                           std::generic_category().message(code)));
}

} // namespace

unfinished_file::unfinished_file(std::filesystem::path file, int descriptor)
  : file_(std::move(file)),
    descriptor_(descriptor),
    hasher_(std::make_unique<running_sha256>()) {}

expected<unfinished_file> unfinished_file::create(const std::filesystem::path& file) {
  auto part = file;
  part += ".part";
  ::unlink(part.c_str());
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return cannot("create", part, errno);
  return unfinished_file{file, descriptor};
}

unfinished_file::unfinished_file(unfinished_file&& other) noexcept
  : file_(std::move(other.file_)),
    descriptor_(std::exchange(other.descriptor_, -1)),
    bytes_(other.bytes_),
    hasher_(std::move(other.hasher_)) {}

unfinished_file::~unfinished_file() {
  if (descriptor_ < 0)
    return;
  ::close(descriptor_);
  auto part = file_;
  part += ".part";
  ::unlink(part.c_str());
}

expected<void> unfinished_file::write(std::string_view piece) {
  hasher_->add(piece);
  bytes_ += piece.size();
  while (!piece.empty()) {
    const auto written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return cannot("write", file_, errno);
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

expected<void> unfinished_file::keep(const backup_file& as) {
  if (bytes_ != as.bytes || hasher_->end() != as.hash)
    return fail(errc::corrupt, fmt::format("what was read for {} is not what it must be", as.name));
  if (::fsync(descriptor_) != 0)
    return cannot("sync", file_, errno);
  auto part = file_;
  part += ".part";
  if (::rename(part.c_str(), file_.c_str()) != 0)
    return cannot("rename", part, errno);
  ::close(std::exchange(descriptor_, -1));
  return {};
}

} // namespace tidemark
