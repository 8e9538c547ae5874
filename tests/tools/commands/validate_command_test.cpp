// Command line: `validate --recorded`: fidelity, simulation against truth, cases left out.
#include <algorithm>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/reports/validation/validate_report.hpp"
#include "tools/studies/validation/validate_run.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "workloads/training/outside_memory.hpp"

using namespace highwater;
using Catch::Contains;

namespace validate_command_test {

namespace {

const std::string kRecorded = HIGHWATER_SOURCE "/traces/recorded/fake";

constexpr std::uint64_t kMadeOutside = 600'000'000;

/// A bundled recording of a simulated device under another name, as if of a real one: with figures
/// of the driver that are made up.
boost::json::value made_description(const std::string& id) {
  const std::string path = kRecorded + "/gpt2-fp32-sdpa.json.xz";
  boost::json::value root = boost::json::parse(read_text_file(path));
  root.at("case").at("id") = id;
  root.at("fake_device") = false;
  for (auto& marker : root.at("markers").as_array()) {
    const auto& stats = marker.at("stats").as_object();
    const auto* reserved = stats.if_contains("reserved_bytes.all.current");
    marker.as_object()["device_used"] =
        kMadeOutside + (reserved == nullptr ? 0 : reserved->to_number<std::uint64_t>());
  }
  return root;
}

void write_case(const test::TempDir& folder, const std::string& id,
                const boost::json::value& description) {
  std::ofstream(folder / (id + ".json")) << description;
  std::filesystem::copy_file(kRecorded + "/gpt2-fp32-sdpa.hwt.xz", folder / (id + ".hwt.xz"));
}

void write_index(const test::TempDir& folder, const std::string& cases) {
  std::ofstream(folder / "index.json")
      << R"({"schema": "highwater.recorded-index/1", "cases": [)" << cases << "]}";
}

CommandRun validate(const test::TempDir& folder, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"validate", "--recorded", folder.path().string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

}  // namespace

TEST_CASE("validate: median, 95th percentile and worst are over magnitudes, bias over signs",
          "[cli][validate]") {
  const ErrorSummary summary = summarise_errors({-0.04, 0.01, -0.02, 0.03});
  CHECK(summary.count == 4);
  CHECK(summary.median == Approx(0.025));
  CHECK(summary.p95 == Approx(0.04));
  CHECK(summary.worst == Approx(0.04));
  CHECK(summary.bias == Approx(-0.005));
  CHECK(summarise_errors({}).worst == 0);
  std::vector<double> many(100);
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<double>(i + 1);
  }
  CHECK(summarise_errors(many).p95 == 95);
}

TEST_CASE("validate: the error of a step is simulated / recorded - 1", "[cli][validate]") {
  const Usage recorded{Bytes{100}, Bytes{200}, Bytes{200}, Bytes{400}};
  const Usage simulated{Bytes{101}, Bytes{190}, Bytes{200}, Bytes{400}};
  const StepValidation step{0, recorded, simulated};
  CHECK(error_of(step, &Usage::requested) == Approx(0.01));
  CHECK(error_of(step, &Usage::allocated) == Approx(-0.05));
  CHECK(error_of(step, &Usage::reserved) == Approx(0.0));
  CHECK_FALSE(error_of({0, recorded, std::nullopt}, &Usage::active).has_value());
}

TEST_CASE("validate: every bundled case is replayed faithfully", "[cli][validate][long]") {
  const CommandRun result = run({"validate", "--recorded", kRecorded, "--format", "json"});
  CAPTURE(result.err);
  REQUIRE(result.code == ExitCode::ok);
  const auto root = boost::json::parse(result.out).as_object();
  CHECK(root.at("schema").as_string() == "highwater.validate/1");
  const auto& summary = root.at("summary").as_object();
  const std::int64_t cases = summary.at("cases").as_int64() + summary.at("unsupported").as_int64();
  CHECK(cases >= 2);
  CHECK(summary.at("fidelity_perfect").as_int64() == cases);
  CHECK(summary.at("peak_reserved").as_object().contains("p95"));
}

TEST_CASE("validate: --only takes parts of names and patterns", "[cli][validate]") {
  const auto count = [](const std::string& pattern) {
    const CommandRun result =
        run({"validate", "--recorded", kRecorded, "--format", "json", "--only", pattern});
    if (result.code != ExitCode::ok) {
      return std::int64_t{0};
    }
    const auto summary = boost::json::parse(result.out).at("summary").as_object();
    return summary.at("cases").as_int64() + summary.at("unsupported").as_int64();
  };
  CHECK(count("limit-oom") == 1);
  CHECK(count("gpt2-fp32-s*a") == 1);
  CHECK(count("limit-?om,fp32-sdpa") == 1);
  CHECK(count("*limit-?om,fp32-sdpa") == 2);
  CHECK(count("nosuch") == 0);
}

TEST_CASE("validate: a damaged description is listed with its reason", "[cli][validate]") {
  const test::TempDir folder;
  std::ofstream(folder / "x.json") << "{\"case\": {}}";
  std::filesystem::copy_file(kRecorded + "/gpt2-fp32-limit-oom.hwt.xz", folder / "x.hwt.xz");
  const CommandRun result = run({"validate", "--recorded", folder.path().string()});
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains("case: the field 'id' is missing"));
  std::ofstream(folder / "y.json") << "[1, 2";
  std::filesystem::copy_file(folder / "x.hwt.xz", folder / "y.hwt.xz");
  const CommandRun both = run({"validate", "--recorded", folder.path().string()});
  CHECK(both.code == ExitCode::ok);
  CHECK_THAT(both.out,
             Contains("case: the field 'id' is missing") && Contains("not JSON: incomplete"));
  // A limit on errors is not kept by simulating nothing.
  const std::string path = folder.path().string();
  CHECK(run({"validate", "--recorded", path, "--max-error", "0"}).code == ExitCode::exceeded);
}

TEST_CASE("validate: wrong usage is explained", "[cli][validate]") {
  CHECK(run({"validate", "--recorded", "nosuch"}).code == ExitCode::bad_input);
  CHECK(run({"validate", "--recorded", kRecorded, "--max-error", "-1"}).code == ExitCode::usage);
  const test::TempDir folder;
  CHECK_THAT(run({"validate", "--recorded", folder.path().string()}).err,
             Contains("no recorded cases found"));
}

TEST_CASE("validate: closed forms are held against recorded peaks beside the simulation",
          "[cli][validate]") {
  const CommandRun result = run({"validate", "--recorded", kRecorded, "--format", "json", "--only",
                                 "gpt2-fp32-sdpa,gpt2-fp32-limit-oom,gpt2-bf16-sdpa"});
  CAPTURE(result.err);
  REQUIRE(result.code == ExitCode::ok);
  const auto root = boost::json::parse(result.out);
  std::vector<double> errors;
  for (const auto& recorded : root.at("cases").as_array()) {
    std::uint64_t highest = 0;
    for (const auto& step : recorded.at("steps").as_array()) {
      highest =
          std::max(highest, step.at("recorded").at("allocated_bytes").to_number<std::uint64_t>());
    }
    // A run that was cut short has no peak that a form could tell.
    const bool is_whole = recorded.at("oom").at("recorded").is_null();
    CHECK(recorded.at("estimates").as_array().empty() == !is_whole);
    for (const auto& form : recorded.at("estimates").as_array()) {
      if (form.at("name").as_string() == "4n") {
        CHECK(form.at("recorded_bytes").to_number<std::uint64_t>() == highest);
        const double error =
            form.at("bytes").to_number<double>() / static_cast<double>(highest) - 1;
        CHECK(form.at("error_vs_recorded").as_double() == Approx(error));
        errors.push_back(error);
      }
    }
  }
  REQUIRE(errors.size() == 2);
  const auto& forms = root.at("summary").at("estimates").as_array();
  const auto* const summary = std::ranges::find_if(
      forms, [](const auto& form) { return form.at("name").as_string() == "4n"; });
  REQUIRE(summary != forms.end());
  CHECK(summary->at("error_vs_recorded").at("bias").as_double() ==
        Approx((errors[0] + errors[1]) / 2));
  CHECK(summary->at("simulation_error_vs_recorded").at("worst").as_double() < 0.01);
  CHECK_THAT(run({"validate", "--recorded", kRecorded, "--only", "gpt2-bf16-sdpa"}).out,
             Contains("Closed forms and the simulation against the recorded peak"));
}

TEST_CASE("validate: memory outside the allocator is held against the driver's figure",
          "[cli][validate]") {
  const test::TempDir folder;
  write_case(folder, "x", made_description("x"));
  const CommandRun result = validate(folder, {"--format", "json"});
  CAPTURE(result.err);
  REQUIRE(result.code == ExitCode::ok);
  const auto root = boost::json::parse(result.out);
  const double estimated =
      static_cast<double>(outside_memory(*find_gpu("a100-80"), "2.6").total().count());
  const double error = estimated / static_cast<double>(kMadeOutside) - 1;
  const auto& step = root.at("cases").at(0).at("steps").at(2);
  CHECK(step.at("outside").at("recorded_bytes").to_number<std::uint64_t>() == kMadeOutside);
  CHECK(step.at("outside").at("error").as_double() == Approx(error));
  CHECK(root.at("summary").at("outside").at("count").as_int64() == 3);
  CHECK(root.at("summary").at("outside").at("bias").as_double() == Approx(error));
  CHECK_THAT(validate(folder).out, Contains("outside"));
}

TEST_CASE("validate: memory outside the allocator on a simulated device is not ground truth",
          "[cli][validate]") {
  const test::TempDir folder;
  boost::json::value description = made_description("x");
  description.at("fake_device") = true;
  write_case(folder, "x", description);
  const auto root = boost::json::parse(validate(folder, {"--format", "json"}).out);
  CHECK(root.at("summary").at("outside").is_null());
  CHECK_THAT(validate(folder).out, !Contains("outside"));
}

TEST_CASE("validate: halves that an index marks are reported apart, held-out ones limit nothing",
          "[cli][validate]") {
  const test::TempDir folder;
  write_case(folder, "x", made_description("x"));
  boost::json::value wrong = made_description("y");  // a plan that needs more than was recorded
  wrong.at("case").at("options").at("keep-logits") = true;
  write_case(folder, "y", wrong);
  CHECK(validate(folder, {"--max-error", "0.001"}).code == ExitCode::exceeded);
  CHECK_THAT(validate(folder).out, !Contains("Errors of the"));

  write_index(folder, R"({"id": "x", "half": "tuning"}, {"id": "y", "half": "held-out"})");
  CHECK(validate(folder, {"--max-error", "0.001"}).code == ExitCode::ok);
  const CommandRun result = validate(folder);
  CHECK_THAT(result.out,
             Contains("Errors of the tuning half") && Contains("Errors of the held-out half"));
  const auto root = boost::json::parse(validate(folder, {"--format", "json"}).out);
  const auto& halves = root.at("summary").at("halves");
  CHECK(halves.at("tuning").at("peak_allocated").at("worst").as_double() < 0.001);
  CHECK(halves.at("held-out").at("peak_allocated").at("worst").as_double() > 0.001);
  CHECK(root.at("cases").at(1).at("half").as_string() == "held-out");
}

TEST_CASE("validate: a damaged index is refused", "[cli][validate]") {
  const test::TempDir folder;
  write_case(folder, "x", made_description("x"));
  write_index(folder, R"({"id": "x", "half": "left"})");
  const CommandRun half = validate(folder);
  CHECK(half.code == ExitCode::bad_input);
  CHECK_THAT(half.err, Contains("cases[0].half") && Contains("not one of"));
  std::ofstream(folder / "index.json") << R"({"schema": "other", "cases": []})";
  CHECK_THAT(validate(folder).err, Contains("highwater.recorded-index/1"));
}

TEST_CASE("validate: a probe is replayed, not simulated", "[cli][validate]") {
  const test::TempDir folder;
  boost::json::value description = made_description("x");
  description.at("case").as_object()["probe"] = {{"kind", "matmul"}};
  write_case(folder, "x", description);
  const auto root = boost::json::parse(validate(folder, {"--format", "json"}).out);
  const auto& probe = root.at("unsupported").at(0);
  CHECK(probe.at("reason").as_string() ==
        "a probe (matmul) of single operations, not a training run");
  CHECK(probe.at("fidelity").at("alloc_addresses_matched").to_number<std::uint64_t>() > 0);
}

TEST_CASE("validate: what PyTorch can do and the generator cannot is said, and replayed",
          "[cli][validate]") {
  const test::TempDir folder;
  boost::json::value description = made_description("x");
  boost::json::object& options = description.at("case").at("options").as_object();
  options["dp"] = 8;
  options["dp-kind"] = "fsdp2";
  options["reshard"] = 2;
  write_case(folder, "x", description);
  const auto root = boost::json::parse(validate(folder, {"--format", "json"}).out);
  const auto& left_out = root.at("unsupported").at(0);
  CHECK_THAT(std::string(left_out.at("reason").as_string()), Contains("--reshard 2"));
  CHECK(left_out.at("fidelity").is_object());
}

TEST_CASE("validate: a replay that decides otherwise is shown with its peak", "[cli][validate]") {
  CaseValidation validation;
  validation.id = "x";
  validation.fidelity = Fidelity{.segment_events_recorded = 4,
                                 .segment_events_matched = 3,
                                 .alloc_addresses_compared = 10,
                                 .alloc_addresses_matched = 9,
                                 .peak_reserved_recorded = Bytes{1000},
                                 .first_divergence = Divergence{7, "another block"}};
  validation.peak_reserved_replayed = Bytes{1100};
  CaseValidation perfect;
  perfect.fidelity = Fidelity{};
  const Table table = replay_table({validation, perfect});
  REQUIRE(table.rows.size() == 1);
  std::vector<std::string> words;
  for (const Cell& cell : table.rows[0]) {
    words.push_back(to_text(cell));
  }
  CHECK(words ==
        std::vector<std::string>{"x", "9 of 10", "3 of 4", "0 of 0", "+10.00 %", "another block"});
}

}  // namespace validate_command_test
