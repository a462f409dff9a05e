#include "metrics/instruments.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

using namespace tidemark;

namespace {

std::size_t series(const std::string& exposition) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < exposition.size(); at = exposition.find('\n', at) + 1)
    count += exposition[at] != '#';
  return count;
}

} // namespace

SCENARIO("series with closed label sets exist from the first scrape") {
  const instruments metrics{"1.2.3"};
  const auto page = metrics.expose();
  for (auto expected :
       {"tidemark_build_info{version=\"1.2.3\"} 1", "tidemark_turns_total{outcome=\"failed\"} 0",
        "tidemark_log_accepting 1", "tidemark_agent_turn_starts_total{start=\"warm\"} 0",
        "process_resident_memory_bytes", "tidemark_gaps_total{reason=\"epoch\"} 0"})
    CHECK(page.find(expected) != std::string::npos);
}

SCENARIO("no input makes the number of series grow without bound") {
  instruments metrics{"1"};
  metrics.usage("a-model", 1, 2, 3, 4, 0.5);
  metrics.http_request("GET", "/x", 200, instruments::seconds{0.1});
  for (int i = 0; i < 1000; ++i) {
    const auto odd = "odd\"\\\n" + std::to_string(i);
    metrics.usage("m" + odd, 1, 1, 1, 1, 1);
    metrics.http_limit_hit(odd);
    metrics.turn_ended(odd, instruments::seconds{1});
    metrics.http_request(odd, "unmatched", 404, instruments::seconds{0});
    metrics.permission(odd, odd);
    metrics.fault(odd);
    metrics.agent_killed(odd);
  }
  CHECK(series(metrics.expose()) < 500);
}

SCENARIO("usage never goes down, whatever an agent claims") {
  instruments metrics{"1"};
  metrics.usage("m", 5, 0, 0, 0, 1.5);
  metrics.usage("m", -7, 0, 0, 0, -3);
  const auto page = metrics.expose();
  CHECK(page.find("tidemark_tokens_total{kind=\"input\",model=\"m\"} 5") != std::string::npos);
  CHECK(page.find("tidemark_cost_usd_total{model=\"m\"} 1.5") != std::string::npos);
}

SCENARIO("the log's figures are read at each scrape") {
  instruments metrics{"1"};
  metrics.observe_log([] { return instruments::log_gauges{11, 12, 13, 14, 15}; });
  const auto page = metrics.expose();
  CHECK(page.find("tidemark_log_size_bytes 11") != std::string::npos);
  CHECK(page.find("tidemark_log_head_position 14") != std::string::npos);
}

SCENARIO("the consumers furthest behind are shown, as they are at the scrape") {
  instruments metrics{"1"};
  std::vector<instruments::consumer_lag> lags{{"w", "slow", 900}, {"w", "fast", 1}};
  for (std::uint64_t i = 0; i < instruments::max_consumer_series; ++i)
    lags.push_back({"many", "c" + std::to_string(i), 5 + i % 3});
  metrics.observe_consumers([&] { return lags; });
  auto page = metrics.expose();
  CHECK(page.find("tidemark_consumers 1002") != std::string::npos);
  CHECK(page.find("tidemark_consumer_lag{consumer=\"slow\",workspace=\"w\"} 900")
        != std::string::npos);
  CHECK(page.find("consumer=\"fast\"") == std::string::npos);
  lags = {{"w", "fast", 3}};
  page = metrics.expose();
  CHECK(page.find("tidemark_consumer_lag{consumer=\"fast\",workspace=\"w\"} 3")
        != std::string::npos);
  CHECK(page.find("consumer=\"slow\"") == std::string::npos);
}

SCENARIO("every metric has its row in the operator's page") {
  std::ifstream page{TIDEMARK_SOURCE_DIR "/docs/operations.md"};
  const std::string documented{std::istreambuf_iterator<char>{page}, {}};
  std::istringstream exposition{instruments{"1"}.expose()};
  // Families without a series yet are not exposed; these are all the others.
  for (std::string line; std::getline(exposition, line);) {
    if (!line.starts_with("# HELP "))
      continue;
    const auto name = line.substr(7, line.find(' ', 7) - 7);
    INFO(name);
    CHECK(documented.find("| `" + name + "` |") != std::string::npos);
  }
}

SCENARIO("neighbour of B75: a model's name of any length is a label of bounded length") {
  instruments metrics{"1"};
  for (int i = 0; i < 3; ++i)
    metrics.usage(std::string(1'000'000, 'm') + std::to_string(i), 1, 0, 0, 0, 0);
  metrics.usage(std::string(99, 'n') + "\xe5\xad\x97", 1, 0, 0, 0, 0);
  CHECK(metrics.expose().size() < 50'000);
}
