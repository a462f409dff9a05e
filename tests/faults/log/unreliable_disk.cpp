#include "tests/faults/log/unreliable_disk.hpp"

#include "tests/storage/support.hpp"

#include <algorithm>
#include <unistd.h>

namespace tidemark::testing {

namespace fs = std::filesystem;
using rocksdb::IOStatus;

namespace {

std::string name_of(const std::string& path) {
  return fs::path(path).filename().string();
}

} // namespace

/// A file that is written. Reading goes to the real one.
class unreliable_disk::writable final : public rocksdb::FSWritableFileOwnerWrapper {
public:
  writable(std::unique_ptr<rocksdb::FSWritableFile>&& real, unreliable_disk& disk,
           std::shared_ptr<inode> of)
    : FSWritableFileOwnerWrapper(std::move(real)),
      disk_(disk),
      of_(std::move(of)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    const std::lock_guard lock{disk_.mutex_};
    const auto failed = disk_.refuse(disk_call::append);
    const auto part = failed && disk_.part_ && data.size() > 0
                        ? static_cast<std::size_t>(disk_.dice_() % data.size())
                        : 0;
    const rocksdb::Slice written{data.data(), failed ? part : data.size()};
    auto done = target()->Append(written, options, debug);
    if (done.ok())
      of_->size += written.size();
    return failed ? *failed : done;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    const std::lock_guard lock{disk_.mutex_};
    if (!disk_.has_power_)
      return IOStatus::IOError("the power is gone");
    of_->size = std::min(of_->size, size);
    of_->synced = std::min(of_->synced, size);
    return target()->Truncate(size, options, debug);
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return sync(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return sync(); }

private:
  IOStatus sync() {
    const std::lock_guard lock{disk_.mutex_};
    const auto failed = disk_.refuse(disk_call::sync);
    if (!disk_.has_power_)
      return *failed;
    if (failed)
      of_->lost.emplace_back(of_->synced, of_->size);
    of_->synced = of_->size; // what has failed once is not tried again
    return failed.value_or(IOStatus::OK());
  }

  unreliable_disk& disk_;
  std::shared_ptr<inode> of_;
};

class unreliable_disk::directory_handle final : public rocksdb::FSDirectoryWrapper {
public:
  directory_handle(std::unique_ptr<rocksdb::FSDirectory>&& real, unreliable_disk& disk)
    : FSDirectoryWrapper(std::move(real)),
      disk_(disk) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return sync(); }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*,
                               const rocksdb::DirFsyncOptions&) override {
    return sync();
  }

private:
  IOStatus sync() {
    const std::lock_guard lock{disk_.mutex_};
    if (auto failed = disk_.refuse(disk_call::sync_directory))
      return *failed;
    disk_.durable_ = disk_.now_;
    disk_.changes_.clear();
    return IOStatus::OK();
  }

  unreliable_disk& disk_;
};

unreliable_disk::unreliable_disk(fs::path directory, fs::path attic, std::uint64_t seed)
  : FileSystemWrapper(rocksdb::FileSystem::Default()),
    directory_(std::move(directory)),
    attic_(std::move(attic)),
    dice_(seed) {
  fs::create_directories(directory_);
  fs::create_directories(attic_);
  for (const auto& entry : fs::directory_iterator{directory_}) {
    if (!entry.is_regular_file() || entry.path().filename().string().starts_with("tidemark."))
      continue;
    auto kept = keep(entry.path(), entry.file_size());
    kept->synced = kept->size;
    rebind(name_of(entry.path()), kept);
  }
  durable_ = now_;
  changes_.clear();
}

void unreliable_disk::fail(const disk_fault& how) {
  const std::lock_guard lock{mutex_};
  faults_[static_cast<std::size_t>(how.at)].push_back(how);
}

void unreliable_disk::heal() {
  const std::lock_guard lock{mutex_};
  faults_ = {};
}

int unreliable_disk::struck() const {
  const std::lock_guard lock{mutex_};
  return struck_;
}

void unreliable_disk::lose_power_after(int calls) {
  const std::lock_guard lock{mutex_};
  calls_left_ = calls;
}

bool unreliable_disk::has_power() const {
  const std::lock_guard lock{mutex_};
  return has_power_;
}

std::shared_ptr<unreliable_disk::inode> unreliable_disk::keep(const fs::path& real,
                                                              std::uint64_t size) {
  auto made = std::make_shared<inode>();
  made->kept = attic_ / std::to_string(++files_);
  made->size = size;
  fs::create_hard_link(real, made->kept);
  return made;
}

void unreliable_disk::rebind(const std::string& name, std::shared_ptr<inode> file) {
  ours_.insert(name);
  if (file)
    now_[name] = file;
  else
    now_.erase(name);
  changes_.push_back({name, std::move(file)});
}

std::optional<IOStatus> unreliable_disk::refuse(disk_call what) {
  if (calls_left_ && --*calls_left_ <= 0)
    has_power_ = false;
  part_ = false;
  if (!has_power_)
    return IOStatus::IOError("the power is gone");
  for (auto& each : faults_[static_cast<std::size_t>(what)]) {
    if (each.times <= 0 || --each.nth > 0)
      continue;
    each.nth = 1;
    --each.times;
    ++struck_;
    part_ = each.writes_part;
    auto failed = each.no_space ? IOStatus::NoSpace("injected: no space left on device")
                                : IOStatus::IOError("injected: input/output error");
    failed.SetRetryable(each.no_space); // as the real file system has it
    return failed;
  }
  return std::nullopt;
}

IOStatus unreliable_disk::NewWritableFile(const std::string& name,
                                          const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* debug) {
  const std::lock_guard lock{mutex_};
  if (auto failed = refuse(disk_call::create))
    return *failed;
  ::unlink(name.c_str()); // a file that was there lives on in the attic
  std::unique_ptr<rocksdb::FSWritableFile> real;
  auto done = target()->NewWritableFile(name, options, &real, debug);
  if (!done.ok())
    return done;
  auto made = keep(name, 0);
  rebind(name_of(name), made);
  *result = std::make_unique<writable>(std::move(real), *this, std::move(made));
  return done;
}

IOStatus unreliable_disk::ReopenWritableFile(const std::string& name,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* debug) {
  const std::lock_guard lock{mutex_};
  if (auto failed = refuse(disk_call::create))
    return *failed;
  std::unique_ptr<rocksdb::FSWritableFile> real;
  auto done = target()->ReopenWritableFile(name, options, &real, debug);
  if (done.ok())
    *result = std::make_unique<writable>(std::move(real), *this, now_.at(name_of(name)));
  return done;
}

IOStatus unreliable_disk::NewDirectory(const std::string& name, const IOOptions& options,
                                       std::unique_ptr<rocksdb::FSDirectory>* result,
                                       IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> real;
  auto done = target()->NewDirectory(name, options, &real, debug);
  if (done.ok())
    *result = std::make_unique<directory_handle>(std::move(real), *this);
  return done;
}

IOStatus unreliable_disk::DeleteFile(const std::string& name, const IOOptions& options,
                                     IODebugContext* debug) {
  const std::lock_guard lock{mutex_};
  if (auto failed = refuse(disk_call::remove))
    return *failed;
  auto done = target()->DeleteFile(name, options, debug);
  if (done.ok())
    rebind(name_of(name), nullptr);
  return done;
}

IOStatus unreliable_disk::RenameFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* debug) {
  const std::lock_guard lock{mutex_};
  if (auto failed = refuse(disk_call::rename))
    return *failed;
  auto done = target()->RenameFile(from, to, options, debug);
  if (!done.ok())
    return done;
  // One step for whoever looks after a crash: the new name comes first, the old one goes with it.
  auto moved = now_.at(name_of(from));
  rebind(name_of(to), moved);
  rebind(name_of(from), nullptr);
  return done;
}

std::string unreliable_disk::content_after_loss(const inode& file, remains what) {
  auto content = slurp(file.kept);
  content.resize(file.size); // preallocated space is not content
  for (const auto& [from, to] : file.lost)
    std::fill(content.begin() + static_cast<std::ptrdiff_t>(std::min(from, file.size)),
              content.begin() + static_cast<std::ptrdiff_t>(std::min(to, file.size)), '\0');
  const auto unsynced = file.size - file.synced;
  const auto left = what == remains::nothing || unsynced == 0 ? 0 : dice_() % (unsynced + 1);
  if (what != remains::some_and_zeros || unsynced == 0) {
    content.resize(file.synced + left);
    return content;
  }
  constexpr std::uint64_t page = 4096;
  for (auto from = file.synced; from < file.size; from = (from / page + 1) * page)
    if (dice_() % 2 == 0)
      std::fill(content.begin() + static_cast<std::ptrdiff_t>(from),
                content.begin()
                  + static_cast<std::ptrdiff_t>(std::min((from / page + 1) * page, file.size)),
                '\0');
  return content;
}

void unreliable_disk::restart_as(const fs::path& target_directory, remains what) {
  const std::lock_guard lock{mutex_};
  has_power_ = false;
  fs::create_directories(target_directory);
  auto left = durable_;
  const auto durable_changes = what == remains::nothing ? 0 : dice_() % (changes_.size() + 1);
  for (std::size_t i = 0; i < durable_changes; ++i) {
    if (changes_[i].file)
      left[changes_[i].name] = changes_[i].file;
    else
      left.erase(changes_[i].name);
  }
  for (const auto& [name, file] : left) {
    const auto is_wal = fs::path(name).extension() == ".log";
    const auto of_this = is_wal || what != remains::some_and_zeros ? what : remains::some;
    overwrite(target_directory / name, content_after_loss(*file, of_this));
  }
  // What the log keeps beside its database is written and synced by its own means, and kept as it is.
  for (const auto& entry : fs::directory_iterator{directory_})
    if (const auto name = name_of(entry.path());
        !ours_.contains(name) && name != "tidemark.lock" && name != "LOCK")
      fs::copy(entry.path(), target_directory / name, fs::copy_options::recursive);
}

} // namespace tidemark::testing
