#include "actors/agent_output.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

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

void mask_within(const redactor& secrets, json& value);

/// Two keys that look alike now are still two members. Counted, because an agent may send very many.
void mask_keys(const redactor& secrets, json& object) {
  json renamed = json::object();
  std::unordered_map<std::string, std::size_t> seen;
  for (auto& [key, member] : object.items()) {
    mask_within(secrets, member);
    std::string name = key;
    mask(secrets, name);
    auto& times = seen[name];
    auto unique = times == 0 ? name : fmt::format("{} {}", name, times + 1);
    while (renamed.contains(unique))
      unique = fmt::format("{} {}", name, ++times + 1);
    ++times;
    renamed[std::move(unique)] = std::move(member);
  }
  object = std::move(renamed);
}

void mask_within(const redactor& secrets, json& value) {
  if (auto* text = value.get_ptr<json::string_t*>())
    return mask(secrets, *text);
  if (value.is_array())
    for (auto& each : value)
      mask_within(secrets, each);
  if (value.is_object())
    mask_keys(secrets, value);
}

/// Not the dumped text: a secret must not be found across the seams of the JSON. Looked through once
/// before anything is built anew, because most values hold none.
void mask(const redactor& secrets, json& value) {
  if (holds_secret(secrets, value))
    mask_within(secrets, value);
}

/// What of an event no agent says: words of a closed vocabulary that the adapter writes, and ids that
/// it makes. A repository chooses values that count as secrets here, and could call one `permission`
/// or `tool_call`: masked there, readers would lose the item and the log the decision. All other
/// values may be the agent's words and are masked, the ids that it chose too, always alike.
struct own_members {
  std::string_view type; ///< the event's, or the beginning of a family
  std::string_view within;
  std::array<std::string_view, 5> names;
};
constexpr std::array<own_members, 5> own_values{
  {{"item.", "", {"item"}},
   {"item.", "item", {"id", "kind", "role", "status", "call"}},
   {"permission.", "", {"permission", "item", "decision", "by"}},
   {"question.", "", {"permission", "item", "decision", "by"}},
   {"agent.notice", "", {"code"}}}};

bool is_own(std::string_view type, std::string_view within, std::string_view name) {
  return std::ranges::any_of(own_values, [&](const own_members& own) {
    return type.starts_with(own.type) && own.within == within
           && std::ranges::find(own.names, name) != own.names.end();
  });
}

/// Of an object whose keys are ours: keys are the agent's only within its values.
void mask_members(const redactor& secrets, json& object, std::string_view type = {},
                  std::string_view within = {}) {
  for (auto& [name, member] : object.items())
    if (!member.is_string() || !is_own(type, within, name))
      mask(secrets, member);
}

/// Objects of ours in a list.
void mask_entries(const redactor& secrets, json& list) {
  for (auto& entry : list)
    if (entry.is_object())
      mask_members(secrets, entry);
    else
      mask(secrets, entry);
}

void mask(const redactor& secrets, agent_event& event) {
  if (!event.data.is_object() || !holds_secret(secrets, event.data))
    return;
  for (auto& [name, member] : event.data.items())
    if (name == "item" && member.is_object())
      mask_members(secrets, member, event.type, "item");
    else if (name == "mcp_servers" && member.is_array())
      mask_entries(secrets, member);
    else if (!member.is_string() || !is_own(event.type, {}, name))
      mask(secrets, member);
}

/// An agent may write a character as `\\u00e4` or `\\/` where we would not: no search finds that.
bool may_hide(std::string_view line) {
  return line.find("\\u") != std::string_view::npos || line.find("\\/") != std::string_view::npos;
}

void mask_line(const redactor& secrets, shared_text& line) {
  if (secrets.concerns(*line))
    line = std::make_shared<const std::string>(secrets.apply(*line));
  if (secrets.empty() || !may_hide(*line))
    return;
  auto read = parse_json(*line);
  if (!read || !holds_secret(secrets, *read))
    return;
  mask_within(secrets, *read);
  line = std::make_shared<const std::string>(dump_json(*read));
}

/// No secret can begin in this delta and go on in the next one.
bool is_settled(const redactor& secrets, const json& delta) {
  const auto text = string_or(delta, "text");
  return secrets.settled(text) == text.size();
}

void mask(const redactor& secrets, turn_result& end) {
  mask(secrets, end.text);
  mask(secrets, end.stop_reason);
  mask(secrets, end.model);
  mask_entries(secrets, end.denials);
  if (!end.why)
    return;
  mask(secrets, end.why->message);
  mask_members(secrets, end.why->details);
}

} // namespace

void mask_secrets(const redactor& secrets, session_report& report) {
  for (auto& event : report.events) {
    mask(secrets, event);
    if (event.raw)
      mask_line(secrets, event.raw);
  }
  for (auto& ask : report.asks) {
    if (secrets.concerns(ask.tool))
      ask.shown_tool = secrets.apply(ask.tool);
    mask(secrets, ask.input);
  }
  if (report.session)
    mask(secrets, *report.session);
  if (report.tools)
    for (auto& tool : *report.tools)
      mask(secrets, tool);
  if (report.end)
    mask(secrets, *report.end);
}

/// False if all of the delta is held back.
bool delta_mask::apply(const redactor& secrets, agent_event& delta) {
  const auto item = string_or(delta.data, "item");
  if (!held_.contains(item) && is_settled(secrets, delta.data))
    return true;
  const auto known = held_.try_emplace(item).first;
  auto shown = known->second.push(secrets, string_or(delta.data, "text"));
  if (!known->second.holds_back())
    held_.erase(known);
  const bool stays = !shown.empty();
  delta.data["text"] = std::move(shown);
  return stays;
}

void delta_mask::release(const redactor& secrets, const std::string& item,
                         std::vector<agent_event>& to) {
  const auto known = held_.find(item);
  if (known == held_.end())
    return;
  json data = {{"item", item}, {"text", known->second.finish(secrets)}};
  held_.erase(known);
  to.push_back({"item.delta", std::move(data)});
}

void delta_mask::apply(const redactor& secrets, std::vector<agent_event>& events) {
  if (held_.empty() && std::ranges::none_of(events, [&](const agent_event& each) {
        return each.type == "item.delta" && !is_settled(secrets, each.data);
      }))
    return;
  std::vector<agent_event> out;
  bool changed = false;
  for (auto& each : events) {
    if (each.type == "item.completed")
      release(secrets, string_or(object_at(each.data, "item"), "id"), out);
    if (each.type != "item.delta") {
      out.push_back(std::move(each));
      continue;
    }
    const auto said = string_or(each.data, "text");
    const bool stays = apply(secrets, each);
    changed = changed || string_or(each.data, "text") != said;
    if (stays)
      out.push_back(std::move(each));
  }
  if (changed) // the line holds a part of a secret that no search finds
    for (auto& each : out)
      each.raw.reset();
  events = std::move(out);
}

void delta_mask::finish(const redactor& secrets, std::vector<agent_event>& events) {
  while (!held_.empty())
    release(secrets, std::string{held_.begin()->first}, events);
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
  auto cut = text.size() - limit_;
  while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80)
    ++cut; // never within a character
  text.erase(0, cut);
  const auto line = text.find('\n');
  if (line != std::string::npos && line + 1 < text.size())
    text.erase(0, line + 1);
  return text;
}

} // namespace tidemark
