// Models that accelerate spreads over two GPUs of one process, recorded (tests/data/loops/naive), a
// case for each family, beside the simulation of the same plan.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace naive_split_test {

namespace {

const std::string kFolder = HIGHWATER_TEST_DATA "/loops/naive/";

/// A line of cases.txt: NAME GPU MODEL [options].
struct Case {
  std::string name;
  std::string gpu;
  std::string plan;
};

std::vector<Case> recorded_cases() {
  std::ifstream file(kFolder + "cases.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Case each;
    words >> each.name >> each.gpu >> std::ws;
    std::getline(words, each.plan);
    cases.push_back(each);
  }
  return cases;
}

boost::json::object simulated(const Case& each) {
  return json_of(
      "simulate --torch 2.15 --transformers 5.23 --framework torch --init cpu --pp 2 "
      "--pp-schedule naive --batch 2 --seq 128 --steps 3 --cudnn-workspaces none --rank " +
      each.gpu + " --model " + kFolder + each.plan);
}

boost::json::object recorded(const Case& each) {
  const auto replayed = json_of("replay " + kFolder + each.name + "-gpu" + each.gpu + ".hwt.xz");
  return replayed.at("devices").at(0).as_object();
}

}  // namespace

TEST_CASE("naive split: every family has the peaks and the requests of its recording",
          "[cli][framework][long]") {
  const std::vector<Case> cases = recorded_cases();
  REQUIRE(cases.size() > 80);
  for (const Case& each : cases) {
    CAPTURE(each.name, each.gpu);
    const auto run = simulated(each);
    const auto truth = recorded(each);
    for (const char* peak : {"requested_bytes", "allocated_bytes", "reserved_bytes"}) {
      CAPTURE(peak);
      CHECK(run.at("peak").at(peak) == truth.at("peak").at(peak));
    }
    CHECK(run.at("counts").at("allocs") == truth.at("counts").at("allocs"));
  }
}

}  // namespace naive_split_test
