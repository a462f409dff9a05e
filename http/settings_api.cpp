#include "agents/provider_settings.hpp"
#include "base/logging.hpp"
#include "base/small_file.hpp"
#include "http/parse_body.hpp"
#include "http/problem.hpp"
#include "http/workspace_api.hpp"
#include "storage/files.hpp"

#include <filesystem>
#include <mutex>
#include <utility>

// The settings of model providers (contracts: workspace API v1, Sessions, settings, policy). The file
// is read for every call and every task, so a change by hand counts at once as well.
namespace tidemark {

namespace {

expected<json> read_settings(const std::string& path) {
  const auto file = read_settings_file(path);
  if (!file)
    return fail(errc::unavailable, "the settings file (SETTINGS_PATH) cannot be used",
                file.error());
  return parse_settings_file(*file);
}

/// Reads, changes and writes the file, one caller after the other. Blocks on the disk.
template <class Change>
expected<json> change_settings(const std::string& path, Change change) {
  static std::mutex one_writer;
  const std::lock_guard lock{one_writer};
  auto settings = read_settings(path);
  if (!settings)
    return settings;
  auto changed = change(std::move(*settings));
  if (!changed)
    return changed;
  // The file itself, where the path is a link to it: the link is the operator's.
  std::error_code failed;
  const auto linked = std::filesystem::weakly_canonical(path, failed);
  const auto file = failed ? std::filesystem::absolute(path) : linked;
  if (auto made = files::make_directory(file.parent_path()); !made)
    return tl::unexpected{made.error()};
  if (auto written = files::write_durably(file, dump_json(*changed)); !written)
    return tl::unexpected{written.error()};
  return changed;
}

task<void> send_settings(exchange& x, expected<json> settings) {
  if (settings) {
    auto body = masked_settings(*settings);
    co_await send_json(x, std::move(body));
    co_return;
  }
  auto why = std::move(settings.error());
  if (why.code != errc::not_found) {
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto info = describe_failure(why, x.route());
  info.code = "PROVIDER_NOT_FOUND";
  auto body = error_body(info);
  co_await x.send(404, std::move(body));
}

task<void> get_settings(exchange& x) {
  const auto read = [&x] { return read_settings(x.services().settings_path); };
  auto settings = co_await x.blocking(read);
  co_await send_settings(x, std::move(settings));
}

task<void> put_provider(exchange& x) {
  const auto parse = [](const std::string& body) { return parse_provider_change(body); };
  auto change = co_await parse_body(x, parse);
  if (!change) {
    auto why = std::move(change.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  const auto apply = [&x, &change] {
    const auto& name = x.param("name");
    return change_settings(x.services().settings_path, [&](json settings) {
      return with_provider(std::move(settings), name, *change);
    });
  };
  auto settings = co_await x.blocking(apply);
  if (settings)
    logging::info("settings", "provider {} was changed by {}", quote_json(x.param("name")),
                  x.who().name);
  co_await send_settings(x, std::move(settings));
}

task<void> activate_provider(exchange& x) {
  const auto apply = [&x] {
    const auto& name = x.param("name");
    return change_settings(x.services().settings_path, [&](json settings) {
      return with_active_provider(std::move(settings), name);
    });
  };
  auto settings = co_await x.blocking(apply);
  if (settings)
    logging::info("settings", "provider {} was activated by {}", quote_json(x.param("name")),
                  x.who().name);
  co_await send_settings(x, std::move(settings));
}

} // namespace

void add_settings_routes(router& to) {
  to.add("GET", "/api/v1/settings", get_settings);
  to.add("PUT", "/api/v1/settings/providers/{name}", put_provider, scope::admin);
  to.add("POST", "/api/v1/settings/providers/{name}/activate", activate_provider, scope::admin);
}

} // namespace tidemark
