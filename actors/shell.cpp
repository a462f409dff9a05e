#include "actors/shell.hpp"

#include "actors/agent_timer.hpp"
#include "actors/scrollback.hpp"
#include "actors/shell_audience.hpp"
#include "actors/shell_launch.hpp"
#include "base/logging.hpp"
#include "base/redactor.hpp"
#include "base/utf8_stream.hpp"

#include <caf/response_promise.hpp>

#include <csignal>
#include <utility>
#include <vector>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

/// The process is gone.
using gone_atom = caf::atom_constant<caf::atom("gone")>;
/// The terminal has taken all that was typed.
using taken_atom = caf::atom_constant<caf::atom("taken")>;
using record_atom = caf::atom_constant<caf::atom("record")>;

/// Of one read: as a message of a client that takes a kilobyte a second it is through within
/// http.write_timeout.
constexpr std::size_t piece_bytes = 8 << 10;
/// Typed text beyond this waits in its client.
constexpr std::size_t input_room = 64 << 10;
/// Between attempts to have the end in the log, while that refuses.
constexpr auto record_again = 1s;
/// How long the end of a shell is kept for a client that comes back.
constexpr auto end_kept = 60s;

/// The terminal's calls come from the I/O thread outside any handler, so what must happen inside
/// one (answers, the end) goes through the mailbox.
class shell final : public asio_actor {
public:
  shell(caf::actor_config& config, asio_unit* unit, shell_runtime* runtime,
        directory_actor directory, std::shared_ptr<shell_record> record)
    : asio_actor(config, unit),
      unit_(unit),
      runtime_(*runtime),
      directory_(std::move(directory)),
      record_(std::move(record)),
      shown_(runtime->options.scrollback_bytes),
      idle_(std::in_place, runtime->io.get_executor()),
      again_(std::in_place, runtime->io.get_executor()),
      grace_(std::in_place, runtime->io.get_executor()) {}

  caf::behavior make_behavior() override {
    return {
      [this](open_atom, const shell_request_ptr& what) {
        opening_ = make_response_promise();
        const auto answer = opening_;
        open(*what);
        return answer;
      },
      [this](attach_atom, const shell_client_ptr& who) { return attach(*who); },
      [this](read_atom, std::uint64_t client) { return read(client); },
      [this](input_atom, std::uint64_t client, const shared_text& text) {
        return input(client, *text);
      },
      [this](resize_atom, std::uint64_t client, terminal_size size) {
        if (audience_.resize(client, size))
          apply_size();
      },
      [this](leave_atom, std::uint64_t client) { leave(client); },
      [this](close_atom, const std::string& reason, const std::string& by) {
        auto answer = make_response_promise();
        close(reason, by, answer);
        return answer;
      },
      [this](taken_atom) { admit_input(); },
      [this](gone_atom) { gone(); },
      [this](record_atom) { record_end(); },
      [this](idle_atom) { quit(); },
    };
  }

  const char* name() const override { return "shell"; }

  void on_exit() override {
    if (process_)
      runtime_.metrics.shell_closed("server");
    process_.reset(); // kills the tree if this end was not asked for
    idle_.reset();
    again_.reset();
    grace_.reset();
    refuse({errc::unavailable, "the shell has ended", true});
    refuse_input();
    answer_closing();
    audience_.wake();
    directory_ = directory_actor{};
    asio_actor::on_exit();
  }

private:
  // -- start -------------------------------------------------------------------

  void open(const shell_request& what) {
    auto plan = plan_shell(runtime_.places, what);
    if (!plan)
      return give_up(plan.error());
    auto& info = record_->info;
    const redactor secrets{runtime_.places.server_secrets};
    for (const auto& argument : what.argv)
      info.argv.push_back(secrets.apply(argument));
    info.cwd = plan->cwd;
    info.created = info.last_active = now_utc();
    initial_ = what.size;
    audience_ = shell_audience{initial_};
    child::callbacks events;
    events.on_stdout = [this](std::string_view bytes) { show(bytes); };
    events.on_exit = [this](child_exit how) {
      exit_ = how;
      tell_self(gone_atom::value);
    };
    events.on_input_taken = [this] {
      if (!typing_.empty())
        tell_self(taken_atom::value);
    };
    auto started = child::spawn(runtime_.io, std::move(*plan), std::move(events));
    if (!started)
      return give_up(started.error());
    process_ = std::move(*started);
    info.pid = process_->pid();
    runtime_.metrics.shell_opened();
    record(open_shell{info.id, info.argv, info.cwd, info.pid, what.by}, true,
           [this](const expected<void>& outcome) { recorded(outcome); });
  }

  void give_up(const error& why) {
    refuse(explain_shell(why));
    quit();
  }

  void recorded(const expected<void>& outcome) {
    if (!outcome) {
      refuse(outcome.error());
      end("server");
    } else {
      record_->opened = true;
      answer(record_->info);
      wait_for_clients();
    }
    if (!process_)
      record_end();
  }

  void answer(expected<shell_info> what) {
    if (opening_.pending())
      opening_.deliver(
        shell_info_ptr{std::make_shared<const expected<shell_info>>(std::move(what))});
  }
  void refuse(const error& why) { answer(tl::unexpected{why}); }

  // -- what the terminal shows ---------------------------------------------------

  void show(std::string_view bytes) {
    runtime_.metrics.shell_output(bytes.size());
    record_->info.last_active = now_utc();
    add(text_.take(bytes));
  }

  void add(const std::string& text) {
    shown_.append(text, audience_.foremost().value_or(shown_.end() + text.size()));
    audience_.wake();
    follow_pace();
  }

  /// A terminal that is not read stops its program, so it is read on with nobody there; but a client
  /// that is merely slow must get everything, so its pace is the program's.
  void follow_pace() {
    if (!process_)
      return;
    const auto foremost = audience_.foremost();
    const auto behind =
      foremost ? shown_.end() - std::max(*foremost, shown_.first()) : std::uint64_t{0};
    process_->pause_output(reason_.empty() && 2 * behind >= runtime_.options.scrollback_bytes
                           && behind > 0);
  }

  shell_piece_ptr read(std::uint64_t client) {
    auto piece = std::make_shared<shell_piece>();
    const auto* place = audience_.place_of(client);
    if (!place) {
      piece->end = shell_end{exit_.value_or(child_exit{}), reason_};
      return piece;
    }
    auto next = shown_.read(*place, piece_bytes);
    if (*place > 0 && next.cut > 0) {
      runtime_.metrics.shell_skipped(static_cast<std::size_t>(next.cut));
      audience_.mark_cut(client);
    }
    piece->text = std::move(next.text);
    piece->cut = next.cut;
    const auto nothing = piece->text.empty() && piece->cut == 0;
    if (nothing && record_->closed) {
      piece->end = shell_end{*exit_, reason_};
      end_told_ = true;
    }
    audience_.move(client, next.next, nothing);
    follow_pace();
    return piece;
  }

  // -- clients ---------------------------------------------------------------------

  shell_attachment_ptr attach(const shell_client& who) {
    idle_->cancel();
    shell_attachment made;
    made.shell = caf::actor_cast<shell_actor>(caf::actor_cast<caf::strong_actor_ptr>(this));
    made.client = audience_.enter(who.wake, who.keeps);
    follow_pace();
    return std::make_shared<const expected<shell_attachment>>(std::move(made));
  }

  void leave(std::uint64_t client) {
    if (!audience_.leave(client))
      return;
    refuse_input(client);
    apply_size();
    follow_pace();
    if (!audience_.empty())
      return;
    if (record_->closed)
      keep_end();
    else if (!audience_.is_kept())
      end("disconnect");
    else
      wait_for_clients();
  }

  void wait_for_clients() {
    if (audience_.empty())
      idle_->start(runtime_.options.idle_timeout, [this] { end("idle"); });
  }

  void apply_size() {
    if (process_ && audience_.size() != applied_.value_or(initial_)) {
      applied_ = audience_.size();
      process_->resize(*applied_);
    }
  }

  // -- what is typed -----------------------------------------------------------------

  caf::response_promise input(std::uint64_t client, const std::string& text) {
    auto room = make_response_promise();
    if (!process_ || !audience_.place_of(client)) {
      room.deliver(false);
      return room;
    }
    runtime_.metrics.shell_input(text.size());
    record_->info.last_active = now_utc();
    process_->write(text);
    typing_.emplace_back(client, room);
    if (process_->pending_input() < input_room)
      admit_input();
    return room;
  }

  void admit_input() {
    for (auto& [client, room] : std::exchange(typing_, {}))
      room.deliver(true);
  }

  /// Of one client, or of all.
  void refuse_input(std::optional<std::uint64_t> whose = std::nullopt) {
    for (auto& [client, room] : typing_)
      if (!whose || client == *whose)
        room.deliver(false);
    std::erase_if(typing_, [&](const auto& each) { return !whose || each.first == *whose; });
  }

  // -- end -------------------------------------------------------------------------

  void close(const std::string& reason, const std::string& by, caf::response_promise& answer) {
    if (record_->closed || (!process_ && !exit_)) {
      answer.deliver(true);
      if (audience_.empty() && is_recorded_)
        quit();
      return;
    }
    closing_.push_back(answer);
    if (reason_.empty())
      closed_by_ = by;
    end(reason);
  }

  /// Asks the program to go, and a while later no longer asks.
  void end(const std::string& reason) {
    if (!reason_.empty())
      return;
    reason_ = reason;
    idle_->cancel();
    if (!process_)
      return;
    follow_pace(); // nobody's slowness may hold it up any more
    process_->signal(SIGHUP);
    grace_->start(runtime_.options.hangup_grace, [this] {
      if (process_)
        process_->kill_tree();
    });
  }

  void gone() {
    grace_->cancel();
    idle_->cancel();
    process_.reset();
    if (reason_.empty())
      reason_ = "program";
    runtime_.metrics.shell_closed(reason_);
    refuse_input();
    add(text_.finish());
    if (!opening_.pending())
      record_end();
  }

  void record_end() {
    record(close_shell{record_->info.id, reason_, closed_by_, exit_->code, exit_->signal}, false,
           [this](const expected<void>& outcome) {
             is_recorded_ = outcome || !record_->opened;
             if (!is_recorded_) {
               if (!record_->closed)
                 logging::warning("shell", "the end of shell {} is not in the log yet: {}",
                                  record_->info.id, outcome.error().describe());
               again_->start(record_again, [this] { tell_self(record_atom::value); });
             }
             closed();
           });
  }

  /// Its clients hear of the end at once, also if the log does not take it yet.
  void closed() {
    record_->closed = true;
    answer_closing();
    audience_.wake();
    if (audience_.empty())
      keep_end();
  }

  void keep_end() {
    if (!is_recorded_)
      return;
    if (end_told_ || !record_->opened || !audience_.is_kept())
      return quit();
    idle_->start(end_kept, [this] { tell_self(idle_atom::value); });
  }

  void answer_closing() {
    for (auto& answer : std::exchange(closing_, {}))
      answer.deliver(true);
  }

  // -- how it speaks -----------------------------------------------------------------

  template <class Atom>
  void tell_self(Atom what) {
    context(unit_);
    send(caf::actor_cast<caf::actor>(this), what);
  }

  template <class Then>
  void record(command what, bool create, Then then) {
    request(directory_, caf::infinite, route_atom::value, record_->info.workspace, create,
            command_ptr{std::make_shared<const command>(std::move(what))})
      .then(
        [then](const reply_ptr& reply) {
          const auto& outcome = *reply;
          then(outcome ? expected<void>{} : tl::make_unexpected(outcome.error()));
        },
        [then](const caf::error&) {
          then(fail(errc::unavailable, "the workspace is restarting; try again"));
        });
  }

  asio_unit* unit_;
  shell_runtime& runtime_;
  directory_actor directory_;
  std::shared_ptr<shell_record> record_;
  std::unique_ptr<child> process_;
  utf8_stream text_;
  scrollback shown_;
  terminal_size initial_;
  shell_audience audience_{initial_};
  std::optional<terminal_size> applied_;
  // Gone with the actor's life, because whoever holds its last handle may outlive the io_context.
  std::optional<one_shot> idle_;  // without a client, and after the end
  std::optional<one_shot> again_; // until the end is recorded
  std::optional<one_shot> grace_; // between HUP and KILL
  std::string reason_;            // why it ends; empty while it runs
  std::string closed_by_;         // with the reason `client`
  std::optional<child_exit> exit_;
  bool end_told_ = false;    // to a client
  bool is_recorded_ = false; // the end, in the log
  caf::response_promise opening_;
  std::vector<caf::response_promise> closing_;
  std::vector<std::pair<std::uint64_t, caf::response_promise>> typing_; // waits for room
};

} // namespace

shell_actor spawn_shell(caf::actor_system& system, asio_unit& unit, shell_runtime& runtime,
                        directory_actor directory, std::shared_ptr<shell_record> record) {
  const auto spawned =
    system.spawn<shell>(&unit, &runtime, std::move(directory), std::move(record));
  return caf::actor_cast<shell_actor>(spawned);
}

} // namespace tidemark
