#include "app/commands.hpp"
#include "base/json.hpp"
#include "storage/files.hpp"
#include "storage/log_checkpoint.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

namespace tidemark {
namespace {

int make_key(const std::string& file, terminal& to) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed))
    return report_local_failure(
      {errc::conflict,
       fmt::format("{} is there already: a key that is lost cannot be made again", file)},
      to);
  const auto key = signing_key::generate();
  if (!key)
    return report_local_failure(key.error(), to);
  if (const auto written = files::write_durably(file, key->private_pem()); !written)
    return report_local_failure(written.error(), to);
  to.out << key->public_pem();
  to.err << fmt::format("The private key is in {}: keep it where the server cannot read it. The "
                        "public key above is for everybody who verifies.\n",
                        file);
  return exit_ok;
}

} // namespace

int run_checkpoint(const api_address& server, const checkpoint_options& what, terminal& to) {
  if (!what.new_key.empty())
    return make_key(what.new_key, to);
  std::error_code ignored;
  if (!what.output.empty() && !what.overwrite && std::filesystem::exists(what.output, ignored))
    return report_local_failure(
      {errc::conflict,
       fmt::format("{} is there already: --overwrite puts the new checkpoint in its place",
                   what.output)},
      to);
  std::optional<signing_key> key;
  if (!what.sign.empty()) {
    auto loaded = signing_key::load(what.sign);
    if (!loaded)
      return report_local_failure(loaded.error(), to);
    key = std::move(*loaded);
  }
  api_client client{server};
  const auto response = client.call("GET", "/api/v1/checkpoint");
  if (!response)
    return report_failure(response.error(), server, to);
  const auto checkpoint = parse_json(response->body).and_then(parse_checkpoint);
  if (!checkpoint)
    return report_failure(error{errc::internal, "the server's response is no checkpoint: "
                                                  + checkpoint.error().message},
                          server, to);
  const auto text = checkpoint_file(*checkpoint, key ? &*key : nullptr);
  if (what.output.empty()) {
    to.out << text;
    return exit_ok;
  }
  if (const auto written = files::write_durably(what.output, text); !written)
    return report_local_failure(written.error(), to);
  to.err << fmt::format("{} {} up to position {} written to {}{}\n", checkpoint->streams.size(),
                        checkpoint->streams.size() == 1 ? "workspace" : "workspaces",
                        checkpoint->head.value, what.output, key ? ", signed" : ", not signed");
  return exit_ok;
}

} // namespace tidemark
