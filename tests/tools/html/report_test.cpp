// Command line: `report`: the page's data agrees with the replay and stays data whatever is in it.
// How the page behaves is tested in a browser (tests/report).
#include <filesystem>
#include <map>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/html/report_page.hpp"
#include "traces/event.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

const std::string kRecorded = HIGHWATER_SOURCE "/traces/recorded/fake/";

std::string page_of(Arguments arguments) {
  arguments.insert(arguments.begin(), "report");
  arguments.insert(arguments.end(), {"--output", "-"});
  const CommandRun result = run(arguments);
  CAPTURE(result.err);
  REQUIRE(result.code == ExitCode::ok);
  return result.out;
}

boost::json::object data_in(const std::string& page) {
  const std::string_view before = R"(<script type="application/json" id="report-data">)";
  const std::size_t begin = page.find(before) + before.size();
  return boost::json::parse(page.substr(begin, page.find("</script>", begin) - begin)).as_object();
}

std::int64_t sum(const boost::json::array& list, std::string_view key) {
  std::int64_t total = 0;
  for (const auto& part : list) {
    total += part.at(key).to_number<std::int64_t>();
  }
  return total;
}

}  // namespace

TEST_CASE("report: text inside the data cannot end the script it stands in", "[cli][report]") {
  const std::string hostile =
      "</script><script>alert(1)</script><!-- & \xE2\x80\xA8 \xE2\x80\xA9 \"";
  const boost::json::object data{{"site", hostile}};
  const std::string json = page_json(data);
  CHECK_THAT(json, !Contains("<") && !Contains(">") && !Contains("&"));
  CHECK_THAT(json, !Contains("\xE2\x80\xA8") && !Contains("\xE2\x80\xA9"));
  CHECK(boost::json::parse(json).at("site").as_string() == hostile);
  CHECK_THAT(report_page(data), !Contains("<script>alert"));
}

TEST_CASE("report: what looks like a placeholder in the data stays as it is", "[cli][report]") {
  const boost::json::object data{{"title", "{{nonce}} {{data}} {{file d3.js}}"}};
  CHECK(data_in(report_page(data)).at("title").as_string() == "{{nonce}} {{data}} {{file d3.js}}");
}

TEST_CASE("report: the figures are those of replay", "[cli][report]") {
  const std::string file = kRecorded + "gpt2-fp32-varlen-expandable-limit2700.hwt.xz";
  const auto data = data_in(page_of({file}));
  const auto replay = json_of("replay " + file).at("devices").at(0).as_object();
  for (const std::string key : {"requested", "allocated", "active", "reserved"}) {
    CHECK(data.at("peaks").at(key) == replay.at("peak").at(key + "_bytes"));
  }
  CHECK(data.at("ooms") == replay.at("ooms"));
  CHECK(data.at("operations") == replay.at("events").at("replayed"));
}

TEST_CASE("report: the maps add up to the curves", "[cli][report]") {
  const auto data = data_in(page_of(words("--model gpt2 --seq 64 --steps 2")));
  REQUIRE(data.at("moments").as_array().size() >= 3);
  for (const auto& moment : data.at("moments").as_array()) {
    const auto& map = moment.at("map");
    const auto& rows = map.at("rows").as_array();
    const auto& rests = map.at("rests").as_array();
    const auto& usage = moment.at("usage");
    CHECK(sum(rows, "size") + sum(rests, "size") == usage.at("reserved").to_number<std::int64_t>());
    CHECK(sum(rows, "active") + sum(rests, "active") ==
          usage.at("allocated").to_number<std::int64_t>());
  }
}

TEST_CASE("report: a bar whose settings are the run's own is not shown twice", "[cli][report]") {
  const auto labels = [](const boost::json::object& data) {
    std::vector<std::string> list;
    for (const auto& bar : data.at("bars").as_array()) {
      list.emplace_back(bar.at("label").as_string().c_str());
    }
    return list;
  };
  const std::string plan = "--model gpt2 --seq 64 ";
  using Words = std::vector<std::string>;
  CHECK(labels(data_in(page_of(words(plan)))) ==
        Words{"max live", "packed offline", "expandable segments", "this run (defaults)"});
  CHECK(labels(data_in(page_of(words(plan + "--alloc-conf expandable_segments:True")))) ==
        Words{"max live", "packed offline", "default settings", "this run"});
  CHECK(labels(data_in(page_of(words(plan + "--alloc-conf max_split_size_mb:64")))) ==
        Words{"max live", "packed offline", "expandable segments", "default settings", "this run"});
}

TEST_CASE("report: bands of a plan know their categories and stacks", "[cli][report]") {
  const auto data = data_in(page_of(words("--model gpt2 --seq 64 --steps 2")));
  const auto& bands = data.at("bands").as_object();
  CHECK(bands.at("has_categories").as_bool());
  CHECK(bands.at("categories").as_array().size() == kCategoryCount);
  REQUIRE(bands.at("blocks").as_array().size() > 100);
  const auto& stacks = bands.at("stacks").as_array();
  const auto& frames = bands.at("frames").as_array();
  for (const auto& block : bands.at("blocks").as_array()) {
    const auto stack = block.at(2).as_int64();
    REQUIRE((stack >= -1 && stack < static_cast<std::int64_t>(stacks.size())));
  }
  for (const auto& node : stacks) {
    REQUIRE(node.at(0).as_int64() < static_cast<std::int64_t>(frames.size()));
    REQUIRE(node.at(1).as_int64() < static_cast<std::int64_t>(stacks.size()));
  }
  CHECK(data.at("times").is_null());
}

TEST_CASE("report: frames say whose code they are, as call sites do", "[cli][report]") {
  const test::TempDir folder;
  const std::string file = (folder / "a.trace").string();
  test::write_file(file,
                   "conf \n"
                   "frame 0 1 C:\\\\me\\\\Lib\\\\site-packages\\\\torch\\\\nn.py\tforward\n"
                   "frame 1 2 /tmp/torchinductor_me/ab/cab.py\tcall\n"
                   "frame 2 3 /home/me/torch_models/train.py\tstep\n"
                   "stack 0 0 1 2\n"
                   "a x 1048576 0 activation @0\n");
  const auto data = data_in(page_of({file}));
  std::map<std::string, std::string> code;
  for (const auto& frame : data.at("bands").at("frames").as_array()) {
    code[boost::json::value_to<std::string>(frame.at(0))] =
        boost::json::value_to<std::string>(frame.at(2));
  }
  CHECK(code == std::map<std::string, std::string>{
                    {"forward", "torch"}, {"call", "torch"}, {"step", "user"}});
}

TEST_CASE("report: two files in one page, and what changes the peak", "[cli][report]") {
  const std::string first = kRecorded + "gpt2-fp32-varlen-capacity2700.hwt.xz";
  const std::string second = kRecorded + "gpt2-fp32-varlen-expandable-limit2700.hwt.xz";
  const auto data = data_in(page_of({first, second}));
  REQUIRE(data.at("runs").as_array().size() == 2);
  CHECK(data.at("runs").at(0) == data_in(page_of({first})));
  CHECK(data.at("runs").at(1) == data_in(page_of({second})));
  const auto& comparison = data.at("comparison");
  for (const std::string list : {"parts", "sites"}) {
    for (const std::size_t side : {std::size_t{1}, std::size_t{2}}) {
      std::int64_t total = 0;
      for (const auto& row : comparison.at(list).as_array()) {
        total += row.at(side).to_number<std::int64_t>();
      }
      CHECK(total == comparison.at("total").at(side).to_number<std::int64_t>());
    }
  }
  CHECK_THAT(std::string(comparison.at("verdict").as_string()), Contains("B reserves"));
}

TEST_CASE("report: an edited run beside the run as it was", "[cli][report][edits]") {
  const std::string edits = HIGHWATER_SOURCE "/traces/recorded/edits/";
  const std::string file = edits + "stashing-none-torch2.15.hwt.xz";
  const auto data = data_in(page_of({file, "--edit", "empty_cache:step"}));
  const auto& runs = data.at("runs").as_array();
  REQUIRE(runs.size() == 2);
  CHECK(runs.at(0) == data_in(page_of({file})));
  CHECK(runs.at(1).at("title").as_string() == "stashing-none-torch2.15.hwt.xz, empty_cache:step");
  // The peak of the recording of the program that empties its cache itself.
  const auto mended = data_in(page_of({edits + "stashing-empty-cache-torch2.15.hwt.xz"}));
  CHECK(runs.at(1).at("peaks") == mended.at("peaks"));
  CHECK(runs.at(0).at("peaks") != mended.at("peaks"));
}

TEST_CASE("report: what each pool takes over time adds up to reserved", "[cli][report]") {
  const std::string edits = HIGHWATER_SOURCE "/traces/recorded/edits/";
  const auto data = data_in(page_of({edits + "captures-none-torch2.15.hwt.xz"}));
  const auto& pools = data.at("bands").at("pools").as_array();
  REQUIRE(pools.size() == 5);
  CHECK(pools.at(0).at("name").as_string() == "common pools");
  std::int64_t last = 0;
  for (const auto& pool : pools) {
    for (const auto& change : pool.at("changes").as_array()) {
      last += change.to_number<std::int64_t>();
    }
  }
  CHECK(last == std::int64_t{576} << 20U);
  const auto plain = data_in(page_of({edits + "none-torch2.15.hwt.xz"}));
  CHECK(plain.at("bands").at("pools").as_array().empty());
}

TEST_CASE("report: the same input gives the same bytes", "[cli][report]") {
  const Arguments plan = words("--model gpt2 --seq 64 --steps 2 --capacity 1GiB");
  CHECK(page_of(plan) == page_of(plan));
}

TEST_CASE("report: wrong use is refused, and nothing is written", "[cli][report]") {
  const test::TempDir folder;
  const std::string output = (folder.path() / "report.html").string();
  CHECK(run({"report", "--output", output}).code == ExitCode::usage);
  CHECK(run({"report", "a", "b", "c", "--output", output}).code == ExitCode::usage);
  CHECK(run({"report", "-", "-", "--output", output}).code == ExitCode::usage);
  CHECK(run({"report", kRecorded + "none.pickle", "--output", output}).code == ExitCode::bad_input);
  CHECK(run({"report", kRecorded + "gpt2-fp32-varlen-expandable-limit2700.hwt.xz", "--alloc-conf",
             "nonsense:1", "--output", output})
            .code == ExitCode::usage);
  CHECK_FALSE(std::filesystem::exists(output));
}
