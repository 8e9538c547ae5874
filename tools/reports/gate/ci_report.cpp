#include "tools/reports/gate/ci_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/reports/gate/check_report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

/// A character that a format gives a meaning, and what stands for it.
struct Escape {
  char character;
  std::string_view text;
};

template <std::size_t kCount>
std::string escaped(std::string_view text, const Escape (&escapes)[kCount]) {
  std::string result;
  for (const char c : text) {
    const auto found = std::ranges::find(escapes, c, &Escape::character);
    found == std::end(escapes) ? result += c : result += found->text;
  }
  return result;
}

/// XML has no way to write control characters: they are made printable first.
std::string xml(std::string_view text) {
  static constexpr Escape kEscapes[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  return escaped(printable(text), kEscapes);
}

/// The text stands in the message, where only % has a meaning. In a property ':' and ',' would need
/// escaping, too.
std::string annotation(std::string_view text) {
  static constexpr Escape kEscapes[] = {{'%', "%25"}};
  return escaped(printable(text), kEscapes);
}

bool is_failure(const CheckRow& row) {
  return !row.limit->is_kept;
}

std::string test_case(const CheckResult& result, const CheckRow& row) {
  const std::string name = fmt::format("device {}: {}", row.device, row.limit->limit);
  const std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(result.subject), xml(name));
  return is_failure(row)
             ? text + fmt::format(">\n      <failure message=\"{}\"/>\n    </testcase>\n",
                                  xml(check_line(result, row)))
             : text + "/>\n";
}

}  // namespace

std::string junit_report(const CheckResult& result) {
  const std::vector<CheckRow> rows = check_rows(result);
  const std::string counts =
      fmt::format("name=\"highwater check\" tests=\"{}\" failures=\"{}\" errors=\"0\"", rows.size(),
                  std::ranges::count_if(rows, is_failure));
  std::string text =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {}>\n",
                  counts, counts);
  for (const CheckRow& row : rows) {
    text += test_case(result, row);
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

std::string github_annotations(const CheckResult& result) {
  std::string text;
  for (const CheckRow& row : check_rows(result)) {
    if (is_failure(row)) {
      text +=
          fmt::format("::error title=highwater check::{}\n", annotation(check_line(result, row)));
    }
  }
  return text;
}

}  // namespace highwater
