#include "http/uri.hpp"

namespace tidemark {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

} // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] == '%') {
      const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

target_parts split_target(std::string_view target) {
  if (const auto scheme = target.find("://"); scheme != target.npos && target.front() != '/') {
    const auto path = target.find_first_of("/?#", scheme + 3);
    target = path == target.npos ? std::string_view{"/"} : target.substr(path);
  }
  target = target.substr(0, target.find('#'));
  const auto mark = target.find('?');
  if (mark == target.npos)
    return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto decoded = [](std::string_view text) {
    return percent_decode(text, true).value_or(std::string{text});
  };
  while (!query.empty()) {
    const auto end = query.find('&');
    const auto item = query.substr(0, end);
    query = end == query.npos ? std::string_view{} : query.substr(end + 1);
    if (item.empty())
      continue;
    const auto equals = item.find('=');
    const auto value = equals == item.npos ? std::string_view{} : item.substr(equals + 1);
    out.emplace_back(decoded(item.substr(0, equals)), decoded(value));
  }
  return out;
}

std::string host_of(std::string_view authority) {
  const auto bracket = authority.starts_with('[') ? authority.find(']') : authority.npos;
  const auto end = bracket == authority.npos ? authority.find(':') : bracket + 1;
  auto host = authority.substr(0, end);
  const auto port = end < authority.size() ? authority.substr(end) : std::string_view{};
  if (!port.empty() && (port[0] != ':' || port.find_first_not_of("0123456789", 1) != port.npos))
    host = authority;
  else if (bracket != authority.npos)
    host = authority.substr(1, bracket - 1);
  std::string out{host};
  for (auto& c : out)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

} // namespace tidemark
