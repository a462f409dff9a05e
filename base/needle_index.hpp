#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Finds any of many needles in a text. The cost follows the text alone: each byte is looked at about
/// once however many needles there are, how long they are and how much they are alike (the
/// automaton of Aho and Corasick, 1975), because who names the needles may mean harm.
/// Immutable after construction, so it may be shared between threads.
class needle_index {
public:
  /// A place in the automaton: the longest end of the text so far that is the beginning of a needle.
  using state = std::uint32_t;
  static constexpr state start = 0;

  needle_index() : needle_index(std::vector<std::string>{}) {}
  /// Empty needles are left out. Takes some 21 bytes of memory for a byte of the needles at most.
  explicit needle_index(std::vector<std::string> needles);

  [[nodiscard]] bool empty() const { return nodes_.size() == 1; }
  /// Size of the longest needle in bytes.
  [[nodiscard]] std::size_t longest() const { return longest_; }

  /// The place after one more byte of the text.
  [[nodiscard]] state step(state from, char byte) const;
  /// Where in `text` to go on from `at` at `start`: no needle begins before that.
  [[nodiscard]] std::size_t skip(std::string_view text, std::size_t at) const;
  /// Size of the longest needle that ends here; 0 if none does.
  [[nodiscard]] std::size_t match(state at) const { return nodes_[at].match; }
  /// Size of the longest end of the text that a needle goes on from; 0 if none does.
  [[nodiscard]] std::size_t begun(state at) const;

private:
  struct node {
    state first_child = 0; ///< children stand side by side, in the order of their bytes
    std::uint32_t children = 0;
    state shorter = start; ///< the longest proper end of this text that is a place too
    std::uint32_t depth = 0;
    std::uint32_t match = 0;
  };
  struct group;

  void add_children(const std::vector<std::string>& needles, std::vector<group>& groups, state of);
  void link(const std::vector<group>& groups);
  [[nodiscard]] state child(state of, char byte) const;

  std::vector<node> nodes_;
  std::string bytes_; ///< by node: the byte that leads there
  std::array<state, 256> first_{};
  std::size_t longest_ = 0;
};

} // namespace tidemark
