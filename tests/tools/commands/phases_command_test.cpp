// Command line: phases. Programs of known blocks give figures that follow by hand; a plan in turns
// with nobody is the plan.
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace phases_command_test {

namespace json = boost::json;

namespace {

/// Two engines of blocks: "big" has 40 MiB of weights and 200 of cache, "small" 60 MiB.
const std::string kPrograms =
    "[programs.big]\nblocks = [{name = \"weights\", size = \"40MiB\"}, {name = \"cache\", size = "
    "\"200MiB\"}]\n[programs.small]\nblocks = [{name = \"all\", size = \"60MiB\"}]\n";
const std::string kPhases =
    "[[phases]]\nname = \"generate\"\nrun = \"big\"\n[[phases]]\nrun = \"small\"\nasleep = "
    "[\"big:cache\"]\nempty-cache = true\n";

class PhasesFile {
 public:
  explicit PhasesFile(const std::string& text) { std::ofstream(path()) << text; }

  [[nodiscard]] std::string path() const { return (folder_ / "phases.toml").string(); }

 private:
  test::TempDir folder_;
};

std::int64_t number(const json::value& of, const char* key) {
  return of.at(key).as_int64() >> 20;
}

}  // namespace

TEST_CASE("phases: each phase has its peak, and what sleeps is not there", "[cli][phases]") {
  const PhasesFile file("cycles = 2\n" + kPrograms + kPhases);
  const json::object answer = json_of("phases " + file.path());
  CHECK(answer.at("fits").as_bool());
  const json::array& phases = answer.at("phases").as_array();
  REQUIRE(phases.size() == 4);
  CHECK(number(phases[0].at("peak"), "reserved_bytes") == 240);
  CHECK(phases[1].at("phase") == "small");
  CHECK(number(phases[1].at("end"), "reserved_bytes") == 100);
  CHECK(number(phases[1], "slept_bytes") == 200);
  CHECK(number(phases[2].at("waking_peak"), "reserved_bytes") == 300);
  CHECK(number(phases[3].at("live_bytes"), "big") == 40);
  CHECK(number(answer.at("after"), "reserved_growth_bytes") == 0);
  CHECK_THAT(answer.at("verdict").as_string().c_str(), Contains("cycle 2, generate"));
}

TEST_CASE("phases: two recorded programs put together are the recorded program that has both",
          "[cli][phases]") {
  const std::string source = HIGHWATER_SOURCE;
  const json::object together = json_of("phases " + source + "/tests/data/phases/turns.toml");
  const json::object recorded =
      json_of("replay " + source + "/traces/recorded/phases/both-torch2.15.hwt.xz");
  CHECK(together.at("peak") == recorded.at("devices").at(0).at("peak"));
}

TEST_CASE("phases: memory that runs out while waking is told with its phase", "[cli][phases]") {
  const PhasesFile file("cycles = 2\n" + kPrograms + kPhases);
  const CommandRun failed = run_line("phases " + file.path() + " --capacity 290MiB");
  CHECK(failed.code == ExitCode::ok);
  CHECK_THAT(failed.out,
             Contains("DOES NOT FIT in 290.00 MiB: cycle 2, generate (waking): 200.00 MiB are "
                      "asked for, 100.00 MiB of 100.00 MiB reserved are in use"));
}

TEST_CASE("phases: the largest block is the one beside which all phases fit", "[cli][phases]") {
  const PhasesFile file("cycles = 2\n" + kPrograms + kPhases);
  const json::object answer =
      json_of("phases " + file.path() + " --capacity 290MiB --find big:cache");
  CHECK(answer.at("largest_bytes").as_int64() >> 20 == 190);
  CHECK(answer.at("fits").as_bool());
}

TEST_CASE("phases: a plan alone in its turns is the plan", "[cli][phases]") {
  const PhasesFile file(
      "cycles = 3\n[programs.t]\nplan = \"--model gpt2 --batch 2 --seq 128\"\n[[phases]]\nrun = "
      "\"t\"\n");
  const json::object phased = json_of("phases " + file.path());
  const json::object plain = json_of("simulate --model gpt2 --batch 2 --seq 128 --steps 3");
  CHECK(phased.at("peak").at("reserved_bytes") == plain.at("peak").at("reserved_bytes"));
  CHECK(phased.at("peak").at("allocated_bytes") == plain.at("peak").at("allocated_bytes"));
}

TEST_CASE("phases: a recording with fewer steps than turns repeats one", "[cli][phases]") {
  const std::string recording =
      std::string(HIGHWATER_SOURCE) + "/traces/recorded/edits/none-torch2.15.hwt.xz";
  const PhasesFile file("cycles = 9\n[programs.t]\nfile = \"" + recording +
                        "\"\n[[phases]]\nrun = \"t\"\n");
  const json::object answer = json_of("phases " + file.path());
  CHECK(answer.at("phases").as_array().size() == 9);
  CHECK(answer.at("after").at("live_growth_bytes") == 4);  // the script keeps each loss
  CHECK_THAT(json::serialize(answer.at("notes")), Contains("happens again"));
}

TEST_CASE("phases: mistakes of the file are told with their line", "[cli][phases]") {
  const auto [text, complaint] = GENERATE(table<std::string, std::string>({
      {"cycles = 0\n" + kPrograms + kPhases, "line 1: cycles = '0' is not a whole number"},
      {kPrograms, "there are no phases"},
      {kPhases, "line 3: there is no program 'big'; add [programs.NAME]"},
      {kPrograms + "[[phases]]\nrun = \"huge\"\n",
       "line 6: there is no program 'huge'; use big, small"},
      {kPrograms + "[[phases]]\nasleep = [\"big:kv\"]\n",
       "line 6: 'big' has no part 'kv'; use weights, cache"},
      {kPrograms + "[[phases]]\nsleeps = true\n",
       "line 6: 'phases.0.sleeps' is no key of this file; use name, run"},
      {"[programs.a]\nplan = \"--model gpt2 --batches 3\"\n[[phases]]\n", "line 2: plan '--model"},
      {"[programs.a]\nplan = \"--model gpt2 --engine torch\"\n[[phases]]\n",
       "a file may not choose what runs"},
      {"[programs.a]\nplan = \"--model gpt2 --python ./python\"\n[[phases]]\n",
       "a file may not choose what runs"},
      {"[programs.a]\nfile = \"x\"\nplan = \"--model gpt2\"\n[[phases]]\n",
       "line 3: program 'a' has two sources"},
      {"[programs.a]\nblocks = [{name = \"x\", size = \"big\"}]\n[[phases]]\n",
       "line 2: 'big' is not a size"},
      {"[programs.a]\nblocks = [{name = \"x\"}]\n[[phases]]\nrun = \"a\"\n",
       "block 1 of program 'a' lacks its size"},
  }));
  const PhasesFile file(text);
  const CommandRun failed = run_line("phases " + file.path());
  CHECK(failed.code == ExitCode::bad_input);
  CHECK_THAT(failed.err, Contains(complaint));
}

TEST_CASE("phases: as many turns as fit", "[cli][phases]") {
  const PhasesFile file(kPrograms + kPhases);
  CHECK(run_line("phases " + file.path() + " --cycles 500").code == ExitCode::ok);
  const CommandRun refused = run_line("phases " + file.path() + " --cycles 501");
  CHECK(refused.code == ExitCode::usage);
  CHECK_THAT(refused.err, Contains("501 cycles of 2 steps: ask for 1 to 1000 steps in all"));
}

TEST_CASE("phases: --find names a block of the file", "[cli][phases]") {
  const PhasesFile file(kPrograms + kPhases);
  CHECK_THAT(run_line("phases " + file.path() + " --find big:kv --capacity 1GiB").err,
             Contains("--find big:kv: the file has no such block; use big:weights, big:cache, "
                      "small:all"));
  CHECK_THAT(run_line("phases " + file.path() + " --find big:cache").err,
             Contains("add --gpu or --capacity"));
}

}  // namespace phases_command_test
