#include "agents/demo_arguments.hpp"
#include "agents/demo_script.hpp"
#include "agents/demo_session.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tidemark;

SCENARIO("a prompt without a known word is answered with a short text") {
  const auto steps = parse_demo_script("please say something\nand TOOL is not first here");
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].word == demo_word::answer);
}

SCENARIO("each line that begins with a word is one step, in order") {
  const auto steps =
    parse_demo_script("STDERR 70000\nsome talk\n  TOOL echo 'a b' > c\r\nWORDS 5 20\nSIGNAL");
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].word == demo_word::stderr_bytes);
  CHECK(steps[0].number == 70000);
  CHECK(steps[1].word == demo_word::tool);
  CHECK(steps[1].text == "echo 'a b' > c");
  CHECK(steps[2].number == 5);
  CHECK(steps[2].second == 20);
  CHECK(steps[3].number == 9);
}

SCENARIO("digits in a replayed file's name are not its pause") {
  const auto steps = parse_demo_script("REPLAY /tmp/02_sample.jsonl 15");
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].number == 15);
}

SCENARIO("the demo agent takes the command line that Claude Code is started with") {
  const auto given =
    parse_demo_arguments({"-p", "--input-format", "stream-json", "--output-format", "stream-json",
                          "--verbose", "--include-partial-messages", "--permission-prompt-tool",
                          "stdio", "--resume", "some-id", "--tools", "Read,Bash,Nonsense",
                          "--disallowedTools", "Bash,Unheard", "--setting-sources", "user"});
  REQUIRE(given);
  CHECK(given->stream_input);
  CHECK(given->asks_on_stdio);
  CHECK(given->resume == "some-id");
  CHECK_FALSE(given->project_settings);
  CHECK(offered_tools(*given) == std::vector<std::string>{"Read"});
  CHECK(unknown_disallowed(*given) == std::vector<std::string>{"Unheard"});
}

SCENARIO("some tools are offered only to who asks for them by name") {
  const auto plain = parse_demo_arguments({"-p"});
  const auto tools = offered_tools(*plain);
  CHECK(std::count(tools.begin(), tools.end(), "Glob") == 0);
  CHECK(std::count(tools.begin(), tools.end(), "Bash") == 1);
}

SCENARIO("an option that the CLI does not have is refused in its words") {
  CHECK(parse_demo_arguments({"--nonsense"}).error().message
        == "error: unknown option '--nonsense'");
  CHECK_FALSE(parse_demo_arguments({"--resume"}));
}

SCENARIO("a working directory becomes a directory name as the CLI makes it") {
  CHECK(demo_project_slug("/srv/ws/a_b.c") == "-srv-ws-a-b-c");
  CHECK(demo_project_slug(std::string(300, 'x')).size() > 200);
}
