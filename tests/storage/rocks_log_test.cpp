#include "tests/storage/support.hpp"

#include "storage/instance.hpp"

using namespace tidemark;
using namespace tidemark::testing;

SCENARIO("what was appended is there after a reopen, with dense offsets, positions and hashes") {
  const temporary_directory directory;
  digest head_hash{};
  {
    const auto log = open_log(directory.path());
    const auto a = *log->acquire("a");
    const auto first = append(*log, request_for(a, {event_of("1"), event_of("2", "raw line")}));
    REQUIRE(first.has_value());
    CHECK(first->first == offset{1});
    CHECK(first->last == offset{2});
    CHECK(first->first_global == position{1});
    REQUIRE(append(*log, "b", "3").has_value());
    REQUIRE(append(*log, "a", "4").has_value());
    head_hash = log->find("a")->head_hash;
  }
  const auto log = open_log(directory.path());
  const auto a = *log->find("a");
  CHECK(a.head == offset{3});
  CHECK(a.head_hash == head_hash);
  CHECK(data_of(*log, a.id) == std::vector<std::string>{"1", "2", "4"});
  CHECK(log->figures().head == position{4});
  CHECK(log->streams().size() == 2);
  CHECK(log->verify(a.id)->checked == 3);
  CHECK_FALSE(log->verify(a.id)->first_bad);

  std::vector<std::string> raws;
  REQUIRE(log->read(a.id, offset{2}, {1, 1 << 20, true}, [&](const event_view& e) {
    raws.emplace_back(e.raw);
    CHECK(e.workspace == "a");
    CHECK(e.turn == "turn-1");
    CHECK(e.type == "item.delta");
    CHECK(e.global == position{2});
    return true;
  }));
  CHECK(raws == std::vector<std::string>{"raw line"});
}

SCENARIO("a writer with another head or another epoch is refused and told the facts") {
  const temporary_directory directory;
  const auto log = open_log(directory.path());
  const auto a = *log->acquire("a");
  REQUIRE(append(*log, "a", "1").has_value());

  const auto stale = append(*log, request_for(a, {event_of("x")}));
  REQUIRE_FALSE(stale.has_value());
  CHECK(stale.error().why.code == errc::wrong_offset);
  CHECK(stale.error().head == offset{1});

  auto other_epoch = request_for(*log->find("a"), {event_of("x")});
  other_epoch.incarnation = epoch{7};
  const auto fenced = append(*log, other_epoch);
  REQUIRE_FALSE(fenced.has_value());
  CHECK(fenced.error().why.code == errc::fenced);
  CHECK(fenced.error().incarnation == epoch{1});

  auto unknown = other_epoch;
  unknown.stream = stream_id{99};
  CHECK(append(*log, unknown).error().why.code == errc::not_found);
  CHECK(log->find("nobody").error().code == errc::not_found);
}

SCENARIO("the requests of one commit are judged in order, each against the ones before it") {
  const temporary_directory directory;
  const auto log = open_log(directory.path());
  const auto a = *log->acquire("a");
  auto second = request_for(a, {event_of("2")});
  second.expected = offset{1};
  auto last = request_for(a, {event_of("3")});
  last.expected = offset{2};
  last.ends_stream = true;
  auto late = last;
  late.expected = offset{3};
  const std::vector requests{request_for(a, {event_of("1")}), request_for(a, {event_of("x")}),
                             second, last, late};
  const auto answers = log->commit(requests);
  CHECK(answers[0].has_value());
  REQUIRE_FALSE(answers[1].has_value());
  CHECK(answers[1].error().why.code == errc::wrong_offset);
  CHECK(answers[1].error().head == offset{1});
  CHECK(answers[2].has_value());
  REQUIRE(answers[3].has_value());
  CHECK(answers[3]->first_global == position{3});
  REQUIRE_FALSE(answers[4].has_value());
  CHECK(answers[4].error().why.code == errc::fenced);
  CHECK(data_of(*log, a.id) == std::vector<std::string>{"1", "2", "3"});
}

SCENARIO("a name used again after its end gets a new stream and the next epoch, for ever") {
  const temporary_directory directory;
  stream_info old;
  {
    const auto log = open_log(directory.path());
    auto end = request_for(*log->acquire("a"), {event_of("end")});
    end.ends_stream = true;
    REQUIRE(append(*log, end).has_value());
    old = *log->find("a");
    CHECK(old.ended);
    CHECK(log->acquire("a")->incarnation == epoch{2});
    CHECK(log->streams().at(0).incarnation == epoch{1});
  }
  const auto log = open_log(directory.path());
  CHECK(log->find("a")->incarnation == epoch{1}); // the second incarnation got no event: no trace
  const auto fresh = *log->acquire("a");
  CHECK(fresh.incarnation == epoch{2});
  CHECK(fresh.id > old.id);
  CHECK(fresh.head == offset{0});
  REQUIRE(append(*log, "a", "again").has_value());
  CHECK(data_of(*log, fresh.id) == std::vector<std::string>{"again"});
  CHECK(data_of(*log, old.id) == std::vector<std::string>{"end"});
  CHECK(log->streams().size() == 1);
  CHECK(log->streams().at(0).incarnation == epoch{2});
}

SCENARIO("bounded reads say where to go on, over one stream and over all") {
  const temporary_directory directory;
  const auto log = open_log(directory.path());
  for (int i = 1; i <= 10; ++i)
    REQUIRE(append(*log, i % 2 ? "odd" : "even", std::to_string(i)).has_value());
  const auto odd = *log->find("odd");
  const auto nothing = [](const event_view&) { return true; };

  CHECK(log->read(odd.id, offset{1}, {2, 1 << 20, false}, nothing)->next == offset{3});
  CHECK(log->read(odd.id, offset{1}, {100, 1, false}, nothing)->next == offset{2});
  CHECK(log->read(odd.id, offset{4}, {}, nothing)->reached_head);
  CHECK(log->read(odd.id, offset{6}, {}, nothing)->events == 0);
  CHECK(log->read(odd.id, offset{1}, {}, [](const event_view&) { return false; })->next
        == offset{2});
  CHECK(log->read(stream_id{99}, offset{1}, {}, nothing).error().code == errc::not_found);

  std::vector<std::string> seen;
  position next{1};
  for (bool at_head = false; !at_head;) {
    const auto done = log->read_all(next, {3, 1 << 20, false}, [&](const event_view& e) {
      CHECK(e.global == position{seen.size() + 1});
      seen.emplace_back(e.data);
      return true;
    });
    REQUIRE(done.has_value());
    next = done->next;
    at_head = done->reached_head;
  }
  CHECK(seen == std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"});
}

SCENARIO("a visitor that stops at the end of a run is not called again") {
  const temporary_directory directory;
  const auto log = open_log(directory.path());
  const std::vector requests{request_for(*log->acquire("a"), {event_of("1"), event_of("2")}),
                             request_for(*log->acquire("b"), {event_of("3")})};
  log->commit(requests);
  int calls = 0;
  const auto done = log->read_all(position{1}, {}, [&](const event_view& e) {
    ++calls;
    return e.data != "2";
  });
  CHECK(calls == 2);
  CHECK(done->next == position{3});
  CHECK(log->read_all(position{2}, {}, [](const event_view&) { return true; })->events == 2);
}

SCENARIO("derived records are written with their events and found by key and prefix") {
  const temporary_directory directory;
  {
    const auto log = open_log(directory.path());
    auto request = request_for(*log->acquire("a"), {event_of("1")});
    request.derived = {{table::turns, "a/1", "one"},
                       {table::turns, "a/2", "two"},
                       {table::turns, "b/1", "other"},
                       {table::meta, "a/1", "meta"},
                       {table::meta, "gone", "soon"}};
    REQUIRE(append(*log, request).has_value());
    auto refused = request; // a stale offset: its records must not be written either
    refused.derived = {{table::turns, "a/3", "three"}};
    REQUIRE_FALSE(append(*log, refused).has_value());
    auto only_records = request_for(*log->find("a"), {});
    only_records.derived = {{table::meta, "gone", std::nullopt}};
    REQUIRE(append(*log, only_records).has_value());
  }
  const auto log = open_log(directory.path());
  const auto values = [&](table in, std::string_view prefix, bool descending) {
    std::vector<std::string> found;
    REQUIRE(log->scan(in, prefix, descending, [&](std::string_view, std::string_view value) {
      found.emplace_back(value);
      return true;
    }));
    return found;
  };
  CHECK(values(table::turns, "a/", false) == std::vector<std::string>{"one", "two"});
  CHECK(values(table::turns, "a/", true) == std::vector<std::string>{"two", "one"});
  CHECK(values(table::turns, "", true) == std::vector<std::string>{"other", "two", "one"});
  CHECK(values(table::meta, "", false) == std::vector<std::string>{"meta"});
  CHECK(*log->get(table::meta, "a/1") == "meta");
  CHECK(*log->get(table::meta, "gone") == std::nullopt);
}

SCENARIO("a long raw line goes to a file of its own and comes back byte for byte") {
  const temporary_directory directory;
  auto options = options_for(directory.path());
  options.blob_threshold = 1000;
  const std::string line(5000, 'x');
  {
    const auto log = open_log(options);
    REQUIRE(append(*log, "a", "1", line).has_value());
    REQUIRE(append(*log, "a", "2", line).has_value());
    REQUIRE(append(*log, "a", "3", std::string(1000, 'y')).has_value());
  }
  std::vector<std::filesystem::path> blobs;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator{directory.path() / "blobs"})
    if (entry.is_regular_file())
      blobs.push_back(entry.path());
  REQUIRE(blobs.size() == 1); // equal lines share it; the third stayed in its record

  const auto log = open_log(options);
  const auto a = *log->find("a");
  std::vector<std::size_t> sizes;
  REQUIRE(log->read(a.id, offset{1}, {10, 1 << 20, true}, [&](const event_view& e) {
    sizes.push_back(e.raw.size());
    return true;
  }));
  CHECK(sizes == std::vector<std::size_t>{5000, 5000, 1000});
  CHECK(log->verify(a.id)->checked == 3);

  auto content = slurp(blobs[0]);
  content[17] = 'z';
  overwrite(blobs[0], content);
  const auto damaged =
    log->read(a.id, offset{1}, {10, 1 << 20, true}, [](const event_view&) { return true; });
  REQUIRE_FALSE(damaged.has_value());
  CHECK(damaged.error().code == errc::corrupt);
  CHECK(log->verify(a.id)->first_bad == offset{1});
  CHECK(data_of(*log, a.id).size() == 3); // without the raw line nothing is wrong
}

SCENARIO("what a commit cost is reported, the sync apart") {
  const temporary_directory directory;
  auto options = options_for(directory.path());
  commit_figures seen;
  options.on_commit = [&](const commit_figures& cost) { seen = cost; };
  const auto log = open_log(options);
  REQUIRE(
    append(*log, request_for(*log->acquire("a"), {event_of("12"), event_of("345")})).has_value());
  CHECK(seen.requests == 1);
  CHECK(seen.events == 2);
  CHECK(seen.bytes == 5);
  CHECK(seen.sync.count() > 0);
  CHECK(seen.write >= seen.sync);
  CHECK(log->figures().wal_bytes > 0);
  CHECK(log->figures().bytes_on_disk > log->figures().wal_bytes);
}

SCENARIO("a log opened to be read only shows everything and takes nothing") {
  const temporary_directory directory;
  auto options = options_for(directory.path());
  {
    auto reading = options;
    reading.read_only = true;
    CHECK(refusal_to_open(reading).code == errc::not_found);
  }
  const auto writer = open_log(options);
  REQUIRE(append(*writer, "a", "1").has_value());
  options.read_only = true;
  const auto reader = open_log(options);
  CHECK(data_of(*reader, reader->find("a")->id) == std::vector<std::string>{"1"});
  CHECK(append(*reader, "a", "2").error().why.code == errc::unavailable);
  CHECK_FALSE(reader->health().accepting);
}

SCENARIO("an event over the limit is refused alone") {
  const temporary_directory directory;
  const auto log = open_log(directory.path());
  const auto huge = append(*log, "a", std::string(event_log::max_event_bytes + 1, 'x'));
  REQUIRE_FALSE(huge.has_value());
  CHECK(huge.error().why.code == errc::too_large);
  CHECK(append(*log, "a", "small").has_value());
}

SCENARIO("a data directory keeps the id that marks its processes") {
  const temporary_directory directory;
  const auto fresh = load_or_create_instance(directory.path() / "data");
  REQUIRE(fresh.has_value());
  CHECK(fresh->size() == 36);
  CHECK(*load_or_create_instance(directory.path() / "data") == *fresh);
  CHECK(open_log(directory.path() / "data")->streams().empty()); // the file is no foreign content
  overwrite(directory.path() / "data" / "instance", "rubbish");
  CHECK(load_or_create_instance(directory.path() / "data").error().code == errc::corrupt);
}

SCENARIO(
  "neighbour of B69: a damaged file is written anew when an event says the same line again") {
  const temporary_directory directory;
  auto options = options_for(directory.path());
  options.blob_threshold = 1000;
  const auto log = open_log(options);
  const std::string line(5000, 'x');
  REQUIRE(append(*log, "a", "1", line).has_value());
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator{directory.path() / "blobs"})
    if (entry.is_regular_file())
      overwrite(entry.path(), std::string(5000, 'y'));
  REQUIRE(append(*log, "b", "1", line).has_value());
  for (const auto* stream : {"a", "b"})
    CHECK_FALSE(log->verify(log->find(stream)->id)->first_bad);
}
