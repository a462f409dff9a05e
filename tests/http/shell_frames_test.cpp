#include "http/shell_frames.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace tidemark;

namespace {

std::string refusal(std::string_view body) {
  const auto parsed = parse_shell_request(body);
  return parsed ? "" : parsed.error().message;
}

std::string complaint(std::string_view message) {
  const auto parsed = parse_shell_message(message);
  return parsed ? "" : parsed.error().message;
}

json parsed(const std::string& frame) {
  return parse_json(frame).value();
}

} // namespace

SCENARIO("contract, Shell: everything of a request for a shell has a default") {
  for (const auto* body :
       {"", "{}", R"({"workspace_id":null,"argv":null,"rows":null,"cols":null,"extra":1})"}) {
    const auto request = parse_shell_request(body);
    REQUIRE(request);
    CHECK(request->workspace == "default");
    CHECK(request->argv == std::vector<std::string>{"/bin/bash", "-l"});
    CHECK(request->size == terminal_size{24, 80});
  }
  const auto request =
    parse_shell_request(R"({"workspace_id":"demo","argv":["vi","a b"],"rows":1,"cols":10000})");
  REQUIRE(request);
  CHECK(request->workspace == "demo");
  CHECK(request->argv == std::vector<std::string>{"vi", "a b"});
  CHECK(request->size == terminal_size{1, 10'000});
}

SCENARIO("contract, Shell: a bad request is refused with what is wrong about it") {
  CHECK(refusal("[]").find("object") != std::string::npos);
  CHECK(refusal("{").find("JSON") != std::string::npos);
  CHECK(refusal(R"({"workspace_id":"../x"})").find("workspace") != std::string::npos);
  CHECK(refusal(R"({"workspace_id":7})").find("workspace_id") != std::string::npos);
  for (const auto* argv : {"[]", "\"bash\"", "[7]", "[\"\"]", "[\"a\\u0000b\"]", "{}"})
    CHECK(refusal(std::string{R"({"argv":)"} + argv + "}").find("argv") != std::string::npos);
  CHECK(refusal(R"({"argv":["x",")" + std::string(200'000, 'a') + "\"]}").find("too long")
        != std::string::npos);
  for (const auto* rows :
       {"0", "-1", "70000", "1.5", "\"24\"", "true", "1e3", "99999999999999999999"})
    CHECK(refusal(std::string{R"({"rows":)"} + rows + "}").find("rows") != std::string::npos);
  CHECK(refusal(R"({"cols":0})").find("cols") != std::string::npos);
}

SCENARIO("contract, Shell: a client's messages") {
  const auto input = parse_shell_message(R"({"type":"input","data":"ls\r\u0003"})");
  REQUIRE(input);
  CHECK(std::get<typed_input>(*input).bytes == "ls\r\x03");
  const auto resize = parse_shell_message(R"({"type":"resize","rows":1,"cols":1})");
  REQUIRE(resize);
  CHECK(std::get<terminal_size>(*resize) == terminal_size{1, 1});
  const auto close = parse_shell_message(R"({"type":"close"})");
  REQUIRE(close);
  CHECK(std::holds_alternative<close_request>(*close));
}

SCENARIO("B79: sizes that no terminal has are complaints, and so is everything unknown") {
  for (const auto* size :
       {R"("rows":0,"cols":0)", R"("rows":-1,"cols":5)", R"("rows":70000,"cols":1)", R"("rows":5)",
        R"("cols":5)", R"("rows":"5","cols":5)", R"("rows":18446744073709551615,"cols":5)"}) {
    INFO(size);
    CHECK(!complaint(std::string{R"({"type":"resize",)"} + size + "}").empty());
  }
  for (const auto* message :
       {"", "{", "null", "7", "\"input\"", "[]", "{}", R"({"type":7})", R"({"type":"shout"})",
        R"({"type":"input"})", R"({"type":"input","data":7})"}) {
    INFO(message);
    CHECK(!complaint(message).empty());
  }
}

SCENARIO("contract, Shell: what a client hears is one line, whatever the shell shows") {
  CHECK(parsed(ready_frame("s1")) == json({{"type", "ready"}, {"id", "s1"}}));
  const auto frame = output_frame({"a\xC2\x85 \xE2\x80\xA8 \xE2\x80\xA9\r\n\x1b[0m", 0, {}});
  CHECK(frame.find("\\u0085") != std::string::npos);
  CHECK(frame.find("\\u2028") != std::string::npos);
  CHECK(frame.find("\\u2029") != std::string::npos);
  CHECK(frame.find_first_of("\r\n\x1b") == std::string::npos);
  CHECK(string_or(parsed(frame), "data") == "a\xC2\x85 \xE2\x80\xA8 \xE2\x80\xA9\r\n\x1b[0m");
  CHECK_FALSE(parsed(frame).contains("cut"));
  CHECK(string_or(parsed(error_frame("no \"x\"")), "message") == "no \"x\"");
}

SCENARIO("B78: what is lost to a client is marked in what it reads") {
  const auto frame = parsed(output_frame({"rest", 1234, {}}));
  CHECK(int_or(frame, "cut", 0) == 1234);
  CHECK(string_or(frame, "data").find("1234 bytes") != std::string::npos);
  CHECK(string_or(frame, "data").ends_with("rest"));
}

SCENARIO("contract, Shell: the end says how") {
  auto frame = parsed(exit_frame({{3, 0}, "program"}));
  CHECK(string_or(frame, "type") == "exit");
  CHECK(int_or(frame, "code", -1) == 3);
  CHECK(frame["signal"].is_null());
  CHECK(string_or(frame, "reason") == "program");
  frame = parsed(exit_frame({{-1, 9}, "client"}));
  CHECK(frame["code"].is_null());
  CHECK(int_or(frame, "signal", 0) == 9);
}
