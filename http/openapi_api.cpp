#include "http/openapi.hpp"
#include "http/router.hpp"

// GET /openapi.json: every call that there is, for programs (OpenAPI 3.1).
namespace tidemark {

namespace {

task<void> describe(exchange& with) {
  co_await with.send(200, std::string{openapi_document()});
}

} // namespace

void add_openapi_routes(router& to) {
  to.add("GET", "/openapi.json", describe);
}

} // namespace tidemark
