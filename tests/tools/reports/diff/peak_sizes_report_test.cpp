// Blocks by size at two peaks: no rows, more rows than shown, growth either way.
#include "tools/reports/diff/peak_sizes_report.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;
using Catch::Matchers::Contains;

namespace {

PeakSizes of_rows(std::vector<PeakSize> rows) {
  return {6_MiB, 4_MiB, std::move(rows)};
}

}  // namespace

TEST_CASE("peak sizes: two sites are named, the others counted", "[reports][diff]") {
  CHECK(sites_text({}).empty());
  CHECK(sites_text({{"a.py:1", 4}}) == "4 a.py:1");
  CHECK(sites_text({{"a.py:1", 4}, {"b.py:2", 3}}) == "4 a.py:1, 3 b.py:2");
  CHECK(sites_text({{"a.py:1", 4}, {"b.py:2", 3}, {"c.py:3", 2}, {"d.py:4", 1}}) ==
        "4 a.py:1, 3 b.py:2, 2 more");
}

TEST_CASE("peak sizes: no row says so beside the totals", "[reports][diff]") {
  CHECK(peak_sizes_text(of_rows({}), 10) ==
        "\nMost requested at once 6.00 MiB -> 4.00 MiB: the same blocks by size\n");
}

TEST_CASE("peak sizes: less, more, and equal bytes of other sites", "[reports][diff]") {
  const std::string text = peak_sizes_text(
      of_rows(
          {{2_MiB, 3, 1, {}, {}}, {1_KiB, 0, 2, {}, {}}, {512_B, 1, 1, {{"a", 1}}, {{"b", 1}}}}),
      3);
  CHECK_THAT(text, Contains("-4.00 MiB"));
  CHECK_THAT(text, Contains("+2.00 KiB"));
  CHECK_THAT(text, Contains("  =  "));
  CHECK_THAT(text, Contains("1 a") && Contains("1 b"));
  CHECK_THAT(text, !Contains("more sizes"));
}

TEST_CASE("peak sizes: the rows beyond --top are counted", "[reports][diff]") {
  const PeakSizes sizes =
      of_rows({{2_MiB, 3, 1, {}, {}}, {1_MiB, 0, 2, {}, {}}, {3_KiB, 1, 0, {}, {}}});
  const std::string text = peak_sizes_text(sizes, 1);
  CHECK_THAT(text, Contains("2.00 MiB") && !Contains("3.00 KiB"));
  CHECK_THAT(text, Contains("  ... 2 more sizes (--top)\n"));
  CHECK_THAT(peak_sizes_text(sizes, 3), !Contains("more sizes"));
  CHECK_THAT(peak_sizes_text(sizes, 4), Contains("3.00 KiB") && !Contains("more sizes"));
}

TEST_CASE("peak sizes: JSON has every row, in bytes with their sign", "[reports][diff]") {
  const auto object =
      peak_sizes_json(of_rows({{2_MiB, 3, 1, {{"a", 2}}, {}}, {512_B, 0, 1, {}, {}}}));
  CHECK(object.at("first_bytes").as_uint64() == (6_MiB).count());
  const auto& rows = object.at("sizes").as_array();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("change_bytes").as_int64() == -4 * 1048576);
  CHECK(rows[0].at("only_first").as_array()[0].at("site").as_string() == "a");
  CHECK(rows[0].at("only_second").as_array().empty());
  CHECK(rows[1].at("change_bytes").as_int64() == 512);
}
