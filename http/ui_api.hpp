#pragma once

#include "http/router.hpp"

namespace tidemark {

/// /ui/: the files of the inspector (web/), for everybody. They are no calls, so they stand apart from
/// `add_all_routes` and are not described in docs/openapi.yaml.
void add_ui_routes(router& to);

} // namespace tidemark
