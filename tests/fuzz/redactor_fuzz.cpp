// No secret survives, wherever the stream that holds it is cut, and nothing else is lost.
// Input: seed of the split (2 bytes), a line with a secret, a line with another one, the text.
#include "base/json.hpp"
#include "base/stream_redactor.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

std::string streamed(const redactor& mask, const std::vector<std::string_view>& pieces) {
  stream_redactor stream;
  std::string shown;
  for (const auto piece : pieces)
    shown += stream.push(mask, piece);
  return shown + stream.finish(mask);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const auto seed = in.number(2);
  std::vector<std::string> secrets;
  for (int i = 0; i < 2; ++i) {
    const auto secret = in.line();
    // One that holds part of the mask could be put together by the mask itself.
    if (secret.find_first_of("[]") == secret.npos)
      secrets.emplace_back(secret);
  }
  const redactor mask{secrets};
  const auto whole = mask.apply(in.rest());
  require(mask.concerns(in.rest()) == (whole != in.rest()), "what concerns it is what it changes");
  require(mask.settled(in.rest()) <= in.rest().size(), "no more is settled than there is");
  for (const auto& secret : secrets) {
    if (secret.size() < redactor::minimum_length)
      continue;
    require(whole.find(secret) == whole.npos, "no secret survives", whole);
    const auto quoted = quote_json(secret);
    const auto masked = mask.apply(quoted);
    require(masked.find(quoted.substr(1, quoted.size() - 2)) == masked.npos, "nor its JSON form",
            masked);
  }
  for (const auto how : {std::uint64_t{0}, std::uint64_t{1}, seed})
    require(streamed(mask, fuzz::pieces_of(in.rest(), how)) == whole,
            "every split is masked as the whole");
  return 0;
}
