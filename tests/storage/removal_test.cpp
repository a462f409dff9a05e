// What retention takes out of the log, and what the chain still proves after it.
#include "storage/hash_chain.hpp"
#include "storage/key_codec.hpp"
#include "storage/memory_log.hpp"
#include "storage/record_codec.hpp"
#include "storage/removal_note.hpp"

#include "tests/storage/support.hpp"

#include <rocksdb/db.h>

#include <atomic>
#include <thread>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

constexpr read_limits with_raw_lines{SIZE_MAX, SIZE_MAX, true};

new_event plain(std::string type, std::string data) {
  auto e = event_of(std::move(data), "a raw line");
  e.type = std::move(type);
  e.terms = {"type:" + e.type};
  return e;
}

new_event delta(int i) {
  auto e = event_of(R"({"item":"i","text":")" + std::to_string(i) + "\"}", "raw of a delta");
  e.type = "item.delta";
  return e;
}

digest hash_at(const event_log& log, stream_id stream, offset at) {
  digest out{};
  REQUIRE(log.read(stream, at, {1, SIZE_MAX, false}, [&](const event_view& e) {
    out = *e.hash;
    return false;
  }));
  return out;
}

/// Tells of a removal, as the stream's last event.
void tell(event_log& log, const std::string& name, removal_note note) {
  const auto stream = *log.find(name);
  if (note.what == removal_kind::turns)
    note.hash = hash_at(log, stream.id, note.to);
  REQUIRE(append(
    log, request_for(stream, {plain(std::string{removal_event_type}, dump_json(to_json(note)))})));
}

removal_note note_of(removal_kind what, std::uint64_t from, std::uint64_t to) {
  removal_note note;
  note.what = what;
  note.from = offset{from};
  note.to = offset{to};
  note.count = to - from + 1;
  return note;
}

removal trim(const stream_info& stream, std::uint64_t last) {
  return {stream.id, stream.incarnation, offset{last}, {}, {}, {}};
}

removal empty(const stream_info& stream, std::uint64_t from, std::uint64_t to) {
  removal what{stream.id, stream.incarnation, offset{0}, {}, {}, {}};
  for (auto at = from; at <= to; ++at)
    what.emptied.push_back({offset{at}, dump_json(emptied_delta("i"))});
  return what;
}

/// A stream "a" of ten events, deltas at 4 to 7, between events of "b".
void fill(event_log& log) {
  for (int i = 1; i <= 10; ++i) {
    const auto is_delta = i >= 4 && i <= 7;
    REQUIRE(append(
      log, request_for(*log.acquire("a"), {is_delta ? delta(i) : plain("turn.queued", "{}")})));
    REQUIRE(append(log, request_for(*log.acquire("b"), {plain("turn.queued", "{}")})));
  }
}

struct stored_log {
  temporary_directory directory;
  std::unique_ptr<event_log> log = open_log(directory.path());
  void reopen() {
    log.reset();
    log = open_log(directory.path());
  }
};

chain_report verified(const event_log& log, const std::string& name = "a") {
  auto report = log.verify(log.find(name)->id);
  REQUIRE(report);
  return *report;
}

void alter_event(const std::filesystem::path& directory, stream_id stream, offset at,
                 const std::function<void(records::event_record&)>& change) {
  tamper(directory, "events", [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* events) {
    std::string record;
    const auto key = keys::event_key(stream, at);
    REQUIRE(db.Get({}, events, key, &record).ok());
    auto e = *records::decode_event(record);
    change(e);
    REQUIRE(db.Put({}, events, key, records::encode(e)).ok());
  });
}

/// An event whose content is gone without a word, done as well as a forger can.
void forge_empty(records::event_record& e) {
  sha256_hasher hasher;
  e.emptied = hasher.payload(e.turn, e.data, e.raw);
  static const auto left = dump_json(emptied_delta("i"));
  e.data = left;
  e.raw = {};
}

std::vector<std::uint64_t> positions_of(const event_log& log) {
  std::vector<std::uint64_t> out;
  position from{1};
  for (;;) {
    const auto read = log.read_all(from, with_raw_lines, [&](const event_view& e) {
      out.push_back(e.global.value);
      return true;
    });
    REQUIRE(read);
    if (read->reached_head)
      return out;
    from = read->next;
  }
}

} // namespace

SCENARIO("after a trim readers below it hear so, the others go on, and the chain holds") {
  const auto in_memory = GENERATE(false, true);
  CAPTURE(in_memory);
  stored_log stored;
  const auto memory = make_memory_log();
  auto& log = in_memory ? *memory : *stored.log;
  fill(log);
  tell(log, "a", note_of(removal_kind::turns, 1, 5));
  const auto stream = *log.find("a");
  const auto done = log.remove(trim(stream, 5));
  REQUIRE(done);
  CHECK(done->events == 5);

  CHECK(log.find("a")->trimmed == offset{5});
  CHECK(log.read(stream.id, offset{5}, {}, [](const auto&) { return true; }).error().code
        == errc::trimmed);
  CHECK(data_of(log, stream.id, offset{6}).size() == 6);
  const auto report = verified(log);
  CHECK(report.problem == "");
  CHECK_FALSE(report.first_bad);
  CHECK(report.checked == 6);
  CHECK(report.first == offset{6});
  CHECK(report.removed == 5);
  CHECK(verified(log, "b").checked == 10);

  // Positions 1, 3, 5, 7, 9 were those of "a".
  CHECK(positions_of(log)
        == std::vector<std::uint64_t>{2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21});
  std::vector<std::uint64_t> found;
  const auto collect = [&](const event_view& e) {
    found.push_back(e.global.value);
    return true;
  };
  REQUIRE(log.search({{"type:turn.queued"}}, position{21}, direction::newest_first, with_raw_lines,
                     collect));
  CHECK(found == std::vector<std::uint64_t>{20, 19, 18, 17, 16, 15, 14, 12, 10, 8, 6, 4, 2});
  found.clear();
  REQUIRE(log.search({}, position{6}, direction::newest_first, with_raw_lines, collect));
  CHECK(found == std::vector<std::uint64_t>{6, 4, 2});

  // Again, and farther: what is done already is no error.
  CHECK(log.remove(trim(stream, 4))->events == 0);
  CHECK(append(log, "a", "{}").has_value());
  CHECK_FALSE(verified(log).first_bad);
}

SCENARIO("a removal that cannot be is refused and changes nothing") {
  const auto in_memory = GENERATE(false, true);
  stored_log stored;
  const auto memory = make_memory_log();
  auto& log = in_memory ? *memory : *stored.log;
  fill(log);
  const auto stream = *log.find("a");
  CHECK(log.remove(trim(stream, 10)).error().code == errc::invalid_argument);
  CHECK(log.remove({stream_id{99}, epoch{1}, offset{1}, {}, {}, {}}).error().code
        == errc::not_found);
  CHECK(log.remove({stream.id, epoch{2}, offset{1}, {}, {}, {}}).error().code == errc::fenced);
  CHECK(verified(log).checked == 10);
}

SCENARIO("a trim takes its postings and records along") {
  stored_log stored;
  auto& log = *stored.log;
  auto request = request_for(*log.acquire("a"), {plain("turn.queued", "{}"), plain("x", "{}")});
  request.derived.push_back({table::turns, "record", "of a turn"});
  REQUIRE(append(log, request));
  const auto stream = *log.find("a");
  auto what = trim(stream, 1);
  what.postings.push_back({position{1}, {"type:turn.queued"}});
  what.derived.push_back({table::turns, "record", std::nullopt});
  REQUIRE(log.remove(what));
  CHECK(*log.terms("type:", 10) == std::vector<std::string>{"type:x"});
  CHECK_FALSE(log.get(table::turns, "record")->has_value());
}

SCENARIO("a trim survives the end of the process, also one of all that the newest commit holds") {
  stored_log stored;
  fill(*stored.log);
  tell(*stored.log, "a", note_of(removal_kind::turns, 1, 8));
  REQUIRE(stored.log->remove(trim(*stored.log->find("a"), 8)));
  stored.reopen();
  CHECK(stored.log->find("a")->trimmed == offset{8});
  CHECK(verified(*stored.log).checked == 3);
  CHECK_FALSE(verified(*stored.log).first_bad);
  CHECK(append(*stored.log, "a", "{}").has_value());
}

SCENARIO("an event that was altered after a trim is found, and so is another anchor") {
  stored_log stored;
  fill(*stored.log);
  tell(*stored.log, "a", note_of(removal_kind::turns, 1, 5));
  const auto stream = *stored.log->find("a");
  REQUIRE(stored.log->remove(trim(stream, 5)));

  WHEN("the first event that is left says something else") {
    stored.log.reset();
    alter_event(stored.directory.path(), stream.id, offset{6},
                [](auto& e) { e.data = "{\"item\":\"never happened\"}"; });
    stored.reopen();
    CHECK(verified(*stored.log).first_bad == offset{6});
  }
  WHEN("more was removed than was told") {
    stored.log.reset();
    tamper(stored.directory.path(), "streams", [&](auto& db, auto* streams) {
      auto info = stream;
      info.trimmed = offset{6};
      info.trimmed_hash = digest{};
      REQUIRE(db.Put({}, streams, keys::stream_key("a", epoch{1}), records::encode(info)).ok());
    });
    stored.reopen();
    CHECK(verified(*stored.log).first_bad == offset{7});
  }
}

SCENARIO("a front that is gone without an event that tells of it is found") {
  stored_log stored;
  fill(*stored.log);
  REQUIRE(stored.log->remove(trim(*stored.log->find("a"), 5))); // the hashes are as they should be
  const auto report = verified(*stored.log);
  CHECK(report.first_bad == offset{6});
  CHECK(report.problem.find("no event tells") != std::string::npos);
}

SCENARIO("a removal that was told and not carried out, or in part, breaks nothing") {
  stored_log stored;
  fill(*stored.log);
  tell(*stored.log, "a", note_of(removal_kind::turns, 1, 8));
  CHECK_FALSE(verified(*stored.log).first_bad);
  const auto stream = *stored.log->find("a");
  REQUIRE(stored.log->remove(trim(stream, 3)));
  stored.reopen();
  CHECK_FALSE(verified(*stored.log).first_bad);
  CHECK(stored.log->remove(trim(stream, 8))->events == 5);
  CHECK_FALSE(verified(*stored.log).first_bad);
}

SCENARIO("emptied deltas keep their places, and the chain goes on over them") {
  const auto in_memory = GENERATE(false, true);
  CAPTURE(in_memory);
  stored_log stored;
  const auto memory = make_memory_log();
  auto& log = in_memory ? *memory : *stored.log;
  fill(log);
  tell(log, "a", note_of(removal_kind::deltas, 4, 7));
  const auto stream = *log.find("a");
  CHECK(log.remove(empty(stream, 4, 7))->emptied == 4);
  CHECK(log.remove(empty(stream, 4, 7))->emptied == 0);

  std::uint64_t seen = 0;
  REQUIRE(log.read(stream.id, offset{1}, with_raw_lines, [&](const event_view& e) {
    CHECK(e.at.value == ++seen);
    const auto gone = seen >= 4 && seen <= 7;
    CHECK((e.emptied != nullptr) == gone);
    CHECK((e.data == R"({"item":"i","removed":true,"text":""})") == gone);
    CHECK(e.raw.empty() == gone);
    return true;
  }));
  CHECK(seen == 11);
  const auto report = verified(log);
  CHECK_FALSE(report.first_bad);
  CHECK(report.checked == 11);
  CHECK(report.emptied == 4);

  AND_THEN("a trim goes over them") {
    tell(log, "a", note_of(removal_kind::turns, 1, 5));
    REQUIRE(log.remove(trim(stream, 5)));
    CHECK_FALSE(verified(log).first_bad);
    CHECK(verified(log).emptied == 2);
  }
}

SCENARIO("an empty event is accepted only where its stream says so, and only a delta") {
  stored_log stored;
  fill(*stored.log);
  const auto stream = *stored.log->find("a");

  WHEN("nothing tells of it") {
    stored.log.reset();
    alter_event(stored.directory.path(), stream.id, offset{5}, forge_empty);
    stored.reopen();
    const auto report = verified(*stored.log);
    CHECK(report.first_bad == offset{5});
    CHECK(report.problem.find("no event tells") != std::string::npos);
  }
  WHEN("what is told is another place") {
    tell(*stored.log, "a", note_of(removal_kind::deltas, 4, 4));
    tell(*stored.log, "a", note_of(removal_kind::deltas, 6, 7));
    REQUIRE(stored.log->remove(empty(*stored.log->find("a"), 4, 7)));
    CHECK(verified(*stored.log).first_bad == offset{5});
  }
  WHEN("it is no delta, though its place is told") {
    tell(*stored.log, "a", note_of(removal_kind::deltas, 1, 9));
    stored.log.reset();
    alter_event(stored.directory.path(), stream.id, offset{8}, forge_empty);
    stored.reopen();
    CHECK(verified(*stored.log).first_bad == offset{8});
  }
  WHEN("its type or its hash of the content was made up") {
    tell(*stored.log, "a", note_of(removal_kind::deltas, 4, 7));
    const auto type = GENERATE(true, false);
    stored.log.reset();
    alter_event(stored.directory.path(), stream.id, type ? offset{8} : offset{5}, [&](auto& e) {
      forge_empty(e);
      if (type)
        e.type = emptied_event_type;
      else
        e.emptied = digest{};
    });
    stored.reopen();
    CHECK(verified(*stored.log).first_bad == (type ? offset{8} : offset{5}));
  }
}

SCENARIO("what somebody altered is not made good by emptying it") {
  stored_log stored;
  fill(*stored.log);
  const auto stream = *stored.log->find("a");
  stored.log.reset();
  alter_event(stored.directory.path(), stream.id, offset{5},
              [](auto& e) { e.data = "never happened"; });
  stored.reopen();
  tell(*stored.log, "a", note_of(removal_kind::deltas, 4, 7));
  REQUIRE(stored.log->remove(empty(*stored.log->find("a"), 4, 7)));
  CHECK(verified(*stored.log).first_bad == offset{5});
}

SCENARIO("the long raw line of an event that is emptied counts as it was") {
  temporary_directory directory;
  auto options = options_for(directory.path());
  options.blob_threshold = 10;
  const auto log = open_log(options);
  auto long_one = delta(1);
  long_one.raw = std::make_shared<const std::string>(1000, 'r');
  REQUIRE(append(*log, request_for(*log->acquire("a"), {long_one, plain("x", "{}")})));
  tell(*log, "a", note_of(removal_kind::deltas, 1, 1));
  REQUIRE(log->remove(empty(*log->find("a"), 1, 1)));
  CHECK_FALSE(verified(*log).first_bad);
}

SCENARIO("the file of a long raw line goes with the last event that refers to it") {
  temporary_directory directory;
  auto options = options_for(directory.path());
  options.blob_threshold = 10;
  auto log = open_log(options);
  const auto files = [&] {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator{directory.path() / "blobs"})
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  };
  const auto with_line = [](new_event e, char letter) {
    e.raw = std::make_shared<const std::string>(1000, letter);
    return e;
  };
  const auto a = *log->acquire("a");
  REQUIRE(append(*log, request_for(a, {with_line(plain("x", "{}"), 'a'), with_line(delta(1), 'b'),
                                       with_line(delta(2), 'c'), plain("x", "{}")})));
  const auto b = *log->acquire("b");
  REQUIRE(append(*log, request_for(b, {with_line(plain("x", "{}"), 'a'), plain("x", "{}")})));
  REQUIRE(files() == 3);
  tell(*log, "a", note_of(removal_kind::deltas, 2, 2));
  REQUIRE(log->remove(empty(a, 2, 2)));
  CHECK(files() == 2);
  tell(*log, "a", note_of(removal_kind::turns, 1, 3));
  log.reset();
  log = open_log(options);
  REQUIRE(log->remove(trim(a, 3)));
  CHECK(files() == 1); // "b" has the same line as the first event
  CHECK_FALSE(verified(*log).first_bad);
  CHECK_FALSE(verified(*log, "b").first_bad);
  tell(*log, "b", note_of(removal_kind::turns, 1, 1));
  REQUIRE(log->remove(trim(b, 1)));
  CHECK(files() == 0);
  CHECK(log->figures().bytes_on_disk > 0);
}

SCENARIO("readers beside trims see each event once or hear that it was removed, never damage") {
  stored_log stored;
  auto& log = *stored.log;
  constexpr std::uint64_t count = 2000;
  for (std::uint64_t i = 0; i < count; i += 100) {
    std::vector<new_event> events(100, plain("turn.queued", "{}"));
    REQUIRE(append(log, request_for(*log.acquire("a"), std::move(events))));
  }
  tell(log, "a", note_of(removal_kind::turns, 1, count));
  const auto stream = *log.find("a");
  std::atomic<bool> over = false;
  std::string problem; // of the reader, read after it has ended
  std::thread reader{[&] {
    while (!over && problem.empty()) {
      offset from = log.find("a")->first();
      const auto read = log.read(stream.id, from, with_raw_lines, [&](const event_view& e) {
        if (e.at != from)
          problem = "a hole";
        from = e.at.next();
        return true;
      });
      if (!read && read.error().code != errc::trimmed)
        problem = read.error().describe();
      const auto all =
        log.read_all(position{1}, with_raw_lines, [](const event_view&) { return true; });
      if (!all)
        problem = all.error().describe();
      const auto chain = log.verify(stream.id);
      if (!chain || chain->first_bad)
        problem = chain ? chain->problem : chain.error().describe();
    }
  }};
  bool well = true;
  for (std::uint64_t last = 7; last <= count; last += 7)
    well = well && log.remove(trim(stream, last)).has_value();
  well = well && log.remove(trim(stream, count)).has_value();
  over = true;
  reader.join();
  CHECK(well);
  CHECK(problem == "");
  CHECK_FALSE(verified(log).first_bad);
}
