// --help: every option of a plan tells its default and where that is from, and lines stay short.
#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tools/commands/commands.hpp"
#include "tools/options/option_sources.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/plan_words.hpp"
#include "tools/text/help_text.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

std::vector<std::string> plan_option_names() {
  OptionParser parser(command("simulate"));
  add_plan_options(parser);
  std::vector<std::string> names = parser.names();
  std::erase(names, "help");
  return names;
}

/// "default VALUE (SOURCE)": neither is empty.
void check_default(const std::string& line) {
  const std::size_t source = line.find(" (");
  REQUIRE(line.starts_with("default "));
  REQUIRE(source != std::string::npos);
  CHECK(source > std::string("default ").size());
  CHECK(line.ends_with(")"));
  CHECK(line.size() > source + 4);
}

}  // namespace

TEST_CASE("help: every plan option has a default with a source", "[cli][help]") {
  const auto names = plan_option_names();
  CHECK(names.size() > 80);
  for (const std::string& name : names) {
    INFO("--" << name << ": add a row to tools/option_sources.cpp");
    const auto lines = default_lines(name);
    REQUIRE_FALSE(lines.empty());
    check_default(lines.front());
  }
}

TEST_CASE("help: what a framework's profile changes has a source of its own", "[cli][help]") {
  const auto uncited = uncited_profile_defaults();
  CHECK(uncited.empty());
  for (const std::string& option : uncited) {
    UNSCOPED_INFO(option);
  }
}

TEST_CASE("help: every word of a plan is an option", "[cli][help]") {
  const auto names = plan_option_names();
  for (const auto& [option, text] : plan_words(TrainingPlan{})) {
    CAPTURE(option);
    CHECK(std::ranges::find(names, option) != names.end());
  }
}

TEST_CASE("help: defaults are those that run, by framework", "[cli][help]") {
  CHECK_THAT(default_lines("batch").front(), Contains("default 1 ("));
  CHECK_THAT(default_lines("reduce-bucket-size").front(), Contains("default 500000000 (deepspeed"));
  const auto precision = default_lines("precision");
  REQUIRE(precision.size() == 4);
  CHECK_THAT(precision[0], Contains("default fp32"));
  CHECK_THAT(precision[1], Contains("megatron: bf16"));
  CHECK_THAT(precision[2], Contains("nemo: bf16"));
  CHECK_THAT(precision[3], Contains("colossalai-gemini: fp16"));
  CHECK(default_lines("no-such-option").empty());
}

TEST_CASE("help: each command that takes a plan shows them, in lines of at most 100 columns",
          "[cli][help]") {
  for (const std::string name : {"simulate", "generate", "estimate", "plan"}) {
    const CommandRun help = run({name, "--help"});
    CHECK(help.code == ExitCode::ok);
    CHECK_THAT(help.out, Contains("default 500000000 (deepspeed 0.16.4"));
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  ")) {
        CAPTURE(line);
        CHECK(line.size() <= 100);
        CHECK_FALSE(line.ends_with(" "));
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
