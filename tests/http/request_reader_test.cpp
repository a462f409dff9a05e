#include "http/request_reader.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>

using namespace tidemark;
using part = request_reader::part;
using step = request_reader::step;

namespace {

/// Reads a head whose bytes come in pieces of `size`. Returns the status of the refusal, 0 if none.
int refusal_of_head(const http_options& options, std::string_view bytes, std::size_t size) {
  request_reader reader{options};
  boost::beast::flat_buffer input;
  problem why;
  auto came = step::need_more;
  while (came == step::need_more && !bytes.empty()) {
    const auto piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    const auto room = input.prepare(piece.size());
    std::copy(piece.begin(), piece.end(), static_cast<char*>(room.data()));
    input.commit(piece.size());
    came = reader.advance(part::head, input, why);
  }
  return came == step::refused ? why.status : 0;
}

std::string head_of(std::size_t size) {
  const std::string begin = "GET /a/rather/long/path HTTP/1.1\r\nHost: localhost\r\nX: ";
  const std::string end = "\r\n\r\n";
  return begin + std::string(size - begin.size() - end.size(), 'x') + end;
}

} // namespace

SCENARIO("the limit of a request's head is the same however its bytes are cut") {
  http_options options;
  options.max_header_bytes = 300;
  for (const auto size : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    CAPTURE(size);
    CHECK(refusal_of_head(options, head_of(300), size) == 0);
    CHECK(refusal_of_head(options, head_of(301), size) == 431);
    CHECK(refusal_of_head(options, head_of(320), size) == 431);
  }
}

SCENARIO("a malformed body does not hide what is wrong with its head") {
  http_options options;
  const std::string bytes =
    "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n";
  CHECK(refusal_of_head(options, bytes, bytes.size()) == 0);
}
