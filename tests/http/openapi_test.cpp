// docs/openapi.yaml against what the server really has.
#include "base/json.hpp"
#include "http/openapi.hpp"
#include "http/router.hpp"
#include "server_fixture.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace {

using namespace tidemark;

json described() {
  auto document = parse_json(openapi_document());
  REQUIRE(document);
  return std::move(*document);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return text;
}

/// The scope that the operation asks of a token; `none` if it asks for no token.
std::string scope_in(const json& document, const json& operation) {
  const auto& wanted =
    operation.contains("security") ? operation["security"] : document["security"];
  return wanted.empty() ? "none" : wanted.at(0).at("bearer").at(0).get<std::string>();
}

std::string line(std::string_view method, std::string_view path, std::string_view scope,
                 bool websocket) {
  return fmt::format("{} {} scope {}{}", method, path, scope, websocket ? " websocket" : "");
}

/// Every `$ref` below `node` that leads nowhere in `document`.
void find_broken(const json& document, const json& node, std::set<std::string>& broken) {
  if (node.is_object() && node.contains("$ref") && node["$ref"].is_string()) {
    const auto to = node["$ref"].get<std::string>();
    if (!to.starts_with("#/") || !document.contains(json::json_pointer{to.substr(1)}))
      broken.insert(to);
  }
  if (node.is_structured())
    for (const auto& each : node)
      find_broken(document, each, broken);
}

} // namespace

SCENARIO(
  "the description of the calls names every route with its scope, and none that is not there") {
  const auto document = described();
  std::set<std::string> written;
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items())
      if (method != "parameters")
        written.insert(line(upper(method), path, scope_in(document, operation),
                            operation["responses"].contains("101")));
  router routes;
  add_all_routes(routes);
  std::set<std::string> served;
  for (const auto& each : routes.entries())
    served.insert(line(each.method, each.path_template, to_string(each.needed), each.websocket));
  CHECK(written == served);
}

SCENARIO("the description of the calls is of this version, and whole") {
  const auto document = described();
  CHECK(string_or(document, "openapi") == "3.1.0");
  CHECK(string_or(object_at(document, "info"), "version") == TIDEMARK_VERSION);
  std::set<std::string> broken;
  find_broken(document, document, broken);
  CHECK(broken == std::set<std::string>{});
  std::set<std::string> ids;
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      if (method == "parameters")
        continue;
      INFO(method << ' ' << path);
      CHECK(ids.insert(string_or(operation, "operationId")).second);
      CHECK_FALSE(string_or(operation, "summary").empty());
    }
}

SCENARIO("every native call refuses a member of its body that it does not know, and says which") {
  const auto document = described();
  // The drop-in contract: clients of it send more than is read.
  const std::set<std::string> lenient{"sendMessage", "streamMessage", "acknowledgeResults",
                                      "putProvider", "openShell"};
  testing::server_fixture server;
  server.append("w", 1);
  std::set<std::string> seen;
  for (const auto& [path, methods] : document["paths"].items())
    for (const auto& [method, operation] : methods.items()) {
      if (method == "parameters" || !operation.contains("requestBody"))
        continue;
      const auto id = string_or(operation, "operationId");
      INFO(id);
      if (lenient.contains(id)) {
        seen.insert(id);
        continue;
      }
      auto target = path;
      for (auto open = target.find('{'); open != target.npos; open = target.find('{'))
        target.replace(open, target.find('}') - open + 1, "w");
      const auto answer = server.request(upper(method), target, R"({"no_such_member":1})",
                                         "Content-Type: application/json\r\n");
      CHECK(testing::status_of(answer) == 400);
      CHECK(testing::body_of(answer).find("no_such_member") != std::string::npos);
      const auto& schema = operation["requestBody"]["content"]["application/json"]["schema"];
      const auto where = string_or(schema, "$ref");
      REQUIRE(where.starts_with("#/"));
      CHECK_FALSE(
        bool_or(document[json::json_pointer{where.substr(1)}], "additionalProperties", true));
    }
  CHECK(seen == lenient);
}

SCENARIO("the server serves the description of its calls as JSON") {
  testing::server_fixture server;
  const auto response = server.get("/openapi.json");
  CHECK(testing::status_of(response) == 200);
  CHECK(response.find("Content-Type: application/json") != std::string::npos);
  CHECK(testing::body_of(response) == openapi_document());
}
