#include "http/request_reader.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>

using namespace tidemark;
using part = request_reader::part;
using step = request_reader::step;

namespace {

/// Reads as much of `what` as there is of bytes that come in pieces of `size`.
step read(request_reader& reader, part what, boost::beast::flat_buffer& input,
          std::string_view bytes, std::size_t size, problem& why) {
  auto came = reader.advance(what, input, why);
  while (came == step::need_more && !bytes.empty()) {
    const auto piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    const auto room = input.prepare(piece.size());
    std::copy(piece.begin(), piece.end(), static_cast<char*>(room.data()));
    input.commit(piece.size());
    came = reader.advance(what, input, why);
  }
  return came;
}

/// The status of the refusal of a head whose bytes come in pieces of `size`; 0 if there is none.
int refusal_of_head(const http_options& options, std::string_view bytes, std::size_t size) {
  request_reader reader{options};
  boost::beast::flat_buffer input;
  problem why;
  return read(reader, part::head, input, bytes, size, why) == step::refused ? why.status : 0;
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

SCENARIO("a chunked body may come byte by byte, also an empty one") {
  const http_options options;
  const std::string head = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& [chunks, body] :
       {std::pair{"0\r\n\r\n", ""}, std::pair{"0;ext\r\nTrailer: x\r\n\r\n", ""},
        std::pair{"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc"}}) {
    CAPTURE(chunks);
    for (const auto size : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{1000}}) {
      CAPTURE(size);
      request_reader reader{options};
      boost::beast::flat_buffer input;
      problem why;
      REQUIRE(read(reader, part::head, input, head, head.size(), why) == step::done);
      REQUIRE(read(reader, part::body, input, chunks, size, why) == step::done);
      CHECK(input.size() == 0);
      CHECK(reader.release().body() == body);
    }
  }
}
