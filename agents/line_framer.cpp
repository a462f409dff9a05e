#include "agents/line_framer.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {

namespace {

/// A buffer that one huge line blew up is given back; ordinary lines reuse theirs.
constexpr std::size_t kept_capacity = 1 << 20;

} // namespace

void line_framer::feed(std::string_view bytes, const line_sink& sink) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos)
      return keep(bytes);
    const auto line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (partial_size_ == 0) {
      report(line, line.size(), line.ends_with('\r'), sink);
    } else {
      keep(line);
      report_kept(sink);
    }
  }
}

void line_framer::finish(const line_sink& sink) {
  if (partial_size_ > 0)
    report_kept(sink);
}

void line_framer::keep(std::string_view bytes) {
  if (bytes.empty())
    return;
  partial_.append(bytes.substr(0, limit_ - std::min(limit_, partial_.size())));
  partial_size_ += bytes.size();
  ends_in_cr_ = bytes.back() == '\r';
}

void line_framer::report_kept(const line_sink& sink) {
  // Taken out first: a sink that throws must not see this line glued to the next one.
  auto line = std::exchange(partial_, {});
  const auto size = std::exchange(partial_size_, 0);
  report(line, size, std::exchange(ends_in_cr_, false), sink);
  if (line.capacity() <= kept_capacity) {
    line.clear();
    partial_ = std::move(line);
  }
}

void line_framer::report(std::string_view line, std::uint64_t size, bool ends_in_cr,
                         const line_sink& sink) const {
  if (ends_in_cr)
    --size;
  sink(line.substr(0, std::min<std::uint64_t>(size, limit_)), size > limit_, size);
}

} // namespace tidemark
