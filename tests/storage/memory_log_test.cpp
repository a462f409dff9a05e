#include "storage/memory_log.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

append_request appending(const stream_info& stream, std::vector<std::string> bodies) {
  append_request request{stream.id, stream.incarnation, stream.head, {}, {}, false};
  for (auto& body : bodies)
    request.events.push_back({"item.delta", "", timestamp{1}, std::move(body), nullptr});
  return request;
}

} // namespace

SCENARIO("the log in memory gives dense offsets and positions over several streams") {
  memory_log log;
  const auto a = *log.acquire("a");
  const auto b = *log.acquire("b");
  const std::vector requests{appending(a, {"1", "2"}), appending(b, {"3"}), appending(a, {"4"})};
  const auto answers = log.commit(requests);
  REQUIRE(answers[0].has_value());
  CHECK(answers[0]->last == offset{2});
  CHECK(answers[1]->first_global == position{3});
  REQUIRE_FALSE(answers[2].has_value());
  CHECK(answers[2].error().why.code == errc::wrong_offset);
  CHECK(answers[2].error().head == offset{2});

  std::vector<std::string> seen;
  const auto done = log.read_all(position{2}, {}, [&](const event_view& e) {
    seen.emplace_back(e.data);
    return true;
  });
  CHECK(seen == std::vector<std::string>{"2", "3"});
  CHECK(done->next == position{4});
  CHECK(done->reached_head);
  CHECK(log.verify(a.id)->checked == 2);
}

SCENARIO("a log in memory that was told to fail writes nothing, and recovers") {
  memory_log log;
  const auto a = *log.acquire("a");
  const std::vector requests{appending(a, {"1"})};

  log.fail_next(errc::full);
  CHECK(log.commit(requests)[0].error().why.code == errc::full);
  CHECK(log.health().accepting);

  log.fail_next(errc::io);
  CHECK(log.commit(requests)[0].error().why.code == errc::io);
  CHECK(log.commit(requests)[0].error().why.code == errc::io);
  CHECK_FALSE(log.health().accepting);
  CHECK(log.find("a")->head == offset{0});

  CHECK(log.try_recover());
  CHECK(log.commit(requests)[0].has_value());
}
