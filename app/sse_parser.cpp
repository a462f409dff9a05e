#include "app/sse_parser.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tidemark {

std::vector<sse_event> sse_parser::feed(std::string_view bytes) {
  std::vector<sse_event> out;
  while (!bytes.empty()) {
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const auto end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos)
      return out;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    take_line(out);
  }
  return out;
}

void sse_parser::reconnect() {
  line_.clear();
  type_.clear();
  data_.clear();
  has_data_ = false;
  after_return_ = false;
  at_start_ = true;
  pending_id_ = last_id_;
}

void sse_parser::take_line(std::vector<sse_event>& out) {
  const auto owned = std::exchange(line_, {});
  std::string_view line{owned};
  if (std::exchange(at_start_, false) && line.starts_with("\xEF\xBB\xBF"))
    line.remove_prefix(3);
  if (line.empty()) {
    dispatch(out);
    return;
  }
  const auto colon = std::min(line.find(':'), line.size());
  auto value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' '))
    value.remove_prefix(1);
  take_field(line.substr(0, colon), value); // a comment has an empty name, which is no field
}

void sse_parser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (std::exchange(has_data_, true))
      data_ += '\n';
    data_ += value;
  } else if (name == "event") {
    type_ = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos)
      pending_id_ = value;
  } else if (name == "retry") {
    std::int64_t delay = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), delay);
    if (problem == std::errc{} && end == value.data() + value.size() && !value.starts_with('-'))
      retry_ = std::chrono::milliseconds{delay};
  }
}

void sse_parser::dispatch(std::vector<sse_event>& out) {
  last_id_ = pending_id_;
  auto type = std::exchange(type_, {});
  auto data = std::exchange(data_, {});
  if (!std::exchange(has_data_, false))
    return;
  out.push_back({type.empty() ? "message" : std::move(type), std::move(data), last_id_});
}

} // namespace tidemark
