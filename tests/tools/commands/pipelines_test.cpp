// Stages of torch.distributed.pipelining under PyTorch 2.15, recorded (tests/data/loops/pipelines),
// beside the simulation of the same plan.
#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace pipelines_test {

namespace {

const std::string kFolder = HIGHWATER_TEST_DATA "/loops/pipelines/";

struct Case {
  std::string name;
  std::string plan;
};

boost::json::object peak_of(const boost::json::object& device) {
  return device.at("peak").as_object();
}

boost::json::object simulated(const Case& each) {
  return peak_of(
      json_of("simulate --torch 2.15 --transformers 5.24 --framework torch --init cpu --pp 2 "
              "--grad-accum 4 --batch 2 --seq 128 --engine model --gpu a100-40 --model " +
              kFolder + "llama.json " + each.plan));
}

boost::json::object recorded(const Case& each) {
  const auto replayed = json_of("replay " + kFolder + each.name + ".hwt.xz");
  return peak_of(replayed.at("devices").at(0).as_object());
}

}  // namespace

TEST_CASE("pipelines: a stage of 2.15 has the peaks of its recording", "[cli][framework]") {
  for (const Case& each : {Case{"1f1b-rank0", "--rank 0"}, Case{"1f1b-rank1", "--rank 1"},
                           Case{"gpipe-rank1", "--pp-schedule gpipe --rank 1"},
                           Case{"1f1b-ddp-rank0", "--dp 2 --rank 0"}}) {
    CAPTURE(each.name);
    const auto truth = recorded(each);
    const auto model = simulated(each);
    CHECK(model.at("requested_bytes") == truth.at("requested_bytes"));
    CHECK(model.at("allocated_bytes") == truth.at("allocated_bytes"));
    CHECK(model.at("reserved_bytes") == truth.at("reserved_bytes"));
  }
}

}  // namespace pipelines_test
