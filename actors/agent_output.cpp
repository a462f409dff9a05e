#include "actors/agent_output.hpp"

#include "base/json.hpp"

namespace tidemark {
namespace {

void mask(const redactor& secrets, std::string& text) {
  if (secrets.concerns(text))
    text = secrets.apply(text);
}

bool holds_secret(const redactor& secrets, const json& value) {
  if (const auto* text = value.get_ptr<const json::string_t*>())
    return secrets.concerns(*text);
  if (value.is_array() || value.is_object())
    for (const auto& [key, member] : value.items())
      if (secrets.concerns(key) || holds_secret(secrets, member))
        return true;
  return false;
}

/// Not the dumped text: a secret must not be found across the seams of the JSON.
void mask(const redactor& secrets, json& value) {
  if (!holds_secret(secrets, value))
    return;
  if (auto* text = value.get_ptr<json::string_t*>())
    return mask(secrets, *text);
  if (value.is_array())
    for (auto& each : value)
      mask(secrets, each);
  if (!value.is_object())
    return;
  json renamed = json::object();
  for (auto& [key, member] : value.items()) {
    mask(secrets, member);
    std::string name = key;
    mask(secrets, name);
    renamed[name] = std::move(member);
  }
  value = std::move(renamed);
}

void mask(const redactor& secrets, turn_result& end) {
  mask(secrets, end.text);
  mask(secrets, end.stop_reason);
  mask(secrets, end.denials);
  if (!end.why)
    return;
  mask(secrets, end.why->message);
  mask(secrets, end.why->details);
}

} // namespace

void mask_secrets(const redactor& secrets, session_report& report) {
  for (auto& event : report.events) {
    mask(secrets, event.data);
    if (event.raw && secrets.concerns(*event.raw))
      event.raw = std::make_shared<const std::string>(secrets.apply(*event.raw));
  }
  for (auto& ask : report.asks) {
    mask(secrets, ask.tool);
    mask(secrets, ask.input);
  }
  if (report.end)
    mask(secrets, *report.end);
}

void text_tail::add(std::string_view bytes) {
  const std::size_t most = limit_ + margin;
  if (bytes.size() > most)
    bytes.remove_prefix(bytes.size() - most);
  kept_ += bytes;
  // Cut in big steps: a flood of small writes must not move the whole tail each time.
  if (kept_.size() > 2 * most)
    kept_.erase(0, kept_.size() - most);
}

std::string text_tail::text(const redactor& secrets) const {
  std::string text = repair_utf8(secrets.apply(kept_));
  if (text.size() <= limit_)
    return text;
  text.erase(0, text.size() - limit_);
  const auto line = text.find('\n');
  if (line != std::string::npos && line + 1 < text.size())
    text.erase(0, line + 1);
  return repair_utf8(text);
}

} // namespace tidemark
