// Command line: what users see, compared with approved files in tests/tools/commands/approved.
// HIGHWATER_APPROVE=1 rewrites them; review the difference before committing it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace approved_test {

namespace {

const std::string kVectors = "tests/data/conformance/";
const std::string kReports = "tests/data/reports/";
const std::string kRecordings = "traces/recorded/fake/";

CommandRun run_in_source(const Arguments& arguments) {
  std::filesystem::current_path(HIGHWATER_SOURCE);  // so that messages hold no machine's path
  return run(arguments);
}

void check_approved(const std::string& name, const CommandRun& result) {
  const std::string actual =
      result.out + result.err + "exit " + std::to_string(static_cast<int>(result.code)) + "\n";
  const std::string path = HIGHWATER_APPROVED "/" + name + ".txt";
  if (std::getenv("HIGHWATER_APPROVE") != nullptr) {
    std::ofstream(path) << actual;
  }
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  CHECK(actual == expected.str());
}

void check_approved(const std::string& name, const Arguments& arguments) {
  check_approved(name, run_in_source(arguments));
}

/// The members of a JSON object or the elements of an array, as they are written.
std::vector<std::string_view> members(std::string_view json) {
  std::vector<std::string_view> list;
  int depth = 0;
  bool is_quoted = false;
  std::size_t begin = 1;
  for (std::size_t i = 1; i + 1 < json.size(); ++i) {
    const char c = json[i];
    if (is_quoted) {
      i += c == '\\' ? 1 : 0;
      is_quoted = c != '"';
    } else if (c == ',' && depth == 0) {
      list.push_back(json.substr(begin, i - begin));
      begin = i + 1;
    } else {
      is_quoted = c == '"';
      depth += (c == '{' || c == '[') ? 1 : (c == '}' || c == ']') ? -1 : 0;
    }
  }
  list.push_back(json.substr(begin, json.size() - begin - 1));
  return list;
}

/// JSON for people: what is longer than a line has one member on each; no character is changed.
std::string laid_out(std::string_view json, std::size_t indent = 0) {
  constexpr std::size_t kWidth = 100;
  const bool is_object = json.front() == '{';
  if (json.size() + indent <= kWidth || (!is_object && json.front() != '[')) {
    return std::string(json);
  }
  std::string text;
  for (const std::string_view member : members(json)) {
    const std::size_t value = is_object ? member.find("\":") + 2 : 0;
    text += (text.empty() ? "\n" : ",\n") + std::string(indent + 1, ' ') +
            std::string(member.substr(0, value)) + laid_out(member.substr(value), indent + 1);
  }
  return json.front() + text + "\n" + std::string(indent, ' ') + json.back();
}

/// A report in some of its formats, each in a file of its own.
void check_report(const std::string& name, const Arguments& arguments,
                  const std::vector<std::string>& formats = {"table", "json", "csv", "markdown"}) {
  for (const std::string& format : formats) {
    Arguments all = arguments;
    all.insert(all.end(), {"--format", format});
    CommandRun result = run_in_source(all);
    if (format.starts_with("json")) {
      std::istringstream lines(std::exchange(result.out, ""));
      for (std::string line; std::getline(lines, line);) {
        result.out += laid_out(line) + "\n";
      }
    }
    check_approved("reports/" + name + "_" + format, result);
  }
}

}  // namespace

TEST_CASE("cli: replay of a text trace in every format", "[cli][golden]") {
  const std::string trace = kVectors + "h07_oom_retry.trace";
  check_approved("replay_table", {"replay", trace});
  check_approved("replay_json", {"replay", trace, "--format", "json"});
  check_approved("replay_csv", {"replay", trace, "--format", "csv"});
  check_approved("replay_markdown", {"replay", trace, "--format", "markdown"});
  check_approved("replay_decisions", {"replay", trace, "--decisions"});
}

TEST_CASE("cli: replay of a recording tells its fidelity", "[cli][golden]") {
  const std::string recording = "traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz";
  check_approved("replay_recording", {"replay", recording});
  check_approved("replay_recording_json", {"replay", recording, "--format", "json"});
  check_approved("replay_recording_expandable", {"replay", recording, "--capacity", "2700MiB",
                                                 "--alloc-conf", "expandable_segments:True"});
}

TEST_CASE("cli: info of a recording and of a request trace", "[cli][golden]") {
  check_approved("info_recording",
                 {"info", "traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz"});
  check_approved("info_requests", {"info", kVectors + "h14_record_stream.trace"});
}

TEST_CASE("cli: help names every command and option", "[cli][golden]") {
  check_approved("help", {"--help"});
  check_approved("help_replay", {"replay", "--help"});
}

TEST_CASE("cli: reports of recordings and traces in every format", "[cli][golden]") {
  check_report("scan", {"scan", kReports + "scan"});
  check_report("scan_recording", {"scan", kRecordings + "gpt2-fp32-limit-oom.hwt.xz"});
  check_report("info", {"info", "--top", "3", kRecordings + "gpt2-fp32-varlen-capacity2700.hwt.xz",
                        kVectors + "h14_record_stream.trace"});
  check_report("advise", {"advise", kVectors + "h07_oom_retry.trace", "--top", "3"});
  check_report("explain_log", {"explain", "tests/data/messages/ranks.log", "--top", "2"});
  check_report("explain_messages", {"explain", "tests/data/messages/others.log"}, {"table"});
  check_report("sweep",
               {"sweep", kVectors + "h07_oom_retry.trace", "--set",
                "expandable_segments=False,True", "--top", "1"},
               {"table", "json", "csv", "markdown", "jsonl"});
}

TEST_CASE("cli: reports of plans in every format", "[cli][golden]") {
  check_report("sweep_plan", {"sweep", "--model", "gptj-tiny", "--seq", "16", "--set", "tp=1,3"},
               {"table", "csv"});
  check_report("plan", {"plan", "--model", "gptj-tiny", "--seq", "16", "--gpu", "rtx2080ti",
                        "--gpus", "1", "--precision", "bf16"});
  check_report("plan_formulas",
               {"plan", "--formulas-only", "--model", "opt-2.7b", "--gpus", "4", "--seq", "512",
                "--precision", "fp16", "--gpu", "v100-16", "--checkpoint", "full"},
               {"table", "csv"});
  check_report("plan_published", {"plan", "--published"});
  check_report("estimate", {"estimate", "--model", "gpt2", "--seq", "128", "--formula", "4n,llmem",
                            "--explain"});
  check_report("models", {"models", "gptj-tiny"});
}

TEST_CASE("cli: reports of comparisons in every format", "[cli][golden]") {
  check_report("grid", {"validate", kReports + "grid.json"});
  check_report("validate_recorded", {"validate", "--recorded", kRecordings, "--only",
                                     "gpt2-fp32-limit-oom,llama-160m-fsdp2x8-accum2*"});
  check_report("validate_reference", {"validate", "--reference", kReports + "reference.json"});
}

}  // namespace approved_test
