// Command line: `validate [GRID]`: plans in the file's order, what is refused and what is wrong,
// summaries against the points they are of, measurements.
#include <algorithm>
#include <sstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/studies/validation/grid_default.hpp"
#include "tools/studies/validation/grid_file.hpp"
#include "tools/studies/validation/grid_plans.hpp"
#include "workloads/estimates/terms/formula.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

/// `text` as a grid file given to validate.
CommandRun run_grid_file(const std::string& text, Arguments options = {}) {
  const test::TempDir folder;
  test::write_file(folder / "grid.json", text);
  options.insert(options.begin(), {"validate", (folder / "grid.json").string()});
  return run(options);
}

boost::json::object grid_json_of(const std::string& text, const Arguments& options = {}) {
  Arguments all = options;
  all.insert(all.end(), {"--format", "json"});
  const CommandRun result = run_grid_file(text, all);
  CAPTURE(result.err);
  REQUIRE(result.code == ExitCode::ok);
  return boost::json::parse(result.out).as_object();
}

std::vector<std::string> labels_of(const boost::json::array& points) {
  std::vector<std::string> labels;
  for (const auto& point : points) {
    labels.emplace_back(point.at("label").as_string().c_str());
  }
  return labels;
}

/// Rows of a CSV without quoted fields, the header first.
std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream fields(line + ",");
    for (std::string field; std::getline(fields, field, ',');) {
      row.push_back(field);
    }
  }
  return rows;
}

std::size_t column(const std::vector<std::vector<std::string>>& rows, const std::string& name) {
  const auto found = std::ranges::find(rows.front(), name);
  REQUIRE(found != rows.front().end());
  return static_cast<std::size_t>(found - rows.front().begin());
}

const boost::json::object& form_of(const boost::json::value& list, std::string_view name) {
  const auto& array = list.as_array();
  const auto* const found = std::ranges::find_if(
      array, [&](const auto& form) { return form.at("name").as_string() == name; });
  REQUIRE(found != array.end());
  return found->as_object();
}

}  // namespace

TEST_CASE("grid: the cross product in the file's order, the last field fastest, then the cases",
          "[cli][grid]") {
  const auto entries = read_grid(
      R"({"grid": [{"model": ["gpt2", "opt-125m"], "batch": [1, 4]}, {"model": "t5-small"}],
          "cases": [{"model": "gpt2", "seq": [512, 1024], "keep_logits": true, "dropout": null,
                     "measured": {"reserved_bytes": 77, "source": "here"}}]})",
      "grid.json");
  const GridPlans plans = grid_plans(entries, "grid.json");
  std::vector<std::string> labels;
  for (const GridPoint& point : plans.points) {
    labels.push_back(point.label);
  }
  CHECK(labels == std::vector<std::string>{
                      "model=gpt2 batch=1", "model=gpt2 batch=4", "model=opt-125m batch=1",
                      "model=opt-125m batch=4", "model=t5-small",
                      "model=gpt2 seq=512,1024 keep-logits=true dropout=none"});
  const GridPoint& last = plans.points.back();
  CHECK(last.options == "--model gpt2 --seq 512,1024 --keep-logits true --dropout none");
  CHECK(last.run.plan.seq == std::vector<std::int64_t>{512, 1024});
  REQUIRE(last.measured.has_value());
  CHECK(last.measured->figure == MeasuredFigure::reserved);
  CHECK(last.measured->bytes == Bytes{77});
  CHECK(last.measured->source == "here");
  CHECK(entries[1].options[1].path == "grid[0].batch[1]");
}

TEST_CASE("grid: combinations that the rules refuse are left out with the reason", "[cli][grid]") {
  const std::string grid =
      R"({"grid": {"model": "gpt2", "seq": 64, "batch": 1, "tp": [1, 2],
                   "master-weights": [false, true]}})";
  const auto root = grid_json_of(grid);
  CHECK(labels_of(root.at("points").as_array()) ==
        std::vector<std::string>{"model=gpt2 seq=64 batch=1 tp=1 master-weights=false"});
  const auto& skipped = root.at("skipped").as_array();
  REQUIRE(skipped.size() == 3);
  CHECK_THAT(skipped[1].at("reasons").as_array()[0].as_string().c_str(),
             Contains("the simulation does not support this kind of tensor parallelism"));
  const CommandRun table = run_grid_file(grid);
  CHECK_THAT(table.out, Contains("Skipped: 3 plans"));
  CHECK_THAT(table.out, Contains("1 plan simulated, 3 skipped"));
}

TEST_CASE("grid: a form that says nothing about a plan says why", "[cli][grid]") {
  const std::string grid =
      R"({"grid": {"model": "gpt2", "seq": 64, "mode": ["train", "eval"], "steps": 1}})";
  const auto root = grid_json_of(grid);
  const auto& eval = root.at("points").as_array()[1];
  const std::string reason =
      form_of(eval.at("not_applicable"), "4n").at("reason").as_string().c_str();
  CHECK_FALSE(reason.empty());
  const auto& form = form_of(root.at("summary").at("estimates"), "4n");
  CHECK(form.at("refused").to_number<int>() == 1);
  CHECK(form.at("error_vs_simulated").at("count").to_number<int>() == 1);
  CHECK_THAT(run_grid_file(grid).out, Contains("Not applicable") && Contains(reason));
}

TEST_CASE("grid: what is wrong in a file is said with its field", "[cli][grid]") {
  const auto check = [](const std::string& text, const std::string& message) {
    const CommandRun result = run_grid_file(text);
    CAPTURE(text);
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains(message));
    CHECK(result.out.empty());
  };
  check(R"({"grid": {"model": "gpt2", "checkpoint": ["none", "ful"]}})",
        "grid.json: grid.checkpoint[1]: --checkpoint ful: unknown; did you mean full?");
  check(R"({"grid": {"model": ["gpt2", "gtp2"]}})", "grid.model[1]: --model");
  check(R"({"grid": [{"model": "gpt2", "bach": 1}]})", "did you mean --batch?");
  check(R"({"cases": [{"model": "gpt2", "batch": 0}]})", "cases[0].batch: --batch 0: use a number");
  check(R"({"cases": [{"model": "nosuch/config.json"}]})", "cases[0].model: nosuch/config.json");
  check(R"({"cases": [{"batch": 1}]})", "cases[0]: the field 'model' is missing");
  check(R"({"grid": {"model": []}})", "grid.model: an empty list yields no plans");
  check(R"({"grid": {"model": {"name": "gpt2"}}})", "grid.model: expected a string, a number");
  check(R"({"grid": {"model": "gpt2", "help": true}})", "grid.help");
  check(R"({"grid": {"model": "gpt2", "": true}})", "grid.");
  check(R"({"grid": {"model": "gpt2", "measured": {}}})", "grid.measured: a cross product");
  check(R"({"cases": [{"model": "gpt2", "measured": {}}]})", "cases[0].measured: missing figure");
  check(R"({"cases": [{"model": "gpt2", "measured": {"process_bytes": 0}}]})",
        "cases[0].measured.process_bytes: nothing was measured");
  check(R"({"cases": [{"model": "gpt2", "measured": {"process_bytes": 1, "GB": 1}}]})",
        "cases[0].measured.GB: unknown");
  check(R"({"cases": [{"model": "gpt2", "use-cache": true, "use_cache": true}]})",
        "cases[0].use_cache: --use-cache is given twice");
  check(R"({"grids": {}})", "grids: unknown field; a grid file has the fields grid and cases");
  check(R"({"grid": {"model": "gpt2", "engine": "torch", "python": ["./program"]}})",
        "grid.python[0]: names a program to run ('./program'), which a file is not allowed to do");
  check(R"({"cases": [{"model": "model.py:make"}]})",
        "cases[0].model: names Python code to run ('model.py:make'), which a file is not allowed "
        "to do");
  check("{}", "contains no plans");
  check("[]", "expected an object");
  check("{", "byte 1: not JSON");
  CHECK(run({"validate", "nosuch.json"}).code == ExitCode::bad_input);
}

TEST_CASE("grid: the number of plans is limited", "[cli][grid]") {
  std::string batches = "1";
  for (int batch = 2; batch <= 101; ++batch) {
    batches += fmt::format(", {}", batch);
  }
  const std::string text = fmt::format(
      R"({{"grid": {{"model": "gpt2", "batch": [{}], "seq": [{}]}}}})", batches, batches);
  const CommandRun result = run_grid_file(text);
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.err, Contains("more than 10000 plans"));
}

TEST_CASE("grid: summaries are those of the points", "[cli][grid]") {
  const std::string grid =
      R"({"grid": {"model": ["gpt2", "llama-160m"], "seq": 64, "batch": [1, 8],
                   "precision": ["fp32", "bf16"], "steps": 2}})";
  const CommandRun csv = run_grid_file(grid, {"--format", "csv"});
  const auto rows = csv_rows(csv.out);
  CHECK(rows.front()[0] == "model");
  CHECK(rows.front()[1] == "batch");
  CHECK(rows.front()[2] == "precision");
  std::vector<double> errors;
  std::vector<double> bf16;
  for (const auto& row : rows) {
    if (row[column(rows, "form")] == "4n") {
      const double estimate = std::stod(row[column(rows, "estimate_bytes")]);
      const double simulated = std::stod(row[column(rows, "simulated_bytes")]);
      CHECK(std::stod(row[column(rows, "error")]) == Approx(estimate / simulated - 1));
      errors.push_back(estimate / simulated - 1);
      if (row[2] == "bf16") {
        bf16.push_back(std::abs(errors.back()));
      }
    }
  }
  REQUIRE(errors.size() == 8);
  const auto root = grid_json_of(grid);
  CHECK(root.at("kind").as_string() == "grid");
  const auto& form = form_of(root.at("summary").at("estimates"), "4n");
  const auto& summary = form.at("error_vs_simulated").as_object();
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
  }
  std::ranges::sort(errors);
  std::ranges::sort(sizes);
  CHECK(summary.at("count").to_number<int>() == 8);
  CHECK(summary.at("median").as_double() == Approx((sizes[3] + sizes[4]) / 2));
  CHECK(summary.at("p95").as_double() == Approx(sizes[7]));
  CHECK(summary.at("worst").as_double() == Approx(sizes[7]));
  CHECK(summary.at("bias").as_double() == Approx((errors[3] + errors[4]) / 2));
  CHECK(std::abs(form.at("worst").at("error_vs_simulated").as_double()) == Approx(sizes[7]));
  CHECK_THAT(form.at("worst").at("command").as_string().c_str(),
             Contains("highwater simulate --model ") && Contains("--bridge 4n"));

  // 16 bytes per parameter where bf16 takes 8: that is where the rule breaks.
  const auto& breaks = form.at("breaks").as_array();
  REQUIRE_FALSE(breaks.empty());
  CHECK(breaks.size() <= 3);
  CHECK(breaks[0].at("axis").as_string() == "precision");
  CHECK(breaks[0].at("value").as_string() == "bf16");
  std::ranges::sort(bf16);
  CHECK(breaks[0].at("median").as_double() == Approx((bf16[1] + bf16[2]) / 2));
}

TEST_CASE("grid: a point is what simulate says of the same plan", "[cli][grid]") {
  const auto root = grid_json_of(
      R"({"cases": [{"model": "bloom-560m", "seq": 128, "checkpoint": "full", "gpu": "v100-16"}]})");
  const auto& point = root.at("points").as_array()[0];
  const CommandRun alone = run({"simulate", "--model", "bloom-560m", "--seq", "128", "--checkpoint",
                                "full", "--gpu", "v100-16", "--format", "json"});
  const auto simulated = boost::json::parse(alone.out);
  CHECK(point.at("plan") == simulated.at("plan"));
  CHECK(point.at("peak").at("reserved_bytes").to_number<std::uint64_t>() ==
        simulated.at("peak").at("reserved_bytes").to_number<std::uint64_t>());
  const auto& form = form_of(point.at("estimates"), "4n");
  const auto& expected = form_of(simulated.at("estimates"), "4n");
  for (const char* key : {"bytes", "error_vs_simulated", "covered_bytes", "error_vs_covered"}) {
    CHECK(form.at(key) == expected.at(key));
  }
}

TEST_CASE("grid: a plan's own GPU is no limit of memory", "[cli][grid]") {
  const auto root = grid_json_of(
      R"({"cases": [{"model": "gpt2", "batch": 64, "seq": 1024, "steps": 1, "gpu": "v100-16"}]})");
  const auto& peak = root.at("points").as_array()[0].at("peak");
  CHECK(peak.at("reserved_bytes").to_number<std::uint64_t>() > 16ULL << 30);
}

TEST_CASE("grid: measurements are a column of their own, and a limit on the simulation",
          "[cli][grid]") {
  const std::string plan = R"("model": "gpt2", "seq": 64, "steps": 2)";
  const auto bare = grid_json_of("{\"cases\": [{" + plan + "}]}");
  CHECK(bare.at("points").as_array()[0].at("measured").is_null());
  const auto& point = bare.at("points").as_array()[0].as_object();
  const auto process = point.at("peak").at("process_bytes").to_number<std::uint64_t>();
  const double estimate = form_of(point.at("estimates"), "4n").at("bytes").to_number<double>();

  // As much as the simulation says, and half of it.
  const std::string measured = fmt::format(
      R"({{"cases": [{{{0}, "measured": {{"process_bytes": {1}}}}},
                     {{{0}, "measured": {{"process_bytes": {2}, "source": "a paper"}}}}]}})",
      plan, process, process / 2);
  const auto root = grid_json_of(measured);
  const auto& half = root.at("points").as_array()[1].as_object();
  CHECK(half.at("measured").at("source").as_string() == "a paper");
  CHECK(half.at("measured").at("error_of_simulation").as_double() == Approx(1).epsilon(1e-6));
  const auto& form = form_of(half.at("estimates"), "4n");
  CHECK(form.at("error_vs_measured").as_double() ==
        Approx(2 * estimate / static_cast<double>(process) - 1).epsilon(1e-6));
  const auto& errors = root.at("summary").at("simulation_vs_measured");
  CHECK(errors.at("count").to_number<int>() == 2);
  CHECK(errors.at("worst").as_double() == Approx(1).epsilon(1e-6));

  const CommandRun table = run_grid_file(measured);
  CHECK_THAT(table.out, Contains("Against measurements") && Contains("+100.0 %"));
  CHECK_THAT(table.out, Contains("2 of them measured"));
  const CommandRun csv = run_grid_file(measured, {"--format", "csv"});
  CHECK_THAT(csv.out, Contains(fmt::format(",process,{}\n", process / 2)));
  CHECK(run_grid_file(measured, {"--max-error", "1.1"}).code == ExitCode::ok);
  CHECK(run_grid_file(measured, {"--max-error", "0.5"}).code == ExitCode::exceeded);
  CHECK(run_grid_file("{\"cases\": [{" + plan + "}]}", {"--max-error", "0.5"}).code ==
        ExitCode::usage);
}

TEST_CASE("grid: the default grid is a grid file that reproduces it", "[cli][grid]") {
  const CommandRun printed = run({"validate", "--print-grid"});
  CHECK(printed.out == default_grid());
  const GridPlans plans = grid_plans(read_grid(default_grid(), "default"), "default");
  CHECK(plans.points.size() >= 200);
  CHECK(plans.skipped.empty());

  const std::string some = "*model=gpt2 batch=1 seq=256 precision=fp32 *";
  const CommandRun chosen = run({"validate", "--only", some, "--format", "csv"});
  CAPTURE(chosen.err);
  CHECK(chosen.code == ExitCode::ok);
  CHECK(run_grid_file(printed.out, {"--only", some, "--format", "csv"}).out == chosen.out);
  const auto rows = csv_rows(chosen.out);
  const std::size_t form = column(rows, "form");
  CHECK(std::ranges::count(rows, "4n", [&](const auto& row) { return row[form]; }) >= 2);
}

TEST_CASE("grid: every format has every form, and the same each time", "[cli][grid]") {
  const std::string grid = R"({"grid": {"model": "gpt2", "seq": 64, "batch": [1, 2, 3, 4]}})";
  for (const std::string format : {"table", "markdown", "json", "csv"}) {
    const CommandRun first = run_grid_file(grid, {"--format", format});
    CHECK(first.code == ExitCode::ok);
    CHECK(first.out == run_grid_file(grid, {"--format", format}).out);
    CHECK(first.err.empty());
  }
  const std::string table = run_grid_file(grid).out;
  for (const Formula* formula : formulas()) {
    CHECK_THAT(table, Contains(std::string(formula->name)));
  }
  CHECK_THAT(table, Contains("4 plans simulated, 0 skipped") && Contains("none was measured"));
}

TEST_CASE("grid: one thing at a time", "[cli][grid]") {
  CHECK(run({"validate", "grid.json", "--print-grid"}).code == ExitCode::usage);
  CHECK(run({"validate", "--recorded", "x", "--print-grid"}).code == ExitCode::usage);
  CHECK(run({"validate", "grid.json", "other.json"}).code == ExitCode::usage);
  const CommandRun none = run({"validate", "--only", "model=nosuch"});
  CHECK(none.code == ExitCode::bad_input);
  CHECK_THAT(none.err, Contains("no plan matches 'model=nosuch'"));
}
