#include "base/time.hpp"

#include <string_view>

namespace tidemark {

namespace {

/// Writes `number` in exactly `digits` decimal digits.
void write_digits(char* to, std::size_t digits, unsigned number) noexcept {
  for (; digits > 0; number /= 10)
    to[--digits] = static_cast<char>('0' + number % 10);
}

/// Takes the parts of a moment off the front of its text. After a part that is not there `ok()` is false.
class moment_reader {
public:
  explicit moment_reader(std::string_view text) : rest_(text) {}

  std::int64_t digits(std::size_t count, std::int64_t least, std::int64_t most) {
    std::int64_t number = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto next = rest_.substr(0, 1);
      ok_ = ok_ && !next.empty() && next[0] >= '0' && next[0] <= '9';
      if (!ok_)
        return least;
      number = number * 10 + (next[0] - '0');
      rest_.remove_prefix(1);
    }
    ok_ = ok_ && number >= least && number <= most;
    return number;
  }

  /// One character out of `wanted`; a zero byte if it is another.
  char one_of(std::string_view wanted) {
    ok_ = ok_ && !rest_.empty() && wanted.find(rest_[0]) != wanted.npos;
    if (!ok_)
      return '\0';
    const auto found = rest_[0];
    rest_.remove_prefix(1);
    return found;
  }

  /// `.5` and up to nine digits, if they are there.
  std::int64_t nanoseconds() {
    if (!rest_.starts_with('.'))
      return 0;
    rest_.remove_prefix(1);
    std::int64_t number = 0;
    std::size_t count = 0;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; ++count, rest_.remove_prefix(1))
      if (count < 9)
        number = number * 10 + (rest_[0] - '0');
    ok_ = ok_ && count > 0;
    for (; count < 9; ++count)
      number *= 10;
    return number;
  }

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool ok() const noexcept { return ok_; }

private:
  std::string_view rest_;
  bool ok_ = true;
};

} // namespace

expected<timestamp> parse_iso8601(std::string_view text) {
  using namespace std::chrono;
  moment_reader in{text};
  const auto y = in.digits(4, 1678, 2261); // whole years of a timestamp
  in.one_of("-");
  const auto m = in.digits(2, 1, 12);
  in.one_of("-");
  const auto d = in.digits(2, 1, 31);
  const year_month_day date{year{static_cast<int>(y)}, month{static_cast<unsigned>(m)},
                            day{static_cast<unsigned>(d)}};
  std::int64_t of_day = 0;
  std::int64_t fraction = 0;
  if (in.ok() && !in.empty()) {
    in.one_of("Tt ");
    of_day = in.digits(2, 0, 23) * 3600;
    in.one_of(":");
    of_day += in.digits(2, 0, 59) * 60;
    in.one_of(":");
    of_day += in.digits(2, 0, 60); // with leap seconds, as the next one
    fraction = in.nanoseconds();
    const auto zone = in.one_of("Zz+-");
    if (zone == '+' || zone == '-') {
      auto ahead = in.digits(2, 0, 23) * 3600;
      in.one_of(":");
      ahead += in.digits(2, 0, 59) * 60;
      of_day -= zone == '+' ? ahead : -ahead;
    }
  }
  if (!in.ok() || !in.empty() || !date.ok())
    return fail(errc::invalid_argument, "a time is written like 2026-11-29T17:05:09Z");
  const auto whole = seconds{sys_days{date}.time_since_epoch()}.count() + of_day;
  return timestamp{whole * 1'000'000'000 + fraction};
}

timestamp now_utc() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return timestamp{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

iso8601_text iso8601_chars(timestamp t) noexcept {
  using namespace std::chrono;
  constexpr std::int64_t second = 1'000'000'000;
  // Split by hand: std::chrono::floor to days overflows near the smallest timestamp.
  auto whole = t.nanoseconds / second;
  auto rest = t.nanoseconds % second;
  if (rest < 0) {
    --whole;
    rest += second;
  }
  const sys_seconds at{seconds{whole}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const auto of_day = static_cast<unsigned>((at - day).count());

  iso8601_text out{};
  constexpr std::string_view form = "0000-00-00T00:00:00.000Z";
  form.copy(out.data(), out.size());
  write_digits(&out[0], 4, static_cast<unsigned>(static_cast<int>(date.year())));
  write_digits(&out[5], 2, static_cast<unsigned>(date.month()));
  write_digits(&out[8], 2, static_cast<unsigned>(date.day()));
  write_digits(&out[11], 2, of_day / 3600);
  write_digits(&out[14], 2, of_day / 60 % 60);
  write_digits(&out[17], 2, of_day % 60);
  write_digits(&out[20], 3, static_cast<unsigned>(rest / 1'000'000));
  return out;
}

std::string iso8601(timestamp t) {
  const auto text = iso8601_chars(t);
  return {text.data(), text.size()};
}

} // namespace tidemark
