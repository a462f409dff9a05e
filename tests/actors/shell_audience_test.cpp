#include "actors/shell_audience.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

const terminal_size initial{24, 80};
const terminal_size wide{30, 200};
const terminal_size small{10, 40};

} // namespace

SCENARIO("B79: the size is that of the last resize, and a vanished client's size is released") {
  shell_audience clients{initial};
  CHECK(clients.size() == initial);
  const auto first = clients.enter({}, true);
  const auto second = clients.enter({}, true);
  CHECK(clients.resize(first, wide));
  CHECK(clients.size() == wide);
  CHECK(clients.resize(second, small));
  CHECK(clients.size() == small);
  WHEN("the one with the newest size leaves") {
    clients.leave(second);
    CHECK(clients.size() == wide);
    clients.leave(first);
    CHECK(clients.size() == wide); // nobody is there to mind
  }
  WHEN("the other one leaves") {
    clients.leave(first);
    CHECK(clients.size() == small);
  }
  WHEN("only one that never asked for a size is left") {
    const auto third = clients.enter({}, true);
    clients.leave(first);
    clients.leave(second);
    CHECK(clients.size() == initial);
    CHECK_FALSE(clients.resize(second, wide));
    CHECK(clients.size() == initial);
    CHECK(clients.leave(third));
  }
}

SCENARIO("the pace is that of the client that has read most") {
  shell_audience clients{initial};
  CHECK_FALSE(clients.foremost());
  const auto slow = clients.enter({}, true);
  const auto fast = clients.enter({}, true);
  clients.move(slow, 10, false);
  clients.move(fast, 500, false);
  CHECK(clients.foremost() == 500u);
  CHECK(*clients.place_of(slow) == 10);
  clients.leave(fast);
  CHECK(clients.foremost() == 10u);
  CHECK(clients.place_of(fast) == nullptr);
  CHECK_FALSE(clients.leave(fast));
}

SCENARIO("who missed something sets the pace no more, unless all did") {
  shell_audience clients{initial};
  const auto slow = clients.enter({}, true);
  const auto fast = clients.enter({}, true);
  clients.move(fast, 400, false);
  clients.mark_cut(slow);
  clients.move(slow, 500, false); // its socket had room for more at once
  CHECK(clients.foremost() == 400u);
  clients.mark_cut(fast);
  CHECK(clients.foremost() == 500u);
  clients.enter({}, true);
  CHECK(clients.foremost() == 0u);
  clients.leave(fast);
  clients.mark_cut(fast); // it is not here any more
}

SCENARIO("a client is woken once for all that came while it slept") {
  shell_audience clients{initial};
  int woken = 0;
  const auto reader = clients.enter([&] { ++woken; }, true);
  clients.wake();
  CHECK(woken == 0);
  clients.move(reader, 1, true);
  clients.wake();
  clients.wake();
  CHECK(woken == 1);
}

SCENARIO("contract, Shell: a shell outlives its last client only if that one wanted it") {
  shell_audience clients{initial};
  CHECK(clients.is_kept()); // opened, and its client is on its way
  const auto keeping = clients.enter({}, true);
  const auto plain = clients.enter({}, false);
  WHEN("the plain one leaves last") {
    clients.leave(keeping);
    clients.leave(plain);
    CHECK_FALSE(clients.is_kept());
  }
  WHEN("the keeping one leaves last") {
    clients.leave(plain);
    clients.leave(keeping);
    CHECK(clients.is_kept());
  }
  CHECK(clients.empty());
}
