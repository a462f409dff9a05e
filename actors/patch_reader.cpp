#include "actors/patch_reader.hpp"

#include "actors/turn_files.hpp"

#include <caf/response_promise.hpp>

#include <cstdint>
#include <map>

namespace tidemark {
namespace {

using done_atom = caf::atom_constant<caf::atom("done")>;

/// Each may hold a patch of turn_patch::most_bytes.
constexpr std::size_t most_at_a_time = 4;

class patch_reader final : public asio_actor {
public:
  patch_reader(caf::actor_config& config, asio_unit* unit, agent_runtime* runtime)
    : asio_actor(config, unit),
      unit_(unit),
      runtime_(runtime) {}

  caf::behavior make_behavior() override {
    stay();
    return {
      [this](read_atom, const std::string& workspace, const std::string& turn) {
        auto promise = make_response_promise();
        read(workspace, turn, promise);
        return promise;
      },
      [this](forget_atom, const std::string& workspace, const turn_ids_ptr& turns) {
        auto promise = make_response_promise();
        forget(workspace, *turns, promise);
        return promise;
      },
      [this](done_atom, std::uint64_t number, const patch_ptr& patch) { settle(number, patch); },
      [this](done_atom, std::uint64_t number, const forgotten_ptr& how) {
        settle_removal(number, how);
      },
      [this](stop_atom) {
        quit();
        return true;
      },
    };
  }

  const char* name() const override { return "patch_reader"; }

  void on_exit() override {
    const auto stopped = std::make_shared<const expected<std::string>>(
      fail(errc::unavailable, "the server is stopping"));
    for (auto& [number, each] : std::exchange(readings_, {}))
      each.promise.deliver(stopped);
    const auto stopped_too =
      std::make_shared<const expected<void>>(fail(errc::unavailable, "the server is stopping"));
    for (auto& [number, each] : std::exchange(removals_, {}))
      each.promise.deliver(stopped_too);
    asio_actor::on_exit();
  }

private:
  struct reading {
    caf::response_promise promise;
    std::unique_ptr<turn_patch> patch;
  };

  void read(const std::string& workspace, const std::string& turn, caf::response_promise promise) {
    if (readings_.size() == most_at_a_time) {
      error busy{errc::unavailable, "too many patches are being read", true};
      promise.deliver(std::make_shared<const expected<std::string>>(tl::make_unexpected(busy)));
      return;
    }
    const auto number = ++last_;
    auto& mine = readings_[number];
    mine.promise = promise;
    mine.patch = std::make_unique<turn_patch>(
      *runtime_, workspace, turn, [this, number](expected<std::string> text) {
        context(unit_);
        send(caf::actor_cast<caf::actor>(this), done_atom::value, number,
             patch_ptr{std::make_shared<const expected<std::string>>(std::move(text))});
      });
  }

  void forget(const std::string& workspace, const std::vector<std::string>& turns,
              caf::response_promise promise) {
    const auto number = ++last_;
    auto& mine = removals_[number];
    mine.promise = std::move(promise);
    mine.script =
      forget_turn_files(*runtime_, workspace, turns, [this, number](const expected<void>& how) {
        context(unit_);
        send(caf::actor_cast<caf::actor>(this), done_atom::value, number,
             forgotten_ptr{std::make_shared<const expected<void>>(how)});
      });
  }

  void settle_removal(std::uint64_t number, const forgotten_ptr& how) {
    const auto found = removals_.find(number);
    if (found == removals_.end())
      return;
    found->second.promise.deliver(how);
    removals_.erase(found);
  }

  void settle(std::uint64_t number, const patch_ptr& patch) {
    const auto found = readings_.find(number);
    if (found == readings_.end())
      return;
    found->second.promise.deliver(patch);
    readings_.erase(found);
  }

  asio_unit* unit_;
  agent_runtime* runtime_;
  struct removal {
    caf::response_promise promise;
    std::unique_ptr<git_script> script;
  };
  std::map<std::uint64_t, reading> readings_;
  std::map<std::uint64_t, removal> removals_;
  std::uint64_t last_ = 0;
};

} // namespace

patch_reader_actor spawn_patch_reader(caf::actor_system& system, asio_unit& unit,
                                      agent_runtime& runtime) {
  return caf::actor_cast<patch_reader_actor>(system.spawn<patch_reader>(&unit, &runtime));
}

} // namespace tidemark
