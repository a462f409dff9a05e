#include "tests/storage/support.hpp"

#include "storage/memory_log.hpp"

#include <rocksdb/db.h>
#include <rocksdb/slice_transform.h>

#include <algorithm>
#include <set>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

constexpr read_limits everything{SIZE_MAX, SIZE_MAX, false};

using positions = std::vector<std::uint64_t>;

new_event tagged(std::int64_t seconds, std::vector<std::string> terms) {
  auto e = event_of("{}");
  e.time = e.time.plus(std::chrono::seconds{seconds});
  e.terms = std::move(terms);
  return e;
}

/// What `search` finds, taken `at_a_time` events a call.
positions found(const event_log& log, const term_groups& wanted, position from, direction way,
                std::size_t at_a_time = SIZE_MAX) {
  positions out;
  for (;;) {
    const auto visit = [&](const event_view& e) {
      out.push_back(e.global.value);
      return true;
    };
    const auto read = log.search(wanted, from, way, {at_a_time, SIZE_MAX, false}, visit);
    REQUIRE(read);
    if (read->reached_head)
      return out;
    from = read->next;
  }
}

positions found(const event_log& log, const term_groups& wanted) {
  return found(log, wanted, position{1}, direction::oldest_first);
}

/// Makes of a log what a version without search would have left.
void forget_terms(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  REQUIRE(rocksdb::DB::ListColumnFamilies({}, directory.string(), &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const auto& name : names) {
    families.emplace_back(name, rocksdb::ColumnFamilyOptions{});
    if (name == "streams")
      families.back().options.inplace_update_support = true;
    if (name == "events")
      families.back().options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(8));
  }
  rocksdb::DBOptions options;
  options.allow_concurrent_memtable_write = false;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  REQUIRE(rocksdb::DB::Open(options, directory.string(), families, &handles, &db).ok());
  for (auto* handle : handles) {
    if (handle->GetName() == "terms")
      CHECK(db->DropColumnFamily(handle).ok());
  }
  CHECK(db->Delete({}, "search-from").ok());
  for (auto* handle : handles)
    CHECK(db->DestroyColumnFamilyHandle(handle).ok());
  delete db;
}

/// Two logs with the same events, and what is known of these.
struct twins {
  temporary_directory directory;
  std::unique_ptr<event_log> stored = open_log(directory.path());
  std::unique_ptr<event_log> in_memory = make_memory_log();
  std::vector<std::set<std::string>> terms{{}}; ///< by position

  void append(const std::string& stream, std::vector<new_event> events) {
    for (const auto& e : events)
      terms.emplace_back(e.terms.begin(), e.terms.end());
    for (auto* log : {stored.get(), in_memory.get()})
      REQUIRE(testing::append(*log, request_for(*log->acquire(stream), events)));
  }

  [[nodiscard]] positions expected(const term_groups& wanted) const {
    positions out;
    for (std::size_t at = 1; at < terms.size(); ++at)
      if (std::ranges::all_of(wanted, [&](const auto& group) {
            return std::ranges::any_of(group, [&](const auto& t) { return terms[at].contains(t); });
          }))
        out.push_back(at);
    return out;
  }
};

} // namespace

SCENARIO("events are found by their terms, in both directions and however they are taken") {
  const auto seed = GENERATE(1U, 2U, 3U);
  std::mt19937 random{seed};
  const auto below = [&](unsigned n) { return random() % n; };
  const std::vector<std::string> words{"a", "ab", "b", "c", "rare", std::string(300, 'l')};
  const auto any_terms = [&] {
    std::vector<std::string> terms;
    for (const auto& word : words)
      if (below(word == "rare" ? 40 : 3) == 0)
        terms.push_back(word);
    return terms;
  };
  twins logs;
  for (int commit = 0; commit < 100; ++commit) {
    std::vector<new_event> events;
    for (unsigned i = 0; i <= below(4); ++i)
      events.push_back(tagged(commit, any_terms()));
    logs.append("stream-" + std::to_string(below(3)), std::move(events));
  }
  logs.stored.reset();
  logs.stored = open_log(logs.directory.path());
  for (int question = 0; question < 40; ++question) {
    term_groups wanted;
    for (unsigned g = 0; g < below(4); ++g) {
      auto& group = wanted.emplace_back();
      for (unsigned i = 0; i <= below(3); ++i)
        group.push_back(words[below(static_cast<unsigned>(words.size()))]);
    }
    auto expected = logs.expected(wanted);
    const auto at_a_time = 1 + below(50);
    for (const auto* log : {logs.stored.get(), logs.in_memory.get()}) {
      CHECK(found(*log, wanted, position{1}, direction::oldest_first, at_a_time) == expected);
      auto backwards = found(*log, wanted, log->head(), direction::newest_first, at_a_time);
      std::ranges::reverse(backwards);
      CHECK(backwards == expected);
    }
  }
}

SCENARIO("events that stand in many blocks of table files are found") {
  twins logs;
  for (int i = 0; i < 60; ++i) {
    auto large = tagged(i, {"a"});
    large.data = R"({"text":")" + std::string(5000, static_cast<char>('a' + i % 26)) + R"("})";
    logs.append("stream", {large});
  }
  for (int reopened = 0; reopened < 2; ++reopened) { // recovery writes what was logged to tables
    logs.stored.reset();
    logs.stored = open_log(logs.directory.path());
    CHECK(found(*logs.stored, {{"a"}}) == logs.expected({{"a"}}));
  }
}

SCENARIO("a search starts where it is told, and a term that nobody has finds nothing") {
  twins logs;
  logs.append("a", {tagged(1, {"x"}), tagged(2, {"x", "y"}), tagged(3, {}), tagged(4, {"x"})});
  for (const auto* log : {logs.stored.get(), logs.in_memory.get()}) {
    CHECK(found(*log, {{"x"}}, position{2}, direction::oldest_first) == positions{2, 4});
    CHECK(found(*log, {{"x"}}, position{2}, direction::newest_first) == positions{2, 1});
    CHECK(found(*log, {{"x"}, {"y"}}) == positions{2});
    CHECK(found(*log, {{"x"}, {"z"}}).empty());
    CHECK(found(*log, {{}}).empty());
    CHECK(found(*log, {}) == positions{1, 2, 3, 4});
    CHECK(found(*log, {{"x"}}, position{9}, direction::oldest_first).empty());
    CHECK(found(*log, {{"x"}}, position{9}, direction::newest_first) == positions{4, 2, 1});
    CHECK(found(*log, {{"x"}}, position{0}, direction::newest_first).empty());
  }
}

SCENARIO("the terms in use can be listed") {
  twins logs;
  logs.append("a", {tagged(1, {"tool:Bash", "type:x"}), tagged(1, {"tool:Read", "tool:Bash"})});
  for (const auto* log : {logs.stored.get(), logs.in_memory.get()}) {
    CHECK(log->terms("tool:", 10) == std::vector<std::string>{"tool:Bash", "tool:Read"});
    CHECK(log->terms("tool:", 1) == std::vector<std::string>{"tool:Bash"});
    CHECK(log->terms("z", 10)->empty());
  }
}

SCENARIO("a time leads to the first position that was not committed before it") {
  const temporary_directory directory;
  const auto log = open_log(directory.path());
  CHECK(log->position_at(timestamp{0}) == position{1});
  const auto far = now_utc().plus(std::chrono::hours{24 * 365});
  for (int i = 0; i < 20; ++i) {
    auto e = event_of("{}");
    e.time = far.plus(std::chrono::hours{i});
    REQUIRE(append(*log, request_for(*log->acquire("a"), {e, e})));
  }
  // The events' own times are what the clock of the commits was moved on to.
  CHECK(log->position_at(timestamp{0}) == position{1});
  CHECK(log->position_at(far) == position{1});
  CHECK(log->position_at(far.plus(std::chrono::minutes{1})) == position{3});
  CHECK(log->position_at(far.plus(std::chrono::hours{19})) == position{39});
  CHECK(log->position_at(far.plus(std::chrono::hours{20})) == position{41});
}

SCENARIO("a log of a version without search opens, and is searchable from there on") {
  const temporary_directory directory;
  {
    const auto log = open_log(directory.path());
    CHECK(log->searchable_from() == position{1});
    REQUIRE(append(*log, request_for(*log->acquire("a"), {tagged(1, {"x"}), tagged(2, {"x"})})));
  }
  forget_terms(directory.path());
  for (int start = 0; start < 2; ++start) {
    const auto log = open_log(directory.path());
    CHECK(log->searchable_from() == position{3});
    const auto a = *log->acquire("a");
    CHECK(log->verify(a.id)->first_bad == std::nullopt);
    if (start == 0)
      REQUIRE(append(*log, request_for(a, {tagged(3, {"x"})})));
    CHECK(found(*log, {{"x"}}) == positions{3});
    CHECK(found(*log, {}) == positions{1, 2, 3});
  }
}
