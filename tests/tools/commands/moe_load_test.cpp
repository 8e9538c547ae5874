// Mixtures whose experts get shares of a file: a recording under `record --moe-load FILE`
// (tests/data/loops) beside a plan with the same file.
#include <boost/json/object.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace moe_load_test {

TEST_CASE("moe load: a plan has the requests of the recording with the same shares", "[cli][moe]") {
  const std::string loops = HIGHWATER_TEST_DATA "/loops/";
  const auto [model, shares] = GENERATE(
      table<std::string, std::string>({{"mixtral", "shares-of-8"}, {"deepseek", "shares-of-16"}}));
  const auto recorded = json_of("replay " + loops + model + "-shares.hwt.xz");
  const auto simulated = json_of(
      "simulate --gpu h100-80 --steps 4 --torch 2.15 --transformers 5.23 --batch 2 --seq 200 "
      "--precision bf16 --experts eager --init device --cudnn-workspaces none --model " +
      loops + model + ".json --moe-load " + loops + shares);
  const auto& device = recorded.at("devices").at(0).as_object();
  CAPTURE(model);
  CHECK(simulated.at("peak").at("allocated_bytes") == device.at("peak").at("allocated_bytes"));
  CHECK(simulated.at("peak").at("reserved_bytes") == device.at("peak").at("reserved_bytes"));
  CHECK(simulated.at("counts").at("allocs") == device.at("counts").at("allocs"));
}

}  // namespace moe_load_test
