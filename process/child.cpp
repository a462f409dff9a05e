#include "process/child.hpp"

#include "process/orphans.hpp"
#include "process/spawn.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <csignal>
#include <deque>

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace tidemark {
namespace {

namespace net = boost::asio;
using executor = net::io_context::executor_type;
using descriptor = net::posix::basic_stream_descriptor<executor>;
using timer = net::basic_waitable_timer<std::chrono::steady_clock,
                                        net::wait_traits<std::chrono::steady_clock>, executor>;
using boost::system::error_code;

constexpr char kill_order = 'K';
/// When the io_context itself goes away; the guard needs a few milliseconds.
constexpr int last_wait_ms = 5'000;
/// Of killing what a guard left behind: the I/O thread waits for it.
constexpr std::chrono::milliseconds clean_up_limit{250};

/// The process and its pipes. Kept alive by its pending operations, so that a guard is waited for
/// also after its owner has let go.
class guarded_process : public std::enable_shared_from_this<guarded_process> {
public:
  guarded_process(net::io_context& io, spawned started, std::string mark, bool terminal,
                  child::callbacks events)
    : mark_(std::move(mark)),
      terminal_(terminal),
      guard_pid_(started.guard_pid),
      agent_pid_(started.agent_pid),
      control_(std::move(started.control)),
      guard_(io.get_executor(), started.guard.release()),
      in_(io.get_executor(), started.standard_input.release()),
      out_(io.get_executor(), started.standard_output.release()),
      err_(io.get_executor()),
      drain_(io.get_executor()),
      patience_(io.get_executor()),
      events_(std::move(events)),
      err_open_(started.standard_error.get() >= 0) {
    if (err_open_)
      err_.assign(started.standard_error.release());
  }

  ~guarded_process() {
    if (reaped_)
      return;
    ::shutdown(control_.get(), SHUT_WR); // its lifeline: it kills the tree and ends
    reap_guard(guard_pid_, guard_.native_handle(), last_wait_ms);
    if (!guard_finished())
      clean_up();
  }

  void start() {
    read(out_, out_buffer_, out_open_, events_.on_stdout);
    if (err_open_)
      read(err_, err_buffer_, err_open_, events_.on_stderr);
    guard_.async_wait(descriptor::wait_read,
                      [self = shared_from_this()](error_code) { self->on_guard_ended(); });
  }

  void write(std::string bytes) {
    if (!in_.is_open() || closing_in_ || bytes.empty())
      return;
    pending_input_ += bytes.size();
    input_.push_back(std::move(bytes));
    if (input_.size() == 1)
      write_next();
  }

  void close_stdin() {
    closing_in_ = true;
    if (input_.empty())
      shut_input();
  }

  [[nodiscard]] std::size_t pending_input() const { return pending_input_; }

  [[nodiscard]] std::size_t unread_input() {
    int in_pipe = 0;
    const bool asked =
      !terminal_ && in_.is_open() && ::ioctl(in_.native_handle(), FIONREAD, &in_pipe) == 0;
    return left_unread_ + pending_input_ + (asked ? static_cast<std::size_t>(in_pipe) : 0);
  }

  void resize(terminal_size size) {
    if (terminal_ && out_.is_open())
      resize_terminal(out_.native_handle(), size);
  }

  void order(char what) {
    if (!reaped_) // a reaped guard has no tree any more
      (void) ::send(control_.get(), &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void kill_tree() {
    if (reaped_ || killing_)
      return;
    killing_ = true;
    order(kill_order);
    patience_.expires_after(child::guard_limit);
    patience_.async_wait([self = shared_from_this()](error_code cancelled) {
      if (!cancelled && !self->reaped_)
        ::kill(self->guard_pid_, SIGKILL); // stopped, or stuck; ours until we wait for it
    });
  }

  void pause_output(bool paused) {
    if (paused == paused_)
      return;
    paused_ = paused;
    if (paused)
      drain_.cancel(); // what the reader holds back is not lost
    else if (!out_reading_ && out_open_)
      read(out_, out_buffer_, out_open_, events_.on_stdout);
    if (!paused && reaped_)
      start_drain();
  }

  /// The owner is gone: no callback from here on, and no tree.
  void let_go() {
    detached_ = true;
    kill_tree();
    shut_input();
    finish_reading();
  }

  [[nodiscard]] int pid() const { return agent_pid_; }

private:
  using buffer = std::array<char, 65'536>;

  void read(descriptor& from, buffer& into, bool& open,
            const std::function<void(std::string_view)>& sink) {
    const bool output = &from == &out_;
    out_reading_ = out_reading_ || output;
    from.async_read_some(net::buffer(into), [this, self = shared_from_this(), &from, &into, &open,
                                             &sink, output](error_code failed, std::size_t size) {
      if (output)
        out_reading_ = false;
      if (detached_)
        return;
      if (size > 0 && sink)
        sink(std::string_view{into.data(), size});
      if (failed) {
        open = false;
        if (output && !reaped_ && events_.on_stdout_end)
          events_.on_stdout_end();
        return settle();
      }
      if (detached_ || !open || (output && paused_))
        return;
      read(from, into, open, sink);
    });
  }

  void write_next() {
    net::async_write(
      in_, net::buffer(input_.front()),
      [self = shared_from_this()](error_code failed, std::size_t) { self->on_written(failed); });
  }

  void on_written(error_code failed) {
    if (failed) {
      // The agent has closed its end; its exit tells the rest.
      shut_input();
      input_.clear();
      pending_input_ = 0;
      return;
    }
    pending_input_ -= input_.front().size();
    input_.pop_front();
    if (!input_.empty())
      return write_next();
    if (closing_in_)
      shut_input();
    if (!detached_ && events_.on_input_taken)
      events_.on_input_taken();
  }

  void shut_input() {
    error_code ignored;
    closing_in_ = true;
    if (in_.is_open())
      left_unread_ = unread_input();
    in_.close(ignored);
  }

  void on_guard_ended() {
    siginfo_t how{};
    if (::waitid(P_PID, static_cast<id_t>(guard_pid_), &how, WEXITED) == 0) {
      const bool exited = how.si_code == CLD_EXITED;
      exit_ = exited ? child_exit{how.si_status, 0} : child_exit{-1, how.si_status};
    }
    reaped_ = true;
    patience_.cancel();
    if (!guard_finished())
      clean_up();
    control_.reset();
    error_code ignored;
    guard_.close(ignored);
    shut_input();
    if (detached_)
      return;
    if (!paused_)
      start_drain();
    settle();
  }

  void clean_up() const {
    kill_session(agent_pid_);
    kill_marked(process_mark, mark_, clean_up_limit);
  }

  /// False if the guard was itself killed: then nobody has cleaned up behind the agent.
  [[nodiscard]] bool guard_finished() const {
    char word[3] = {};
    const auto size = ::recv(control_.get(), word, sizeof word, MSG_DONTWAIT);
    return size == sizeof word && std::string_view{word, sizeof word} == "end";
  }

  void start_drain() {
    drain_.expires_after(child::drain_limit);
    drain_.async_wait([self = shared_from_this()](error_code cancelled) {
      if (cancelled || self->detached_)
        return;
      self->finish_reading();
      self->settle();
    });
  }

  void finish_reading() {
    error_code ignored;
    drain_.cancel();
    out_.close(ignored);
    err_.close(ignored);
    out_open_ = err_open_ = false;
  }

  /// Tells the owner once all is over.
  void settle() {
    if (!reaped_ || out_open_ || err_open_ || detached_ || told_)
      return;
    told_ = true;
    finish_reading();
    // Not from inside a call of the owner's, and after the last read's handler is through.
    net::post(drain_.get_executor(), [self = shared_from_this()] {
      if (!self->detached_ && self->events_.on_exit)
        self->events_.on_exit(self->exit_);
    });
  }

  std::string mark_;
  bool terminal_;
  int guard_pid_;
  int agent_pid_;
  owned_fd control_;
  descriptor guard_;
  descriptor in_;
  descriptor out_;
  descriptor err_;
  timer drain_;
  timer patience_;
  child::callbacks events_;
  buffer out_buffer_;
  buffer err_buffer_;
  std::deque<std::string> input_;
  std::size_t pending_input_ = 0; // bytes of input_
  std::size_t left_unread_ = 0;   // when our end was closed
  child_exit exit_;
  bool closing_in_ = false;
  bool out_open_ = true;
  bool err_open_;
  bool out_reading_ = false;
  bool paused_ = false;
  bool reaped_ = false;
  bool told_ = false;
  bool killing_ = false;
  bool detached_ = false;
};

class guarded_child final : public child {
public:
  explicit guarded_child(std::shared_ptr<guarded_process> process) : process_(std::move(process)) {}
  ~guarded_child() override { process_->let_go(); }

  void write(std::string bytes) override { process_->write(std::move(bytes)); }
  [[nodiscard]] std::size_t pending_input() const override { return process_->pending_input(); }
  [[nodiscard]] std::size_t unread_input() const override { return process_->unread_input(); }
  void resize(terminal_size size) override { process_->resize(size); }
  void close_stdin() override { process_->close_stdin(); }
  void signal(int number) override {
    if (number >= 1 && number <= 64)
      process_->order(static_cast<char>(number));
  }
  void kill_tree() override { process_->kill_tree(); }
  void pause_output(bool paused) override { process_->pause_output(paused); }
  [[nodiscard]] int pid() const override { return process_->pid(); }

private:
  std::shared_ptr<guarded_process> process_;
};

} // namespace

expected<std::unique_ptr<child>> child::spawn(boost::asio::io_context& io, child_options options,
                                              callbacks events) {
  // A pipe has no MSG_NOSIGNAL: writing to an agent that died must not end the server.
  static const auto ignored = ::signal(SIGPIPE, SIG_IGN);
  if (ignored == SIG_ERR)
    return fail(errc::io, "cannot ignore SIGPIPE");
  if (!options.mark.empty())
    options.environment[std::string{process_mark}] = options.mark;
  auto started = spawn_guarded(options);
  if (!started)
    return tl::make_unexpected(started.error());
  auto process = std::make_shared<guarded_process>(io, std::move(*started), std::move(options.mark),
                                                   options.terminal.has_value(), std::move(events));
  process->start();
  return std::make_unique<guarded_child>(std::move(process));
}

} // namespace tidemark
