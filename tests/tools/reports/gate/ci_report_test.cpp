// What CI servers read: counts, and text that means something to XML or to GitHub.
#include "tools/reports/gate/ci_report.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

MissingDevice row_of(int device, bool is_kept, const std::string& words) {
  return {device, {.limit = "max-growth 2 %", .is_kept = is_kept, .words = words}};
}

}  // namespace

TEST_CASE("JUnit: no limit is an empty suite", "[reports][gate]") {
  CHECK(junit_report({}) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"highwater check\" tests=\"0\" failures=\"0\" errors=\"0\">\n"
        "  <testsuite name=\"highwater check\" tests=\"0\" failures=\"0\" errors=\"0\">\n"
        "  </testsuite>\n"
        "</testsuites>\n");
}

TEST_CASE("JUnit: kept and failed limits are counted and told apart", "[reports][gate]") {
  CheckResult result;
  result.subject = "a.pickle";
  result.missing = {row_of(0, true, "fine"), row_of(1, false, "grew"), row_of(2, false, "gone")};
  const std::string text = junit_report(result);
  CHECK_THAT(text, Contains("tests=\"3\" failures=\"2\""));
  CHECK_THAT(text,
             Contains("<testcase classname=\"a.pickle\" name=\"device 0: max-growth 2 %\"/>"));
  CHECK_THAT(text, Contains("name=\"device 1: max-growth 2 %\">\n"
                            "      <failure message=\"FAILED: device 1: grew\"/>\n"
                            "    </testcase>\n"));
}

TEST_CASE("JUnit: what means something to XML is escaped, control characters are printable",
          "[reports][gate]") {
  CheckResult result;
  result.subject = "<a>&\"b\"";
  result.missing = {row_of(0, false, "1 < 2\n& \x1b[31m")};
  const std::string text = junit_report(result);
  CHECK_THAT(text, Contains("classname=\"&lt;a&gt;&amp;&quot;b&quot;\""));
  CHECK_THAT(text,
             Contains("1 &lt; 2\\x0A&amp; \\x1B[31m") || Contains("1 &lt; 2\\x0a&amp; \\x1b[31m"));
}

TEST_CASE("annotations: one line for each failure, none for what is kept", "[reports][gate]") {
  CheckResult result;
  CHECK(github_annotations(result).empty());
  result.missing = {row_of(0, true, "fine"), row_of(1, false, "2 % more, see a:b")};
  CHECK(github_annotations(result) ==
        "::error title=highwater check::FAILED: device 1: 2 %25 more, see a:b\n");
}
