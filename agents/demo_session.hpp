#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>

namespace tidemark {

/// A conversation of the demo agent on disk, where the real CLI keeps its own:
/// `<config>/projects/<cwd with every non-alphanumeric as ->/<session>.jsonl`. Holds a lock while
/// the process lives, so that two processes can never continue one conversation.
class demo_session {
public:
  /// Continues a conversation. Errors: `not_found` if there is none with this id, `locked` if
  /// another process has it open.
  static expected<demo_session> resume(const std::string& config_directory, const std::string& cwd,
                                       const std::string& id);
  /// Begins a conversation. Errors: `locked`, `io`.
  static expected<demo_session> create(const std::string& config_directory, const std::string& cwd,
                                       const std::string& id);

  [[nodiscard]] const std::string& id() const { return id_; }
  /// Prompts that the conversation has seen.
  [[nodiscard]] int turns() const { return turns_; }
  void add_prompt(std::string_view prompt);
  void add_answer(std::string_view text);

private:
  demo_session(std::string id, std::string path);
  expected<void> take_lock();
  void append(std::string_view role, std::string_view text) const;

  std::string id_;
  std::string path_;
  int turns_ = 0;
};

/// The directory name of a working directory.
std::string demo_project_slug(std::string_view cwd);

} // namespace tidemark
