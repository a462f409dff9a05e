// The calls of consumers, and events from where a consumer is.
#include "actors/commands.hpp"
#include "base/json.hpp"
#include "server_fixture.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

constexpr auto consumer_path = "/api/v1/workspaces/w/consumers/audit";

consumer sample(std::uint64_t incarnation, std::uint64_t at) {
  consumer who;
  who.name = "audit";
  who.incarnation = epoch{incarnation};
  who.at = offset{at};
  who.by = "ci";
  return who;
}

void store(server_fixture& server, const stream_info& stream, const consumer& who) {
  append_request request;
  request.stream = stream.id;
  request.incarnation = stream.incarnation;
  request.expected = stream.head;
  request.derived.push_back(
    {table::meta, record_key::consumer(stream.name, who.name), to_record(who, stream.name)});
  const auto written = server.log.commit(std::vector{request});
  REQUIRE(written.at(0));
}

json parsed(const std::string& response) {
  return parse_json(body_of(response)).value();
}

} // namespace

SCENARIO("a consumer's calls become commands of its workspace") {
  std::vector<command> seen;
  const auto answer_all = [&](const std::string& workspace, bool create,
                              const command& what) -> expected<answer> {
    CHECK(workspace == "w");
    CHECK_FALSE(create);
    seen.push_back(what);
    if (std::holds_alternative<delete_consumer>(what))
      return done{};
    consumer_reply reply;
    reply.now = sample(3, 40);
    reply.stream.name = "w";
    reply.stream.incarnation = epoch{3};
    reply.stream.head = offset{42};
    reply.created = std::holds_alternative<put_consumer>(what);
    return reply;
  };
  server_fixture server{{}, answer_all};
  const std::string type = "Content-Type: application/json\r\n";
  auto response = server.request("PUT", consumer_path, R"({"from":"head"})", type);
  CHECK(status_of(response) == 201);
  const auto body = parsed(response);
  CHECK(string_or(body, "cursor") == "3-40");
  CHECK(int_or(body, "lag", -1) == 2);
  CHECK(int_or(body, "head", -1) == 42);
  response =
    server.request("POST", std::string{consumer_path} + "/ack", R"({"offset":"3-40"})", type);
  CHECK(status_of(response) == 200);
  response = server.request("POST", std::string{consumer_path} + "/ack", R"({"offset":40})", type);
  CHECK(status_of(response) == 200);
  response = server.request("DELETE", consumer_path, "");
  CHECK(status_of(response) == 204);
  REQUIRE(seen.size() == 4);
  CHECK(std::get<put_consumer>(seen[0]).from.where == start_at::head);
  CHECK(std::get<put_consumer>(seen[0]).by == "client");
  CHECK(std::get<ack_consumer>(seen[1]).upto.str() == "3-40");
  CHECK(std::get<ack_consumer>(seen[2]).upto.str() == "40");
  CHECK(std::get<delete_consumer>(seen[3]).name == "audit");
}

SCENARIO("what is no consumer, no place or no object is refused before the workspace hears of it") {
  server_fixture server{{}, [](const std::string&, bool, const command&) -> expected<answer> {
                          FAIL("asked");
                          return done{};
                        }};
  const std::string type = "Content-Type: application/json\r\n";
  const std::string below = "/api/v1/workspaces/w/consumers/";
  CHECK(status_of(server.request("PUT", below + ".hidden", "{}", type)) == 400);
  CHECK(status_of(server.request("PUT", below + "a%2Fb", "{}", type)) == 400);
  CHECK(status_of(server.request("PUT", below + "a", R"({"from":"middle"})", type)) == 400);
  CHECK(status_of(server.request("PUT", below + "a", "[]", type)) == 400);
  CHECK(status_of(server.request("POST", below + "a/ack", "{}", type)) == 400);
  CHECK(status_of(server.request("POST", below + "a/ack", R"({"offset":-1})", type)) == 400);
}

SCENARIO("a consumer's events start behind what it has acknowledged, unless a cursor is given") {
  server_fixture server;
  const auto stream = server.append("w", 5);
  store(server, stream, sample(1, 3));
  const std::string events = "/api/v1/workspaces/w/events?consumer=audit";
  auto page = parsed(server.get(events));
  REQUIRE(array_at(page, "events").size() == 2);
  CHECK(int_or(array_at(page, "events").at(0), "offset", 0) == 4);
  page = parsed(server.get(events + "&after=1"));
  CHECK(array_at(page, "events").size() == 4);
  page = parsed(server.get(events, "Last-Event-ID: 1-4\r\n"));
  CHECK(array_at(page, "events").size() == 1);
  CHECK(status_of(server.get("/api/v1/workspaces/w/events?consumer=nobody")) == 404);
  CHECK(status_of(server.get("/api/v1/workspaces/w/events?consumer=.x")) == 400);
}

SCENARIO("a consumer of another epoch hears of the gap") {
  server_fixture server;
  const auto stream = server.append("w", 2);
  store(server, stream, sample(7, 1));
  const auto response = server.get("/api/v1/workspaces/w/events?consumer=audit");
  CHECK(status_of(response) == 409);
  CHECK(string_or(parsed(response), "code") == "epoch");
}

SCENARIO("consumers are read from the log with their lag") {
  server_fixture server;
  const auto stream = server.append("w", 5);
  CHECK(status_of(server.get(consumer_path)) == 404);
  store(server, stream, sample(1, 3));
  CHECK(int_or(parsed(server.get(consumer_path)), "lag", -1) == 2);
  const auto all = parsed(server.get("/api/v1/workspaces/w/consumers"));
  REQUIRE(array_at(all, "consumers").size() == 1);
  CHECK(string_or(array_at(all, "consumers").at(0), "name") == "audit");
  CHECK(status_of(server.get("/api/v1/workspaces/nobody/consumers")) == 404);
}

SCENARIO("a webhook that is none is 404, and the server goes on") {
  server_fixture server;
  const auto stream = server.append("w", 5);
  store(server, stream, sample(1, 3));
  for (const std::string name : {"nope", "audit"})
    CHECK(status_of(server.get("/api/v1/workspaces/w/webhooks/" + name)) == 404);
  CHECK(status_of(server.get("/health")) == 200);
}
