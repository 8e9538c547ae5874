// Rules: the output formats show the same metrics, each in its own notation.
#include "tools/text/metrics.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

namespace {

MetricList sample() {
  MetricList list;
  list.add("peak.reserved_bytes", "peak reserved", 3_GiB);
  list.add("counts.ooms", "out of memory", std::uint64_t{2});
  list.add("fragmentation.peak", "fragmentation", 0.125);
  list.add("truncated", "", true);
  list.add("capacity_bytes", "capacity", MetricValue());
  list.add("settings", "settings", std::string("a:1,b:2"));
  return list;
}

}  // namespace

TEST_CASE("metrics: JSON nests by dots, with exact integers and null for absence",
          "[cli][metrics]") {
  CHECK(boost::json::serialize(to_json(sample())) ==
        R"({"peak":{"reserved_bytes":3221225472},"counts":{"ooms":2},)"
        R"("fragmentation":{"peak":1.25E-1},"truncated":true,"capacity_bytes":null,)"
        R"("settings":"a:1,b:2"})");
}

TEST_CASE("metrics: tables show labels and IEC units and leave out what has no label",
          "[cli][metrics]") {
  CHECK(format_aligned(to_table(sample())) ==
        "  metric            value\n"
        "  peak reserved  3.00 GiB\n"
        "  out of memory         2\n"
        "  fragmentation    0.1250\n"
        "  capacity              -\n"
        "  settings        a:1,b:2\n");
}

TEST_CASE("metrics: CSV quotes what needs it", "[cli][metrics]") {
  const TextTable table{"", {"a", "b"}, {{"x,y", "say \"no\""}, {"plain", ""}}, {}};
  CHECK(format_csv(table) == "a,b\n\"x,y\",\"say \"\"no\"\"\"\nplain,\n");
}

TEST_CASE("metrics: Markdown aligns columns and escapes bars", "[cli][metrics]") {
  const TextTable table{"T", {"a", "b"}, {{"x|y", "1"}}, {false, true}};
  CHECK(format_markdown(table) == "### T\n\n| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n");
}
