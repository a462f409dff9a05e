#include "http/ui_api.hpp"

#include "http/problem.hpp"
#include "http/ui_files.hpp"

#include <libdeflate.h>

#include <algorithm>

// /ui/: the inspector. Its files are the same for everybody and hold no data, so they need no token; what
// they show they ask for with the token of who looks.
namespace tidemark {

namespace {

constexpr std::string_view page_type = "text/html; charset=utf-8";

constexpr std::string_view absent_page = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tidemark</title>
<h1>This build has no inspector</h1>
<p>It is made of web/ by Node.js 18 or newer and npm, which were not there, or failed, when this program was
built. Install both and build again:</p>
<pre>cmake --preset release -DTIDEMARK_UI=ON
cmake --build --preset release</pre>
<p>Everything else works: see <a href="/health">/health</a> and docs/api.md.</p>
</html>
)";

/// Nothing but the page's own files, from nowhere but here, and in no other page's frame.
std::map<std::string, std::string> safe_headers(std::string_view content_type) {
  auto headers = std::map<std::string, std::string>{};
  headers["Content-Type"] = content_type;
  headers["Content-Security-Policy"] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  headers["X-Content-Type-Options"] = "nosniff";
  headers["X-Frame-Options"] = "DENY";
  headers["Referrer-Policy"] = "no-referrer";
  headers["Cross-Origin-Opener-Policy"] = "same-origin";
  headers["Cross-Origin-Resource-Policy"] = "same-origin";
  return headers;
}

const ui_file* find_file(std::string_view path) {
  const auto files = ui_files();
  const auto found =
    std::find_if(files.begin(), files.end(), [&](const ui_file& f) { return f.path == path; });
  return found == files.end() ? nullptr : &*found;
}

/// Every browser does; what does not is a person with a command line.
bool takes_gzip(const exchange& with) {
  const auto accepted = with.header("Accept-Encoding").value_or("");
  return accepted.find("gzip") != std::string::npos
         && accepted.find("gzip;q=0") == std::string::npos;
}

std::string inflate(const ui_file& file) {
  auto out = std::string(file.size, '\0');
  auto* inflater = ::libdeflate_alloc_decompressor();
  if (inflater)
    ::libdeflate_gzip_decompress(inflater, file.gzip.data(), file.gzip.size(), out.data(),
                                 out.size(), nullptr);
  ::libdeflate_free_decompressor(inflater);
  return out;
}

task<void> send_file(exchange& with, const ui_file& file) {
  auto headers = safe_headers(file.content_type);
  headers["ETag"] = file.etag;
  headers["Vary"] = "Accept-Encoding";
  // Names below assets/ hold a hash of the content; the page that names them is always asked for.
  headers["Cache-Control"] =
    file.path.starts_with("assets/") ? "public, max-age=31536000, immutable" : "no-cache";
  if (with.header("If-None-Match").value_or("").find(file.etag) != std::string::npos) {
    auto nothing = std::string{};
    co_await with.send(304, std::move(nothing), std::move(headers));
    co_return;
  }
  auto body = std::string{};
  if (takes_gzip(with)) {
    headers["Content-Encoding"] = "gzip";
    body = file.gzip;
  } else {
    body = inflate(file);
  }
  co_await with.send(200, std::move(body), std::move(headers));
}

task<void> send_absence(exchange& with) {
  auto headers = safe_headers(page_type);
  headers["Cache-Control"] = "no-store";
  auto page = std::string{absent_page};
  co_await with.send(200, std::move(page), std::move(headers));
}

task<void> front(exchange& with) {
  if (const auto* page = find_file("index.html"))
    co_await send_file(with, *page);
  else
    co_await send_absence(with);
}

task<void> asset(exchange& with) {
  const auto path = "assets/" + with.param("file");
  if (const auto* file = find_file(path)) {
    co_await send_file(with, *file);
    co_return;
  }
  auto why = error{errc::not_found, "the inspector has no such file"};
  co_await send_error(with, std::move(why));
}

/// The page names its files relative to its own address, which ends in a slash.
task<void> to_front(exchange& with) {
  auto headers = safe_headers(page_type);
  headers["Location"] = "/ui/";
  auto nothing = std::string{};
  co_await with.send(308, std::move(nothing), std::move(headers));
}

} // namespace

void add_ui_routes(router& to) {
  to.add("GET", "/ui", to_front, scope::none);
  to.add("GET", "/ui/", front, scope::none);
  to.add("GET", "/ui/assets/{file}", asset, scope::none);
}

} // namespace tidemark
