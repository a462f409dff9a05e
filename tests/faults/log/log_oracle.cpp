#include "tests/faults/log/log_oracle.hpp"

namespace tidemark::testing {

namespace {

constexpr int streams = 3;

std::string name_of(std::uint64_t number) {
  return "stream-" + std::to_string(number);
}

std::string summary_key(const std::string& name) {
  return "last of " + name;
}

} // namespace

std::string log_oracle::some_data() {
  const auto size = dice_() % 20 == 0 ? 20'000 + dice_() % 20'000 : dice_() % 600;
  std::string data = std::to_string(dice_()) + " ";
  while (data.size() < size)
    data += static_cast<char>('a' + dice_() % 26);
  return data;
}

bool log_oracle::commit(event_log& log) {
  std::vector<append_request> requests;
  content adds;
  for (int i = 0; i < streams; ++i) {
    if (!requests.empty() && dice_() % 2 == 0)
      continue;
    const auto name = name_of(static_cast<std::uint64_t>(i));
    auto request = request_for(*log.acquire(name), {});
    for (auto left = 1 + dice_() % 3; left > 0; --left) {
      request.events.push_back(event_of(some_data()));
      adds[name].push_back(request.events.back().data);
    }
    // What is derived from events is written with them or not at all.
    request.derived.push_back({table::turns, summary_key(name), adds[name].back()});
    requests.push_back(std::move(request));
  }
  const auto answers = log.commit(requests);
  unsure_ = std::move(adds);
  for (const auto& answer : answers)
    if (!answer)
      return false;
  settle();
  ++commits_;
  return true;
}

void log_oracle::settle() {
  for (auto& [name, events] : std::exchange(unsure_, {}))
    std::move(events.begin(), events.end(), std::back_inserter(known_[name]));
}

expected<log_oracle::content> log_oracle::content_of(const event_log& log) {
  content found;
  for (const auto& stream : log.streams()) {
    auto& events = found[stream.name];
    const auto visit = [&](const event_view& e) {
      events.emplace_back(e.at.value == events.size() + 1 ? e.data : "not dense");
      return true;
    };
    const auto done = log.read(stream.id, offset{1}, {SIZE_MAX, SIZE_MAX, false}, visit);
    if (!done)
      return tl::unexpected(done.error());
    if (events.size() != stream.head.value)
      return fail(errc::corrupt, stream.name + " ends before its head");
    const auto chain = log.verify(stream.id);
    if (!chain || chain->first_bad)
      return fail(errc::corrupt, stream.name + " has a broken chain");
    const auto derived = log.get(table::turns, summary_key(stream.name));
    if (!derived || !*derived || **derived != events.back())
      return fail(errc::corrupt, stream.name + " disagrees with what is derived from it");
  }
  return found;
}

std::string log_oracle::check_order(const event_log& log) {
  std::uint64_t next = 1;
  const auto visit = [&](const event_view& e) {
    next = e.global.value == next ? next + 1 : 0;
    return next != 0;
  };
  const auto done = log.read_all(position{1}, {SIZE_MAX, SIZE_MAX, false}, visit);
  if (!done)
    return done.error().describe();
  return next == log.figures().head.value + 1 ? "" : "the positions are not dense";
}

std::string log_oracle::check(const event_log& log) {
  const auto found = content_of(log);
  if (!found)
    return found.error().describe();
  if (*found == known_)
    unsure_.clear();
  else
    settle();
  if (*found != known_) {
    std::string story = "neither what was acknowledged nor that and the last commit:";
    for (const auto& [name, events] : known_)
      story += fmt::format(" {} has {}, should have {};", name,
                           found->contains(name) ? found->at(name).size() : 0, events.size());
    return story;
  }
  return check_order(log);
}

std::string log_oracle::check_readable(const event_log& log) const {
  const auto found = content_of(log);
  if (!found)
    return found.error().describe();
  return *found == known_ ? "" : "what can be read is not what was acknowledged";
}

std::uint64_t log_oracle::acknowledged() const {
  std::uint64_t sum = 0;
  for (const auto& [name, events] : known_)
    sum += events.size();
  return sum;
}

} // namespace tidemark::testing
