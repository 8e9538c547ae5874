// --help: short and in groups; --help-all: every option of a plan with its default and its source.
#include <algorithm>
#include <array>
#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/command_run.hpp"
#include "tools/options/option_help.hpp"
#include "tools/text/help_text.hpp"
#include "workloads/plan/options/option_table.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

constexpr std::array kPlanCommands{"simulate", "generate", "estimate", "plan", "sweep", "explain"};

std::vector<std::string> default_lines(std::string_view name) {
  return highwater::default_lines(option_called(name));
}

std::vector<std::string> help_lines(const char* command, const char* option) {
  const CommandRun help = run({command, option});
  CHECK(help.code == ExitCode::ok);
  std::istringstream text(help.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// The lines from the one that begins with the option to the next option.
bool is_described(const std::vector<std::string>& lines, std::string_view option) {
  return std::ranges::any_of(lines, [&](const std::string& line) {
    return line.starts_with(fmt::format("  --{} ", option)) ||
           line.starts_with(fmt::format("  --{}[", option));
  });
}

}  // namespace

TEST_CASE("help: --help-all describes every option, --help the common ones", "[cli][help]") {
  for (const char* const command : kPlanCommands) {
    const auto all = help_lines(command, "--help-all");
    const auto common = help_lines(command, "--help");
    for (const Option& option : option_table()) {
      CAPTURE(command, option.name);
      CHECK(is_described(all, option.name));
      CHECK(is_described(common, option.name) == (option.use == OptionUse::common));
    }
  }
}

TEST_CASE("help: --help is short and has no sources", "[cli][help]") {
  for (const char* const command : kPlanCommands) {
    const auto lines = help_lines(command, "--help");
    CAPTURE(command, lines.size());
    CHECK(lines.size() <= 70);
    CHECK(std::ranges::any_of(lines, [](const std::string& line) {
      return line.find(" more options, other programs' names") != std::string::npos;
    }));
    CHECK(std::ranges::none_of(lines, [](const std::string& line) {
      return line.find("training_args.py") != std::string::npos;
    }));
  }
}

TEST_CASE("help: --help-all tells the names and words of other programs", "[cli][help]") {
  const auto help = full_help(option_called("optimizer"));
  CHECK(std::ranges::any_of(help, [](const std::string& line) {
    return line.find("also --optim") != std::string::npos;
  }));
  CHECK(std::ranges::any_of(help, [](const std::string& line) {
    return line.find("adamw-torch (adamw)") != std::string::npos;
  }));
  CHECK(full_help(option_called("experts")).front() ==
        "how a mixture routes: eager, even, batched_mm, grouped_mm, deepspeed");
  CHECK_THAT(full_help(option_called("experts"))[1], !Contains("also"));
}

TEST_CASE("help: every default has a source", "[cli][help]") {
  for (const Option& option : option_table()) {
    CAPTURE(option.name);
    const auto lines = highwater::default_lines(option);
    REQUIRE_FALSE(lines.empty());
    CHECK((lines.front().starts_with("default ") || lines.front() == "required"));
    CHECK((lines.front().ends_with(")") || lines.front() == "required"));
  }
}

TEST_CASE("help: defaults are those that run, by framework", "[cli][help]") {
  CHECK_THAT(default_lines("batch").front(), Contains("default 1 ("));
  CHECK_THAT(default_lines("reduce-bucket-size").front(), Contains("default 500000000 (deepspeed"));
  const auto precision = default_lines("precision");
  REQUIRE(precision.size() == 6);
  CHECK_THAT(precision[0], Contains("default fp32"));
  CHECK_THAT(
      precision[1],
      Contains("trl-sft, trl-dpo, trl-kto, trl-orpo, trl-reward, trl-grpo, trl-rloo: amp-bf16"));
  CHECK_THAT(precision[2], Contains("torchtune: bf16"));
  CHECK_THAT(precision[3], Contains("megatron: bf16"));
  CHECK_THAT(precision[4], Contains("nemo: bf16"));
  CHECK_THAT(precision[5], Contains("colossalai-gemini: fp16"));
}

TEST_CASE("help: lines have at most 100 columns", "[cli][help]") {
  for (const char* const command : kPlanCommands) {
    for (const char* const option : {"--help", "--help-all"}) {
      for (const std::string& line : help_lines(command, option)) {
        if (line.starts_with("  ")) {
          CAPTURE(line);
          CHECK(line.size() <= 100);
          CHECK_FALSE(line.ends_with(" "));
        }
      }
    }
  }
}

TEST_CASE("help: words are wrapped and long names stand alone", "[cli][help]") {
  CHECK(help_text({{"--a", {"one", "two"}}, {"--bc N", {"three"}}}) ==
        "  --a     one\n"
        "          two\n"
        "  --bc N  three\n");
  const std::string name(40, 'n');
  CHECK(help_text({{name, {"text"}}}) == "  " + name + "\n" + std::string(36, ' ') + "text\n");
  const std::string word(60, 'w');
  CHECK(help_text({{"-x", {word + " " + word}}}) ==
        "  -x  " + word + "\n" + std::string(8, ' ') + word + "\n");
}
