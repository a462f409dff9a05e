#pragma once

#include <span>
#include <string_view>

namespace tidemark {

/// One file of the inspector (web/), as the build put it into this program.
struct ui_file {
  std::string_view path;         ///< below /ui/: `index.html`, `assets/…`
  std::string_view content_type; ///< with its charset
  std::string_view etag;         ///< weak, with its quotes: the content is sent compressed or not
  std::string_view gzip;         ///< the content, compressed
  std::size_t size = 0;          ///< of the content
};

/// All files, for as long as the program runs; none in a build without the inspector (TIDEMARK_UI).
std::span<const ui_file> ui_files() noexcept;

} // namespace tidemark
