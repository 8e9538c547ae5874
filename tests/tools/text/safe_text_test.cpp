// Rules: no text from a file reaches a terminal or a JSON document unchecked.
#include "tools/text/safe_text.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tools/text/metrics.hpp"

using namespace highwater;

TEST_CASE("safe_text: control characters are shown, not obeyed", "[cli][safe_text]") {
  CHECK(printable("plain \u00e9\u4e2d\U0001F600") == "plain \u00e9\u4e2d\U0001F600");
  CHECK(printable("a\x1b[31m\nb\tc\x7f") == "a\\x1B[31m\\x0Ab\\x09c\\x7F");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\x9B2J");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(valid_utf8("a\x1b\n") == "a\x1b\n");
}

TEST_CASE("safe_text: bytes that are no UTF-8 become U+FFFD", "[cli][safe_text]") {
  const auto [bytes, expected] = GENERATE(table<std::string, std::string>({
      {"a\xff", "a\uFFFD"},                              // never a lead byte
      {"\xe4\xb8", "\uFFFD\uFFFD"},                      // cut off
      {"\xc0\xaf", "\uFFFD\uFFFD"},                      // too long for its value
      {"\xe0\x80\xaf", "\uFFFD\uFFFD\uFFFD"},            // the same in three bytes
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},            // surrogate
      {"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // beyond Unicode
      {"\xe4"
       "a",
       "\uFFFD"
       "a"},
  }));
  CHECK(valid_utf8(bytes) == expected);
  CHECK(printable(bytes) == expected);
}

TEST_CASE("safe_text: every format of a report is safe", "[cli][safe_text]") {
  MetricList list;
  list.title = "t\x1b";
  list.add("keys.k\xff", "l\n", std::string("v\x1b\xff"));
  CHECK(format_aligned(to_table(list)) ==
        "t\\x1B\n  metric     value\n  l\\x0A     v\\x1B\uFFFD\n");
  CHECK(format_markdown(to_table(list)).find('\x1b') == std::string::npos);
  CHECK(format_csv(to_table(list)) == "metric,value\nl\\x0A,v\\x1B\uFFFD\n");
  CHECK(boost::json::serialize(to_json(list)) == "{\"keys\":{\"k\uFFFD\":\"v\\u001b\uFFFD\"}}");
}
