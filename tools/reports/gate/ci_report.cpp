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

/// In a property a colon and a comma would end it; in the message they are escaped for nothing.
std::string annotation(std::string_view text) {
  static constexpr Escape kEscapes[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}};
  return escaped(printable(text), kEscapes);
}

std::size_t failures(const CheckResult& result) {
  std::size_t count = 0;
  for (const CheckedDevice& device : result.devices) {
    count +=
        static_cast<std::size_t>(std::ranges::count(device.limits, false, &LimitCheck::is_kept));
  }
  return count;
}

std::size_t cases(const CheckResult& result) {
  std::size_t count = 0;
  for (const CheckedDevice& device : result.devices) {
    count += device.limits.size();
  }
  return count;
}

std::string test_case(const CheckResult& result, const CheckedDevice& device,
                      const LimitCheck& limit) {
  const std::string name = fmt::format("device {}: {}", device.workload.replay.device, limit.limit);
  const std::string text =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(result.subject), xml(name));
  return limit.is_kept ? text + "/>\n"
                       : text + fmt::format(">\n      <failure message=\"{}\"/>\n    </testcase>\n",
                                            xml(check_line(result, device, limit)));
}

}  // namespace

std::string junit_report(const CheckResult& result) {
  const std::string counts =
      fmt::format("name=\"highwater check\" tests=\"{}\" failures=\"{}\" errors=\"0\"",
                  cases(result), failures(result));
  std::string text =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {}>\n",
                  counts, counts);
  for (const CheckedDevice& device : result.devices) {
    for (const LimitCheck& limit : device.limits) {
      text += test_case(result, device, limit);
    }
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

std::string github_annotations(const CheckResult& result) {
  std::string text;
  for (const CheckedDevice& device : result.devices) {
    for (const LimitCheck& limit : device.limits) {
      if (!limit.is_kept) {
        text += fmt::format("::error title=highwater check::{}\n",
                            annotation(check_line(result, device, limit)));
      }
    }
  }
  return text;
}

}  // namespace highwater
