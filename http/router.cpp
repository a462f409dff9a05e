#include "http/router.hpp"

#include "http/uri.hpp"

#include <algorithm>

namespace tidemark {

namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> out;
  path.remove_prefix(path.starts_with('/') ? 1 : 0);
  for (;;) {
    const auto slash = path.find('/');
    out.emplace_back(path.substr(0, slash));
    if (slash == path.npos)
      return out;
    path.remove_prefix(slash + 1);
  }
}

bool is_parameter(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

} // namespace

void router::add(std::string_view method, std::string_view path_template, route_handler handler,
                 std::optional<scope> needed) {
  routes_.push_back({std::string{method}, std::string{path_template}, split_path(path_template),
                     std::move(handler),
                     needed.value_or(method == "GET" ? scope::read : scope::write)});
}

void router::add_websocket(std::string_view path_template, route_handler handler, scope needed) {
  add("GET", path_template, std::move(handler), needed);
  routes_.back().websocket = true;
}

router::match router::find(std::string_view method, std::string_view path) const {
  match found;
  auto segments = split_path(path);
  for (auto& segment : segments) {
    auto decoded = percent_decode(segment);
    if (!decoded)
      return found;
    segment = std::move(*decoded);
  }
  for (const auto& r : routes_) {
    const auto fits =
      std::equal(r.segments.begin(), r.segments.end(), segments.begin(), segments.end(),
                 [](const std::string& expected, const std::string& actual) {
                   return is_parameter(expected) ? !actual.empty() : expected == actual;
                 });
    if (!fits)
      continue;
    found.path_template = r.path_template;
    found.allowed.push_back(r.method);
    if (r.method != method && !(method == "HEAD" && r.method == "GET"))
      continue;
    found.handler = &r.handler;
    found.needed = r.needed;
    found.websocket = r.websocket;
    for (std::size_t i = 0; i < segments.size(); ++i)
      if (is_parameter(r.segments[i]))
        found.params.emplace(r.segments[i].substr(1, r.segments[i].size() - 2), segments[i]);
    found.allowed.clear();
    return found;
  }
  return found;
}

std::vector<router::entry> router::entries() const {
  std::vector<entry> out;
  out.reserve(routes_.size());
  for (const auto& r : routes_)
    out.push_back({r.method, r.path_template, r.needed, r.websocket});
  return out;
}

} // namespace tidemark
