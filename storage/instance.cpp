#include "storage/instance.hpp"

#include "base/uuid.hpp"
#include "storage/files.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

bool is_uuid(std::string_view text) {
  constexpr std::size_t length = 36;
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) {
           return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

} // namespace

expected<std::string> load_or_create_instance(const std::filesystem::path& directory) {
  if (auto made = files::make_directory(directory); !made)
    return tl::unexpected(made.error());
  const auto file = directory / "instance";
  constexpr std::size_t most_bytes = 4096;
  auto stored = files::read_whole(file, most_bytes);
  if (!stored)
    return tl::unexpected(stored.error());
  if (*stored) {
    auto& text = **stored;
    if (!text.empty() && text.back() == '\n')
      text.pop_back();
    if (!is_uuid(text))
      return fail(errc::corrupt, fmt::format("{} does not hold a UUID; delete it to get a new one",
                                             file.string()));
    return std::move(text);
  }
  auto fresh = new_uuid(now_utc());
  if (auto written = files::write_durably(file, fresh + "\n"); !written)
    return tl::unexpected(written.error());
  return fresh;
}

} // namespace tidemark
