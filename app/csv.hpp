#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// One record of RFC 4180, CRLF at its end. A field that a spreadsheet would take for a formula (it
/// begins with `=`, `+`, `-`, `@`, a tab or a carriage return) gets an apostrophe in front, which
/// spreadsheets take for "this is text": what agents and their tools are called is not ours to trust.
std::string csv_record(const std::vector<std::string_view>& fields);

} // namespace tidemark
