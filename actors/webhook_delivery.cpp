#include "actors/webhook_delivery.hpp"

#include "replay/sse_frame.hpp"
#include "storage/hash_chain.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tidemark {

std::string webhook_signature(std::string_view secret, std::int64_t unix_seconds,
                              std::string_view body) {
  const auto time = std::to_string(unix_seconds);
  auto signed_text = time + ".";
  signed_text += body;
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned int size = 0;
  ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(),
         code.data(), &size);
  return "t=" + time + ",v1=" + to_hex({code.data(), size});
}

webhook_request request_for(const webhook& push, const std::string& workspace,
                            const std::string& name, const event_view& e, offset missed) {
  webhook_request out;
  out.url = push.url;
  append_envelope(out.body, e, false);
  const auto seconds = now_utc().nanoseconds / 1'000'000'000;
  out.headers = {"Content-Type: application/json",
                 "User-Agent: tidemark/" TIDEMARK_VERSION,
                 "Tidemark-Workspace: " + workspace,
                 "Tidemark-Webhook: " + name,
                 "Tidemark-Event: " + cursor{e.incarnation, e.at}.str(),
                 "Tidemark-Signature: " + webhook_signature(push.secret, seconds, out.body)};
  if (missed > offset{})
    out.headers.push_back("Tidemark-Missed: " + cursor{e.incarnation, missed}.str());
  return out;
}

std::chrono::milliseconds retry_delay(std::size_t failures, std::chrono::milliseconds first,
                                      std::chrono::milliseconds longest, std::uint32_t random) {
  auto delay = std::min(first, longest);
  for (std::size_t i = 1; i < failures && delay < longest; ++i)
    delay = std::min(delay * 2, longest);
  const auto half = delay.count() / 2;
  return delay - std::chrono::milliseconds{half > 0 ? random % (half + 1) : 0};
}

delivery_outcome outcome_of(const webhook_answer& answer) {
  if (answer.status >= 200 && answer.status < 300)
    return delivery_outcome::delivered;
  return answer.status == 410 ? delivery_outcome::refused : delivery_outcome::failed;
}

std::string description_of(const webhook_answer& answer) {
  return answer.status == 0 ? answer.error : "status " + std::to_string(answer.status);
}

bool takes_type(const std::vector<std::string>& types, std::string_view type) {
  const auto fits = [&](std::string_view wanted) {
    return wanted.ends_with('*') ? type.starts_with(wanted.substr(0, wanted.size() - 1))
                                 : type == wanted;
  };
  return types.empty() || std::ranges::any_of(types, fits);
}

} // namespace tidemark
