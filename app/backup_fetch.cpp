#include "app/backup_fetch.hpp"

#include "base/json.hpp"
#include "storage/hash_chain.hpp"

#include <fmt/format.h>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

constexpr int most_attempts = 5; // without a byte between them

std::string path_of(const backup_manifest& copy) {
  return "/api/v1/backup/" + percent_encoded(copy.id);
}

} // namespace

expected<backup_manifest> ask_for_copy(const api_address& server) {
  auto patient = server;
  patient.patience = 1h;
  api_client client{patient};
  const auto response = client.call("POST", "/api/v1/backup");
  if (!response)
    return tl::unexpected(response.error());
  auto copy = parse_json(response->body).and_then(parse_backup_manifest);
  if (!copy)
    return fail(errc::internal, "the server's response is no backup", copy.error());
  return copy;
}

expected<void> fetch_file(api_client& client, const backup_manifest& copy, const backup_file& file,
                          const copy_sink& take) {
  const auto path = fmt::format("{}/files/{}", path_of(copy), to_hex(file.hash));
  std::uint64_t got = 0;
  int attempts = 0;
  while (true) {
    expected<void> taken;
    api_client::headers headers;
    if (got > 0)
      headers.emplace("Range", fmt::format("bytes={}-", got));
    const auto before = got;
    const auto on_piece = [&](std::string_view piece) {
      taken =
        got + piece.size() > file.bytes
          ? fail(errc::corrupt, fmt::format("the server sends more of {} than it said", file.name))
          : take(piece);
      got += piece.size();
      return taken.has_value();
    };
    const auto done = client.stream(path, headers, on_piece);
    if (!taken)
      return taken;
    if (done || (got == file.bytes && done.error().code == errc::io))
      return {};
    if (done.error().code != errc::io && done.error().code != errc::unavailable)
      return done;
    attempts = got > before ? 1 : attempts + 1;
    if (attempts >= most_attempts)
      return done;
  }
}

void release_copy(api_client& client, const backup_manifest& copy) {
  [[maybe_unused]] const auto released = client.call("DELETE", path_of(copy));
}

} // namespace tidemark
