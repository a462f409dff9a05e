#pragma once

#include "base/error.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/execution_unit.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/typed_actor.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

// Actors on Asio threads: how coroutines and actors talk without locks.
namespace tidemark {

/// Runs CAF actors on an io_context.
class asio_unit : public caf::execution_unit {
public:
  using executor = boost::asio::io_context::executor_type;

  asio_unit(caf::actor_system& system, executor ex) : caf::execution_unit(&system), executor_(ex) {}
  asio_unit(const asio_unit&) = delete;
  asio_unit& operator=(const asio_unit&) = delete;
  /// Precondition: the io_context no longer runs.
  ~asio_unit() override {
    const auto ended = std::exchange(kept_, {}); // the end of an actor calls `forget`
  }

  /// CAF hands a woken receiver to its sender's unit. Receivers that are not pinned here belong to
  /// the scheduler, or every actor we message would run on the I/O thread.
  void exec_later(caf::resumable* job) override { system().scheduler().enqueue(job); }

  /// Runs `job` on the I/O thread.
  void post(caf::resumable* job) {
    boost::asio::post(executor_, [this, owned = job_ptr{job}]() mutable { run(owned.release()); });
  }

  [[nodiscard]] executor get_executor() const { return executor_; }

  /// Holds an actor until `forget`, or until this unit ends. On the I/O thread.
  void keep(caf::strong_actor_ptr actor) { kept_.emplace(actor->id(), actor); }
  void forget(caf::actor_id actor) { kept_.erase(actor); }

private:
  static constexpr std::size_t messages_per_turn = 64;

  /// The scheduler owns one reference a queued job; so do we, also when the io_context is
  /// destroyed with handlers in it.
  struct release {
    void operator()(caf::resumable* job) const { caf::intrusive_ptr_release(job); }
  };
  using job_ptr = std::unique_ptr<caf::resumable, release>;

  void run(caf::resumable* job) {
    switch (job->resume(this, messages_per_turn)) {
    case caf::resumable::resume_later: post(job); break;
    case caf::resumable::done:
    case caf::resumable::awaiting_message: caf::intrusive_ptr_release(job); break;
    case caf::resumable::shutdown_execution_unit: break;
    }
  }

  executor executor_;
  std::map<caf::actor_id, caf::strong_actor_ptr> kept_;
};

/// Completion token of coroutines on our concrete executor: `auto r = co_await f(as_result);` gives
/// a tuple that starts with the error code. Named, because g++ 12 destroys temporaries made to the
/// right of co_await twice (docs/decisions).
inline constexpr auto as_result =
  boost::asio::as_tuple_t<boost::asio::use_awaitable_t<asio_unit::executor>>{
    boost::asio::use_awaitable_t<asio_unit::executor>{}};

/// An event-based actor whose handlers run on one I/O thread, whoever sends to it. Its mailbox is
/// CAF's; coroutines of the same thread may touch its state without locks.
class asio_actor : public caf::event_based_actor {
public:
  asio_actor(caf::actor_config& config, asio_unit* unit)
    : caf::event_based_actor(config),
      pinned_(unit) {}

  using caf::event_based_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr message, caf::execution_unit*) override {
    caf::event_based_actor::enqueue(std::move(message), &pinned_);
  }
  void launch(caf::execution_unit*, bool lazy, bool hide) override {
    caf::event_based_actor::launch(&pinned_, lazy, hide);
  }
  caf::behavior make_behavior() override {
    return {[](caf::unit_t) {}};
  }
  const char* name() const override { return "asio_actor"; }
  void on_exit() override {
    if (stays_)
      pinned_.unit->forget(id());
    caf::event_based_actor::on_exit();
  }

protected:
  /// Lives on without handles until it quits. For an actor that callbacks of its thread point to: CAF
  /// ends one that nobody holds where its last handle is dropped, which may be beside such a callback.
  void stay() {
    stays_ = true;
    pinned_.unit->keep(caf::actor_cast<caf::strong_actor_ptr>(this));
  }

private:
  struct pin : caf::execution_unit {
    explicit pin(asio_unit* u) : caf::execution_unit(&u->system()), unit(u) {}
    void exec_later(caf::resumable* job) override { unit->post(job); }
    asio_unit* unit;
  };
  pin pinned_;
  bool stays_ = false;
};

/// Lets coroutines of one io_context ask actors. One a thread; used on that thread only.
class gateway {
public:
  using executor = asio_unit::executor;

  gateway(caf::actor_system& system, executor ex)
    : unit_(system, ex),
      handle_(system.spawn<asio_actor>(&unit_)) {}
  gateway(const gateway&) = delete;
  gateway& operator=(const gateway&) = delete;

  /// Precondition: the io_context no longer runs on another thread.
  ~gateway() {
    self()->context(&unit_);
    self()->quit(caf::exit_reason::user_shutdown);
    self()->cleanup(caf::error{caf::exit_reason::user_shutdown}, &unit_);
  }

  [[nodiscard]] executor get_executor() const { return unit_.get_executor(); }

  /// `auto reply = co_await gateway.ask<reply_ptr>(5s, workspace, command_atom::value, what);`
  ///
  /// Errors: `deadline` if no answer came in time (a late one is dropped), `unavailable` if the actor is
  /// down, `internal` if its handler threw. CAF 0.17 never cancels a request's timeout (193 bytes held
  /// until it fires), so requests are infinite and the deadline is a timer of ours.
  template <class Reply, class Handle, class... Args>
  boost::asio::awaitable<expected<Reply>, executor>
  ask(std::chrono::steady_clock::duration deadline, Handle to, Args... args) {
    using timer = boost::asio::basic_waitable_timer<
      std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, executor>;
    struct pending {
      explicit pending(executor ex) : expiry(ex) {}
      timer expiry;
      std::optional<expected<Reply>> result;
    };
    // Shared with the response handlers, which may run after this coroutine has given up.
    auto state = std::make_shared<pending>(get_executor());
    state->expiry.expires_after(deadline);
    self()->context(&unit_);
    self()
      ->request(to, caf::infinite, std::move(args)...)
      .then(
        [state](Reply& reply) {
          state->result = std::move(reply);
          state->expiry.cancel();
        },
        [state](caf::error& why) {
          state->result = fail_with(why);
          state->expiry.cancel();
        });
    if (!state->result)
      co_await state->expiry.async_wait(as_result);
    if (!state->result)
      co_return fail(errc::deadline,
                     "no answer from the workspace in time; it may still act on the request");
    co_return std::move(*state->result);
  }

private:
  static tl::unexpected<error> fail_with(const caf::error& why); // bridge.cpp

  asio_actor* self() {
    return static_cast<asio_actor*>(caf::actor_cast<caf::abstract_actor*>(handle_));
  }

  asio_unit unit_;
  caf::actor handle_;
};

} // namespace tidemark
