#include "agents/demo_session.hpp"

#include "base/json.hpp"
#include "base/time.hpp"

#include <cctype>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <unistd.h>

namespace tidemark {
namespace {

namespace fs = std::filesystem;

std::string session_path(const std::string& config_directory, const std::string& cwd,
                         const std::string& id) {
  const fs::path directory = fs::path(config_directory) / "projects" / demo_project_slug(cwd);
  return (directory / (id + ".jsonl")).string();
}

int count_prompts(const std::string& path) {
  std::ifstream in(path);
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    const auto parsed = parse_json(line);
    count += parsed && string_or(*parsed, "type") == "user" ? 1 : 0;
  }
  return count;
}

} // namespace

std::string demo_project_slug(std::string_view cwd) {
  constexpr std::size_t longest = 200;
  std::string slug;
  for (const char c : cwd) {
    slug += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  }
  if (slug.size() > longest) {
    slug = slug.substr(0, longest) + '-' + std::to_string(std::hash<std::string_view>{}(cwd));
  }
  return slug;
}

demo_session::demo_session(std::string id, std::string path)
  : id_(std::move(id)),
    path_(std::move(path)) {}

// The lock lives as long as the process and dies with it, however it dies; a marker file would
// outlive a SIGKILL.
expected<void> demo_session::take_lock() {
  const int file = ::open((path_ + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) {
    return fail(errc::io, "cannot write " + path_);
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    return fail(errc::locked, "Error: Session ID " + id_ + " is already in use.");
  }
  return {};
}

expected<demo_session> demo_session::resume(const std::string& config_directory,
                                            const std::string& cwd, const std::string& id) {
  demo_session session(id, session_path(config_directory, cwd, id));
  if (!fs::exists(session.path_)) {
    return fail(errc::not_found, "No conversation found with session ID: " + id);
  }
  if (auto locked = session.take_lock(); !locked) {
    return tl::unexpected(locked.error());
  }
  session.turns_ = count_prompts(session.path_);
  return session;
}

expected<demo_session> demo_session::create(const std::string& config_directory,
                                            const std::string& cwd, const std::string& id) {
  demo_session session(id, session_path(config_directory, cwd, id));
  std::error_code problem;
  fs::create_directories(fs::path(session.path_).parent_path(), problem);
  if (fs::exists(session.path_)) {
    return fail(errc::locked, "Error: Session ID " + id + " is already in use.");
  }
  if (auto locked = session.take_lock(); !locked) {
    return tl::unexpected(locked.error());
  }
  return session;
}

void demo_session::add_prompt(std::string_view prompt) {
  ++turns_;
  append("user", prompt);
}

void demo_session::add_answer(std::string_view text) {
  append("assistant", text);
}

void demo_session::append(std::string_view role, std::string_view text) const {
  const json entry =
    json::object({{"type", role},
                  {"sessionId", id_},
                  {"timestamp", iso8601(now_utc())},
                  {"message", json::object({{"role", role}, {"content", repair_utf8(text)}})}});
  std::ofstream(path_, std::ios::app) << entry.dump() << '\n';
}

} // namespace tidemark
