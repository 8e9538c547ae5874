// Steps of optimizers over a few small parameters beside recordings of the packages' own code
// (tests/data/optim/steps.txt, made by tools/python/measure/optimizer_steps.py with PyTorch 2.15).
#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/workloads/optim/request_words.hpp"
#include "workloads/optim/optimizer.hpp"
#include "workloads/plan/optimizer_table.hpp"

using namespace highwater;
using namespace highwater::eager;
using namespace highwater::optim_tests;

namespace {

constexpr int kRank = 4;

/// A recording: the requests of the constructor, then those of each step.
struct Recording {
  std::string name;
  OptimizerImpl impl = OptimizerImpl::standard;
  DType dtype;
  std::vector<std::string> parts;
};

// "NAME DTYPE", or "NAME:loop DTYPE".
Recording named(const std::string& line) {
  const auto space = line.find(' ');
  const std::string name = line.substr(0, space);
  const auto mark = name.find(':');
  return {.name = name.substr(0, mark),
          .impl = mark == std::string::npos ? OptimizerImpl::standard : OptimizerImpl::loop,
          .dtype = line.substr(space + 1) == "bf16" ? DType::bf16 : DType::fp32,
          .parts = {}};
}

std::vector<Recording> recordings() {
  std::ifstream file(std::string(HIGHWATER_TEST_DATA) + "/optim/steps.txt");
  std::vector<Recording> found;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '+' || line.front() == '-') {
      found.back().parts.push_back(line);
    } else {
      found.push_back(named(line));
    }
  }
  return found;
}

OptimizerKind kind_of(const std::string& name) {
  const OptimizerRow* const found = find_optimizer(name);
  REQUIRE(found != nullptr);
  return found->kind;
}

std::vector<std::string> simulated(const Recording& recording) {
  const DType dtype = recording.dtype;
  Model model({{{80, 40}, dtype}, {{10}, dtype}, {{40, 80}, dtype}, {{400, 300}, dtype}}, {2, 15},
              *find_gpu("h100-80"));
  const Optimizer choice{.kind = kind_of(recording.name), .impl = recording.impl, .rank = kRank};
  for (const Tensor& param : model.params) {
    param->is_target = has_targets(choice.kind) && param.dim() == 2;
  }
  std::optional<OptimizerRun> optimizer;
  const std::vector<std::vector<Tensor>> groups{model.params};
  model.record([&] { optimizer.emplace(model.runtime, choice, groups); });
  for (std::size_t step = 1; step < recording.parts.size(); ++step) {
    model.make_grads();
    if (choice.kind == OptimizerKind::muon) {
      model.params[1]->grad.reset();  // AdamW's, which was not recorded
    }
    model.record([&] {
      optimizer->step();
      optimizer->finish_backward();
    });
    optimizer->zero_grad(optim::ZeroGrad::to_none);
  }
  return recorded(model);
}

}  // namespace

TEST_CASE("optim: steps of other packages as recorded", "[optim]") {
  const std::vector<Recording> all = recordings();
  REQUIRE(all.size() > 83);
  for (const Recording& recording : all) {
    INFO(recording.name << (recording.dtype == DType::bf16 ? " bf16" : " fp32"));
    const std::vector<std::string> parts = simulated(recording);
    for (std::size_t i = 0; i < recording.parts.size(); ++i) {
      INFO("part " << i);
      CHECK(parts[i] == recording.parts[i]);
    }
  }
}
