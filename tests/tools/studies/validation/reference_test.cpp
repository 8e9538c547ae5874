// Command line: `validate --reference`: the closed forms give what publications print and what a
// second implementation of their formulas computed.
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/studies/validation/reference_case.hpp"
#include "tools/studies/validation/reference_run.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"

using namespace highwater;
using Catch::Contains;
namespace json = boost::json;

namespace {

const std::string kTables = HIGHWATER_SOURCE "/tests/data/reference/tables.json.xz";

json::value tables() {
  return json::parse(read_text_file(kTables));
}

json::object& find_case(json::value& document, std::string_view id) {
  for (json::value& entry : document.at("cases").as_array()) {
    if (entry.at("id").as_string() == id) {
      return entry.as_object();
    }
  }
  FAIL("no case " << id);
  throw std::logic_error("unreachable");
}

/// Runs `validate --reference` on a file with this text, and only the cases that match.
CommandRun validate(const std::string& text, const std::string& only,
                    const std::string& format = "table") {
  const test::TempDir folder;
  std::ofstream(folder / "tables.json") << text;
  return run({"validate", "--reference", (folder / "tables.json").string(), "--only", only,
              "--format", format});
}

CommandRun validate(const json::value& document, const std::string& only) {
  return validate(json::serialize(document), only);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  return text.substr(text.rfind('\n', end) + 1, end - text.rfind('\n', end));
}

}  // namespace

TEST_CASE("validate --reference: every case is as the sources print or a second implementation has",
          "[cli][reference]") {
  const ReferenceFile file = read_reference_cases(read_text_file(kTables), kTables);
  CHECK(file.cases.size() == 162);
  for (const ReferenceResult& result : run_reference(file)) {
    CAPTURE(result.reference->id, result.problem);
    CHECK(result.verdict != ReferenceVerdict::failed);
    CHECK_FALSE(result.values.empty());
    for (const ReferenceValue& value : result.values) {
      CAPTURE(value.name);
      CHECK(value.problem.empty());
    }
  }
}

TEST_CASE("validate --reference: recomputations do not see the answers", "[cli][reference]") {
  const ReferenceFile file = read_reference_cases(read_text_file(kTables), kTables);
  for (const json::value& question : file.questions) {
    for (const std::string_view answer : {"recomputed", "match", "all_match", "alternatives"}) {
      CHECK_FALSE(question.as_object().contains(answer));
    }
  }
}

TEST_CASE("validate --reference: the last line counts, known mismatches stand above it",
          "[cli][reference]") {
  const CommandRun result = run({"validate", "--reference", kTables, "--only", "nemo"});
  CAPTURE(result.out, result.err);
  CHECK(result.code == ExitCode::ok);
  CHECK(last_line(result.out) == "26 passed, 0 failed");
  CHECK_THAT(result.out, Contains("Known mismatch"));
  CHECK_THAT(result.out, Contains("12.5") && Contains("11.968"));
  const CommandRun quoted = run({"validate", "--reference", kTables, "--only", "dnnmem_bert"});
  CHECK_THAT(quoted.out, Contains("Observations, not counted"));
  CHECK(last_line(quoted.out) == "0 passed, 0 failed");
}

TEST_CASE("validate --reference: all cases but two quoted ones count, and pass",
          "[cli][reference]") {
  const CommandRun result = run({"validate", "--reference", kTables});
  CHECK(result.code == ExitCode::ok);
  CHECK(last_line(result.out) == "160 passed, 0 failed");
  CHECK_THAT(result.out, !Contains("Failed"));
}

TEST_CASE("validate --reference: formats agree", "[cli][reference][long]") {
  const auto as = [](const std::string& format) {
    return run({"validate", "--reference", kTables, "--only", "zero.*", "--format", format}).out;
  };
  const json::value root = json::parse(as("json"));
  CHECK(root.at("schema").as_string() == "highwater.validate/1");
  CHECK(root.at("summary").at("passed") == 4);
  CHECK(root.at("summary").at("failed") == 0);
  const json::value& first = root.at("reference_cases").at(0);
  CHECK(first.at("result").as_string() == "passed");
  CHECK(first.at("values").at(0).at("source").at("value").to_number<double>() == 120);
  CHECK_THAT(as("csv"), Contains("zero.7.5B.dp64.stage1,printed,model_states,GB (1e9),31.4,0.05,"
                                 "31.40625,31.40625,passed,"));
  CHECK_THAT(as("markdown"), Contains("| zero.7.5B.dp64.stage1 | printed |"));
  CHECK(last_line(as("markdown")) == "4 passed, 0 failed");
}

TEST_CASE("validate --reference: a printed figure beyond its tolerance fails",
          "[cli][reference][long]") {
  const std::string id = "deepspeed.zero2.live.offload_optimizer=none";
  json::value document = tables();
  json::value& printed = find_case(document, id).at("expected").at("gpu").at("value");
  printed = 15.939;  // 15.934547 is within 0.005
  CHECK(validate(document, id).code == ExitCode::ok);
  printed = 15.94;
  const CommandRun result = validate(document, id);
  CHECK(result.code == ExitCode::exceeded);
  CHECK_THAT(result.out, Contains("differs from what the source prints"));
  CHECK(last_line(result.out) == "0 passed, 1 failed");
}

TEST_CASE("validate --reference: a second implementation's figure that is off fails",
          "[cli][reference][long]") {
  json::value document = tables();
  json::value& derived =
      find_case(document, "megatron.gpt3-175b").at("recomputed").at("total_params");
  derived = 174580064256.0 * (1 + 1e-6);
  CHECK(validate(document, "megatron").code == ExitCode::exceeded);
  derived = 174580064256.0 * (1 + 1e-10);
  CHECK(validate(document, "megatron").code == ExitCode::ok);
  json::value& rounded =
      find_case(document, "zero.7.5B.dp64.stage1").at("recomputed").at("model_states");
  rounded = 31.406252;
  CHECK(validate(document, "zero.7.5B.dp64.stage1").code == ExitCode::exceeded);
}

TEST_CASE("validate --reference: figures that are missing, new or said not to match fail",
          "[cli][reference][long]") {
  const auto problem_after = [](auto change) {
    json::value document = tables();
    change(find_case(document, "limited.bloom-176b"));
    const CommandRun result = validate(document, "limited.bloom-176b");
    CHECK(result.code == ExitCode::exceeded);
    return result.out;
  };
  CHECK_THAT(problem_after([](json::object& c) { c["recomputed"].as_object()["more"] = 1; }),
             Contains("not computed"));
  CHECK_THAT(problem_after([](json::object& c) { c["recomputed"].as_object().clear(); }),
             Contains("the file has no such answer"));
  CHECK_THAT(problem_after([](json::object& c) { c["match"].as_object()["total"] = false; }),
             Contains("although the file marks a mismatch"));
  CHECK_THAT(problem_after([](json::object& c) { c["inputs"].as_object().erase("params"); }),
             Contains("inputs.params: missing"));
  CHECK_THAT(problem_after([](json::object& c) { c["inputs"].as_object()["params"] = "x"; }),
             Contains("inputs.params: expected a number"));
}

TEST_CASE("validate --reference: a case that no form knows fails with the reason",
          "[cli][reference]") {
  for (const std::string id : {"nosuch.case", "deepspeed.nosuch"}) {
    json::value document = tables();
    find_case(document, "deepspeed.multiplier.16")["id"] = id;
    const CommandRun result = validate(document, id);
    CHECK(result.code == ExitCode::exceeded);
    CHECK_THAT(result.out, Contains("no closed form recomputes"));
    CHECK(last_line(result.out) == "0 passed, 1 failed");
  }
}

TEST_CASE("validate --reference: sizes that no job has are refused", "[cli][reference][long]") {
  for (const json::value& gpus : {json::value(0), json::value(1e300), json::value(1.5)}) {
    json::value document = tables();
    const std::string id = "deepspeed.zero3.live.param=none.opt=none.zero_init=1";
    find_case(document, id).at("inputs").as_object()["gpus_per_node"] = gpus;
    const CommandRun result = validate(document, id);
    CHECK(result.code == ExitCode::exceeded);
    CHECK_THAT(result.out, Contains("expected a whole number from 1 to 1000000"));
  }
  json::value document = tables();
  const std::string id = "nemo.table.01.gpt-1b.s2048.dp8.tp1.mbs2";
  find_case(document, id).at("inputs").as_object()["dp"] = 0;
  CHECK_THAT(validate(document, id).out, Contains("not computed"));
}

TEST_CASE("validate --reference: a damaged file is explained with the position",
          "[cli][reference]") {
  const auto error_of = [](const std::string& text) {
    const CommandRun result = validate(text, "*");
    CHECK(result.code == ExitCode::bad_input);
    return result.err;
  };
  CHECK_THAT(error_of(R"({"cases": [)"), Contains("tables.json: byte 11: not JSON"));
  CHECK_THAT(error_of(R"({"cases": []} x)"), Contains("byte 14: not JSON"));
  CHECK_THAT(error_of("[]"), Contains("the file: expected an object"));
  CHECK_THAT(error_of("{}"), Contains("the field 'cases' is missing"));
  CHECK_THAT(error_of(R"({"cases": []})"), Contains("cases: no reference case"));
  CHECK_THAT(error_of(R"({"cases": [{"id": "x", "kind": "other"}]})"),
             Contains("cases[0].kind: expected printed"));
  json::value document = tables();
  find_case(document, "zero.7.5B.dp64.stage1").at("expected").at("model_states").at("tolerance") =
      nullptr;
  CHECK_THAT(error_of(json::serialize(document)),
             Contains("].expected.model_states.tolerance: expected a number"));
}

TEST_CASE("validate --reference: every prefix of a file is read or refused", "[cli][reference]") {
  json::value document = tables();
  const json::value small{{"cases", {find_case(document, "limited.bloom-176b")}}};
  const std::string text = json::serialize(small);
  CHECK_NOTHROW(read_reference_cases(text, "x"));
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK_THROWS_AS(read_reference_cases(text.substr(0, length), "x"), InputError);
  }
}

TEST_CASE("validate --reference: wrong usage is explained", "[cli][reference]") {
  const CommandRun both = run({"validate", "--reference", kTables, "--recorded", "x"});
  CHECK(both.code == ExitCode::usage);
  CHECK_THAT(both.err, Contains("--recorded DIR and --reference FILE exclude one another"));
  CHECK(run({"validate", "--reference", kTables, "--max-error", "0.1"}).code == ExitCode::usage);
  CHECK(run({"validate", "--reference", "nosuch.json"}).code == ExitCode::bad_input);
  CHECK(run({"validate", "--reference", kTables, "--only", "nosuch"}).code == ExitCode::bad_input);
}
