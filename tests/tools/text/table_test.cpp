// Rules: a column is declared once, and the formats show the same values, each in its own notation.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tools/text/metrics.hpp"
#include "tools/text/report.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

struct Rank {
  std::string name;
  std::optional<Bytes> peak;
  double share = 0;
  bool fits = true;
};

const Columns<Rank>& rank_columns() {
  using enum Align;
  static const Columns<Rank> kColumns{
      {"name", "rank", left, &Rank::name},
      {"peak.reserved_bytes", "peak reserved", right, &Rank::peak, "peak_reserved"},
      {"share", "share", right, [](const Rank& rank) { return percent_cell(rank.share, 1); }},
      {"fits", "", left, &Rank::fits}};
  return kColumns;
}

Table ranks() {
  return tabulate("Ranks", rank_columns(),
                  std::vector<Rank>{{"a|b", 3_GiB, 0.125, true}, {"c,d", std::nullopt, 0, false}});
}

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

TEST_CASE("table: people see labels, units and aligned columns", "[cli][table]") {
  CHECK(format_aligned(ranks()) ==
        "Ranks\n"
        "  rank  peak reserved   share\n"
        "  a|b        3.00 GiB  12.5 %\n"
        "  c,d               -   0.0 %\n");
}

TEST_CASE("table: Markdown aligns columns and escapes bars", "[cli][table]") {
  CHECK(format_markdown(ranks()) ==
        "### Ranks\n\n"
        "| rank | peak reserved | share |\n"
        "| --- | ---: | ---: |\n"
        "| a\\|b | 3.00 GiB | 12.5 % |\n"
        "| c,d | - | 0.0 % |\n");
}

TEST_CASE("table: CSV is exact, has names of its own and quotes what needs it", "[cli][table]") {
  CHECK(format_csv(ranks()) ==
        "rank,peak_reserved,share\n"
        "a|b,3221225472,0.125\n"
        "\"c,d\",,0\n");
}

TEST_CASE("table: a name from a file is never a formula or a tag", "[cli][table]") {
  const auto csv_of = [](const std::string& name) {
    const std::string csv = format_csv(
        tabulate("", rank_columns(), std::vector<Rank>{{name, std::nullopt, -0.5, true}}));
    return csv.substr(csv.find('\n') + 1);
  };
  CHECK(csv_of("=1+1") == "'=1+1,,-0.5\n");
  CHECK(csv_of("+1+1|cmd,\"q\"") == "\"'+1+1|cmd,\"\"q\"\"\",,-0.5\n");
  CHECK(csv_of("-2+3") == "'-2+3,,-0.5\n");
  CHECK(csv_of("@SUM(1)") == "'@SUM(1),,-0.5\n");
  for (const std::string number : {"-5", "+4.5", "-1e-3", "-", "+0.25 %", "-3.00 MiB"}) {
    CHECK(csv_of(number) == number + ",,-0.5\n");
  }
  const Table table =
      tabulate("<b>", rank_columns(), std::vector<Rank>{{"<script>", std::nullopt, 0, true}});
  CHECK(format_markdown(table).starts_with("### \\<b>\n"));
  CHECK(format_markdown(table).find("| \\<script> |") != std::string::npos);
}

TEST_CASE("table: a backslash in a name does not undo what Markdown escapes", "[cli][table]") {
  // CommonMark 0.30, 2.4: "\\<" is a backslash and the beginning of a tag, "\\\<" is text. GFM
  // splits cells before that, and leaves "\|" together.
  const auto cell_of = [](const std::string& name) {
    const std::string text =
        format_markdown(tabulate("", pick(rank_columns(), {"rank"}), std::vector<Rank>{{name}}));
    return text.substr(text.rfind("\n| ") + 1);
  };
  CHECK(cell_of("\\<script>") == "| \\\\\\<script> |\n");
  CHECK(cell_of("a\\|b") == "| a\\\\\\|b |\n");
  CHECK(cell_of("C:\\train.py") == "| C:\\\\train.py |\n");
}

TEST_CASE("table: JSON nests by the dots of the keys", "[cli][table]") {
  CHECK(boost::json::serialize(rows_json(ranks())) ==
        R"([{"name":"a|b","peak":{"reserved_bytes":3221225472},"share":1.25E-1,"fits":true},)"
        R"({"name":"c,d","peak":{"reserved_bytes":null},"share":0E0,"fits":false}])");
}

TEST_CASE("table: a blank cell has no key in JSON, a null one has", "[cli][table]") {
  const Columns<int> columns{{"none", "none", Align::left, [](int) { return Cell(); }},
                             {"null", "null", Align::left, [](int) { return Cell::blank(); }},
                             {"list", "", Align::left, [](int) {
                                return nested([] { return boost::json::array{1, 2}; });
                              }}};
  CHECK(boost::json::serialize(row_json(columns, 0)) == R"({"null":null,"list":[1,2]})");
  CHECK(format_csv(tabulate("", columns, std::vector<int>{0})) == "none,null\n,\n");
}

TEST_CASE("table: a footer is for people alone, and a column without names has no heading",
          "[cli][table]") {
  Table table = tabulate("",
                         Columns<int>{{"", "", Align::left, [](int) { return "x"; }},
                                      {"n", "n", Align::right, [](int n) { return n; }}},
                         std::vector<int>{7});
  table.footer.push_back({"all", "7"});
  CHECK(format_aligned(table) == "       n\n  x    7\n  all  7\n");
  CHECK(format_csv(table) == "n\n7\n");
}

TEST_CASE("table: columns are picked by key or label", "[cli][table]") {
  CHECK(format_csv(tabulate("", pick(rank_columns(), {"share", "rank"}),
                            std::vector<Rank>{{"a", 1_B, 0.5, true}})) == "share,rank\n0.5,a\n");
}

TEST_CASE("report: each format shows its sections, in order", "[cli][table]") {
  const auto report_as = [](OutputFormat format) {
    Report report(format, "highwater.test/1");
    report.line("first\x1b");
    report.rows("ranks", tabulate("", pick(rank_columns(), {"rank"}), std::vector<Rank>{{"a"}}));
    report.table(tabulate("left out", rank_columns(), std::vector<Rank>{}));
    report.items("List", {"x"});
    report.json("count", [] { return 1; });
    return report.str();
  };
  CHECK(report_as(OutputFormat::table) == "first\\x1B\n  rank\n  a\n\n\nList\n  x\n");
  CHECK(report_as(OutputFormat::markdown) ==
        "first\\\\x1B\n| rank |\n| --- |\n| a |\n\n\nList\n- x\n");
  CHECK(report_as(OutputFormat::csv) == "rank\na\n");
  CHECK(report_as(OutputFormat::json) ==
        R"({"schema":"highwater.test/1","ranks":[{"name":"a"}],"count":1})"
        "\n");
}

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

TEST_CASE("metrics: CSV has every key, and the names that tell subjects apart", "[cli][metrics]") {
  std::vector<MetricLine> lines;
  MetricList list;
  list.add("ooms", "", std::uint64_t{2});
  add_lines({"a"}, list, lines);
  add_lines({"b"}, list, lines);
  CHECK(format_csv(line_table({"file"}, lines)) == "file,metric,value\na,ooms,2\nb,ooms,2\n");
}
