#include "app/commands.hpp"
#include "app/csv.hpp"
#include "app/event_view.hpp"

#include "base/json.hpp"
#include "replay/audit_terms.hpp"

#include <fmt/format.h>

#include <fstream>
#include <ostream>

namespace tidemark {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ","));
}

/// Asks from the event after `after` on.
std::string path_of(const events_options& what, const std::string& after) {
  std::string path = "/api/v1/events?progress=true";
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty())
      path += fmt::format("&{}={}", name, percent_encoded(value));
  };
  add("after", after);
  add("types", joined(what.types));
  add("workspace", joined(what.workspaces));
  add("turn", what.turn);
  add("tool", what.tool);
  add("outcome", what.outcome);
  add("text", what.text);
  add("from", what.since);
  add("to", what.until);
  add("limit", what.limit > 0 ? std::to_string(what.limit) : std::string{});
  add("order", what.newest ? "newest" : "");
  add("raw", what.raw ? "true" : "");
  add("follow", what.follow ? "true" : "");
  return path;
}

/// Writes what comes, in the form asked for, and remembers how far it came.
class event_printer {
public:
  event_printer(const events_options& what, std::ostream& out, terminal& to)
    : what_(what),
      out_(out),
      to_(to) {
    if (what.format == events_format::csv)
      out_ << csv_record({"time", "workspace", "epoch", "offset", "position", "type", "turn",
                          "tool", "outcome", "data"});
  }

  /// One line of the answer; false once nobody reads any more (`| head`).
  bool take(std::string_view line) {
    const auto parsed = parse_json(line);
    if (!parsed)
      return true; // an empty line keeps the connection alive
    if (parsed->contains("progress")) {
      show_progress(object_at(*parsed, "progress"));
      return true;
    }
    place_ = std::to_string(int_or(*parsed, "position", 0));
    ++events_;
    write(line, *parsed);
    return out_.good();
  }

  /// The position of the last event; empty if there was none.
  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] std::size_t events() const { return events_; }

  void finish() {
    clear_progress();
    out_.flush();
  }

private:
  void write(std::string_view line, const json& e) {
    clear_progress();
    switch (what_.format) {
    case events_format::text:
      out_ << fmt::format("{:<16} ", neutralised(string_or(e, "workspace"))) << event_line(to_, e)
           << '\n';
      break;
    case events_format::ndjson: out_ << line << '\n'; break;
    case events_format::csv: write_record(e); break;
    }
    if (what_.follow)
      out_.flush();
  }

  void write_record(const json& e) {
    const auto type = string_or(e, "type");
    const auto& data = object_at(e, "data");
    out_ << csv_record(
      {string_or(e, "time"), string_or(e, "workspace"), std::to_string(int_or(e, "epoch", 0)),
       std::to_string(int_or(e, "offset", 0)), std::to_string(int_or(e, "position", 0)), type,
       string_or(e, "turn"), tool_of(type, data), outcome_of(type, data), dump_json(data)});
  }

  /// One line of the terminal, overwritten by what follows.
  void show_progress(const json& facts) {
    if (!to_.shows_progress)
      return;
    const auto head = std::max<std::int64_t>(1, int_or(facts, "head", 1));
    to_.err << fmt::format(
      "\r\x1b[Klooking: {} of {} ({:.0f} %), {} found", int_or(facts, "position", 0), head,
      100.0 * static_cast<double>(int_or(facts, "position", 0)) / static_cast<double>(head),
      events_)
            << std::flush;
    progress_shown_ = true;
  }

  void clear_progress() {
    if (std::exchange(progress_shown_, false))
      to_.err << "\r\x1b[K" << std::flush;
  }

  const events_options& what_;
  std::ostream& out_;
  terminal& to_;
  std::string place_;
  std::size_t events_ = 0;
  bool progress_shown_ = false;
};

/// Prints everything asked for; a connection that breaks is taken up again where it broke.
expected<void> print_events(api_client& client, const events_options& what, event_printer& printer,
                            terminal& to) {
  constexpr int most_attempts_in_vain = 5;
  for (int in_vain = 0;;) {
    const auto before = printer.place();
    auto rest = what;
    if (what.limit > 0 && printer.events() >= what.limit)
      return {};
    if (what.limit > 0)
      rest.limit = what.limit - printer.events();
    std::string line;
    const auto done =
      client.stream(path_of(rest, before.empty() ? what.after : before),
                    {{"Accept", "application/x-ndjson"}}, [&](std::string_view piece) {
                      for (std::size_t end; (end = piece.find('\n')) != piece.npos;
                           piece.remove_prefix(end + 1)) {
                        line += piece.substr(0, end);
                        if (!line.empty() && !printer.take(line))
                          return false;
                        line.clear();
                      }
                      line += piece;
                      return true;
                    });
    if (done || (done.error().code != errc::unavailable && done.error().code != errc::io))
      return done;
    in_vain = printer.place() == before ? in_vain + 1 : 0;
    if (printer.place().empty() || in_vain >= most_attempts_in_vain)
      return done;
    to.err << painted(to, tint::yellow, "connection lost; going on after position ")
           << printer.place() << '\n';
  }
}

} // namespace

int run_events(const api_address& server, const events_options& what, terminal& to) {
  catch_interrupts();
  std::ofstream file;
  if (!what.output.empty()) {
    file.open(what.output, std::ios::binary | std::ios::trunc);
    if (!file)
      return report_failure(error{errc::io, fmt::format("cannot write {}", what.output)}, server,
                            to);
  }
  auto& out = what.output.empty() ? to.out : static_cast<std::ostream&>(file);
  event_printer printer{what, out, to};
  api_client client{server};
  auto done = print_events(client, what, printer, to);
  printer.finish();
  if (done && !what.output.empty() && !file.good())
    done = fail(errc::io, fmt::format("cannot write all of {}: is its disk full?", what.output));
  if (done && !what.output.empty())
    to.err << fmt::format("{} events written to {}\n", printer.events(), what.output);
  return done ? exit_ok : report_failure(done.error(), server, to);
}

} // namespace tidemark
