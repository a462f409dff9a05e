#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// What a request says beside its path and body.
class request_parameters {
public:
  virtual ~request_parameters() = default;

  /// A query parameter, percent-decoded; the first if it is given twice.
  [[nodiscard]] virtual std::optional<std::string> query(std::string_view name) const = 0;
  [[nodiscard]] virtual std::optional<std::string> header(std::string_view name) const = 0;
};

} // namespace tidemark
