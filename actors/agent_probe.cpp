#include "actors/agent_probe.hpp"

#include "actors/agent_inquiry.hpp"
#include "base/logging.hpp"

#include <caf/response_promise.hpp>

#include <vector>

namespace tidemark {
namespace {

using done_atom = caf::atom_constant<caf::atom("done")>;

class agent_probe final : public asio_actor {
public:
  agent_probe(caf::actor_config& config, asio_unit* unit, agent_runtime* runtime)
    : asio_actor(config, unit),
      unit_(unit),
      runtime_(runtime) {}

  caf::behavior make_behavior() override {
    stay();
    return {
      [this](list_atom) { return last_; },
      [this](probe_atom) {
        asking_.push_back(make_response_promise());
        if (!inquiry_)
          ask();
        return asking_.back();
      },
      [this](done_atom, const probe_ptr& heard) { settle(heard); },
      [this](stop_atom) {
        quit();
        return true;
      },
    };
  }

  const char* name() const override { return "agent_probe"; }

  void on_exit() override {
    inquiry_.reset();
    answer_all();
    asio_actor::on_exit();
  }

private:
  void ask() {
    inquiry_ = std::make_unique<agent_inquiry>(*runtime_, [this](probe_result heard) {
      context(unit_);
      send(caf::actor_cast<caf::actor>(this), done_atom::value,
           probe_ptr{std::make_shared<const probe_result>(std::move(heard))});
    });
    inquiry_->start();
  }

  void settle(const probe_ptr& heard) {
    inquiry_.reset();
    auto now = *heard;
    // A failed probe says nothing about the tools: the last known stay.
    if (!now.tools)
      now.tools = last_->tools;
    if (!now.problem.empty())
      logging::warning("probe", "{}", now.problem);
    runtime_->version = now.agent_version;
    last_ = std::make_shared<const probe_result>(std::move(now));
    answer_all();
  }

  void answer_all() {
    for (auto& promise : std::exchange(asking_, {}))
      promise.deliver(last_);
  }

  asio_unit* unit_;
  agent_runtime* runtime_;
  probe_ptr last_ = std::make_shared<const probe_result>();
  std::unique_ptr<agent_inquiry> inquiry_;
  std::vector<caf::response_promise> asking_;
};

} // namespace

agent_probe_actor spawn_agent_probe(caf::actor_system& system, asio_unit& unit,
                                    agent_runtime& runtime) {
  return caf::actor_cast<agent_probe_actor>(system.spawn<agent_probe>(&unit, &runtime));
}

} // namespace tidemark
