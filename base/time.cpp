#include "base/time.hpp"

#include <string_view>

namespace tidemark {

namespace {

/// Writes `number` in exactly `digits` decimal digits.
void write_digits(char* to, std::size_t digits, unsigned number) noexcept {
  for (; digits > 0; number /= 10)
    to[--digits] = static_cast<char>('0' + number % 10);
}

} // namespace

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
