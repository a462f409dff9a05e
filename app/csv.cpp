#include "app/csv.hpp"

namespace tidemark {

std::string csv_record(const std::vector<std::string_view>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto field = fields[i];
    out += i > 0 ? "," : "";
    const auto is_formula =
      !field.empty() && std::string_view{"=+-@\t\r"}.find(field[0]) != std::string_view::npos;
    if (!is_formula && field.find_first_of("\",\r\n") == field.npos) {
      out += field;
      continue;
    }
    out += '"';
    out += is_formula ? "'" : "";
    for (const auto c : field)
      out += c == '"' ? std::string{"\"\""} : std::string{c};
    out += '"';
  }
  return out + "\r\n";
}

} // namespace tidemark
