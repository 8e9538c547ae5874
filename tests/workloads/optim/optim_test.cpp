// The optimizer's part of a training step: sequences seen in recordings of PyTorch 2.6 (and of
// bitsandbytes 0.45.5) for the same small parameters, and properties that hold for all choices.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/workloads/optim/request_words.hpp"
#include "workloads/optim/clip_grad.hpp"
#include "workloads/optim/grad_scaler.hpp"
#include "workloads/optim/optimizer.hpp"

using namespace highwater;
using namespace highwater::eager;
using namespace highwater::optim_tests;

namespace {

using Groups = std::vector<std::vector<Tensor>>;

struct Tally {
  std::string allocated;  ///< the words of the allocations
  int balance = 0;        ///< allocations less frees

  bool operator==(const Tally&) const = default;
};

Tally tally(const std::string& sequence) {
  Tally found;
  for (std::size_t i = 0; i < sequence.size();) {
    const auto end = std::min(sequence.find(' ', i), sequence.size());
    const bool is_alloc = sequence[i] == '+';
    found.allocated += is_alloc ? sequence.substr(i, end - i) : "";
    found.balance += is_alloc ? 1 : -1;
    i = end + 1;
  }
  return found;
}

std::vector<std::string> steps_of(Model& model, const Optimizer& choice, const Groups& groups,
                                  int steps) {
  OptimizerRun optimizer(model.runtime, choice, groups);
  for (int step = 0; step < steps; ++step) {
    model.make_grads();
    model.record([&] { optimizer.step(); });
    optimizer.zero_grad(optim::ZeroGrad::to_none);
  }
  return recorded(model);
}

// Parameters 0 and 1 have 400 and 40 bytes, their gradients are blocks 2 and 3.
Model two_parameters() {
  return Model({{{10, 10}, DType::fp32}, {{10}, DType::fp32}});
}

std::vector<std::string> steps_of_two(OptimizerKind kind, OptimizerImpl impl, int groups,
                                      int steps = 2) {
  auto model = two_parameters();
  const auto& params = model.params;
  return steps_of(model, {.kind = kind, .impl = impl, .param_groups = groups},
                  groups == 1 ? Groups{params} : Groups{{params[0]}, {params[1]}}, steps);
}

using enum OptimizerKind;
using Impl = OptimizerImpl;

}  // namespace

TEST_CASE("optim: AdamW makes its state at the first step, in order of parameters", "[optim]") {
  const auto steps = steps_of_two(adamw, Impl::foreach, 1);
  CHECK(steps[0] == "+400 +400 +40 +40 +400 +40 -9 -8");
  CHECK(steps[1] == "+400 +40 -13 -12");
  CHECK(steps_of_two(adamw, Impl::standard, 1) == steps);
}

TEST_CASE("optim: each parameter group has its own list of denominators", "[optim]") {
  CHECK(steps_of_two(adamw, Impl::foreach, 2)[1] == "+400 -12 +40 -13");
}

TEST_CASE("optim: Adam adds weight decay to copies of the gradients, AdamW does not", "[optim]") {
  CHECK(steps_of_two(adam, Impl::foreach, 1)[1] == "+400 +40 -13 -12");
  CHECK(steps_of_two(adam, Impl::foreach, 2)[1] == "+400 -13 +400 -14 +40 -15");
  CHECK(steps_of_two(adam, Impl::loop, 2)[1] == "+400 +400 +400 -16 -15 -17 +40 +40 -18 -19");
}

TEST_CASE("optim: the loop keeps one denominator until the next one is there", "[optim]") {
  CHECK(steps_of_two(adamw, Impl::loop, 1)[1] == "+400 +400 -14 +40 +40 -16 -15 -17");
  CHECK(steps_of_two(rmsprop, Impl::loop, 1)[1] == "+400 +40 -10 -11");
}

TEST_CASE("optim: the fused kernel wants its step counters on the GPU", "[optim]") {
  const auto steps = steps_of_two(adamw, Impl::fused, 1);
  CHECK(steps[0] == "+4 +400 +400 +4 +40 +40");
  CHECK(steps[1].empty());
}

TEST_CASE("optim: SGD's momentum is a clone of the first gradient", "[optim]") {
  CHECK(steps_of_two(sgd, Impl::foreach, 1) == std::vector<std::string>{"", ""});
  CHECK(steps_of_two(sgd_momentum, Impl::foreach, 1) == std::vector<std::string>{"+400 +40", ""});
  CHECK(steps_of_two(sgd_momentum, Impl::loop, 2)[0] == "+400 +400 -4 +40");
  CHECK(steps_of_two(sgd_momentum, Impl::fused, 2)[0] == "+400 +40");
  CHECK(steps_of_two(sgd, Impl::foreach, 2)[1] == "+400 -7");
}

TEST_CASE("optim: Adagrad's state is made by the constructor", "[optim]") {
  auto model = two_parameters();
  model.record(
      [&] { const OptimizerRun optimizer(model.runtime, {.kind = adagrad}, {model.params}); });
  CHECK(recorded(model).front().starts_with("+400 +40 "));
  CHECK(steps_of_two(adagrad, Impl::foreach, 1)[1] == "+400 +40 +400 +40 -13 -12 -15 -14");
  CHECK(steps_of_two(adagrad, Impl::loop, 1)[1] == "+400 +40 -10 -11");
}

TEST_CASE("optim: Adafactor keeps rows and columns of matrices, and loops by default", "[optim]") {
  const auto steps = steps_of_two(adafactor, Impl::standard, 1);
  CHECK(steps == steps_of_two(adafactor, Impl::loop, 1));
  CHECK(steps[0].starts_with("+40 +40 +40 +4 -7 +40 +40 +400 "));
  CHECK(steps_of_two(adafactor, Impl::foreach, 1)[1] ==
        "+4 -19 +40 -20 +40 -21 +400 +4 -23 +4 -24 +4 -25 +40 -26 +40 -22 +4 -28 -27");
}

TEST_CASE("optim: RMSprop keeps the decayed gradients to the end of the group", "[optim]") {
  CHECK(steps_of_two(rmsprop, Impl::foreach, 2)[1] == "+400 +400 -11 -12 +40 -13");
}

TEST_CASE("optim: groups of two dtypes run in the order of torch's hash map", "[optim]") {
  Model model({{{10}, DType::bf16}, {{10}, DType::fp32}});
  const auto steps = steps_of(model, {.kind = adamw}, {model.params}, 2);
  CHECK(steps[1] == "+40 +20 -12 -13");
}

TEST_CASE("optim: 8-bit AdamW quantizes tensors of 4096 values in blocks of 256", "[optim]") {
  Model model({{{64}, DType::bf16},
               {{100, 50}, DType::bf16},
               {{4096}, DType::fp32},
               {{4095}, DType::fp32}});
  const auto steps = steps_of(model, {.kind = adamw_8bit}, {model.params}, 2);
  CHECK(steps[0] == "+256 +256 +1024 +1024 +5000 +5000 +80 +80 +4096 +4096 +64 +64 +16380 +16380");
  CHECK(steps[1].empty());
}

// transformers 5.24, trainer.py create_optimizer: {"optim_bits": 32} for embeddings. A state of
// 20,000 bytes instead of 5,000 and the maxima of 20 blocks.
TEST_CASE("optim: a parameter may keep wide states beside an 8-bit optimizer", "[optim]") {
  Model model({{{100, 50}, DType::bf16}, {{4096}, DType::fp32}});
  model.params[0]->is_target = true;
  const auto steps = steps_of(model, {.kind = lion_8bit}, {model.params}, 1);
  CHECK(steps[0] == "+20000 +1024 +4096 +64");
}

TEST_CASE("optim: without weight decay there are no copies of the gradients", "[optim]") {
  const auto first_step = [](int decaying) {
    auto model = two_parameters();
    const Optimizer choice{.kind = rmsprop, .param_groups = decaying};
    return steps_of(model, choice, {{model.params[0]}, {model.params[1]}}, 1)[0];
  };
  CHECK(tally(first_step(2)).allocated == "+400+400+400+40+40");
  CHECK(tally(first_step(1)).allocated == "+400+400+40+40");
}

// PyTorch 2.15, torchao 0.18; what its compiler makes and frees at the first step is left out.
TEST_CASE("optim: torchao codes tensors of 4096 values that blocks divide", "[optim]") {
  const std::map<OptimizerKind, std::string> first_steps{
      {adamw_torch_8bit,
       "+8192 +128 +1024 +8192 +128 +1024 +40 +40 +131072 +2048 +1024 +131072 +2048 +1024"},
      {adamw_cpu_offload, "+4 +40 +40"}};
  for (const auto& [kind, first_step] : first_steps) {
    Model model({{{128, 64}, DType::fp32}, {{10}, DType::fp32}, {{512, 256}, DType::fp32}},
                {2, 15});
    const auto steps = steps_of(model, {.kind = kind}, {model.params}, 2);
    CHECK(steps[0] == first_step);
    CHECK(steps[1].empty());
  }
}

TEST_CASE("optim: parameters on the host, and states in pages, are counted there", "[optim]") {
  const std::map<OptimizerKind, std::int64_t> on_host{{adamw_cpu_offload, 16 * 400 * 300},
                                                      {paged_adamw_8bit, 2 * 400 * 300},
                                                      {paged_lion_32bit, 4 * 400 * 300},
                                                      {paged_ademamix_32bit, 12 * 400 * 300},
                                                      {adamw_8bit, 0}};
  for (const auto& [kind, bytes] : on_host) {
    Model model({{{400, 300}, DType::fp32}, {{10}, DType::fp32}}, {2, 15});
    OptimizerRun optimizer(model.runtime, {.kind = kind}, {model.params});
    model.make_grads();
    optimizer.step();
    CHECK(model.runtime.host_memory.account().requested() == bytes);
  }
}

TEST_CASE("optim: zero_grad frees in order of parameters, or nothing", "[optim]") {
  auto model = two_parameters();
  OptimizerRun optimizer(model.runtime, {.kind = sgd}, {model.params});
  model.make_grads();
  model.record([&] { optimizer.zero_grad(optim::ZeroGrad::to_zero); });
  model.record([&] { optimizer.zero_grad(optim::ZeroGrad::to_none); });
  model.record([&] { optimizer.step(); });
  CHECK(recorded(model) == std::vector<std::string>{"", "-2 -3", ""});
}

TEST_CASE("optim: without an optimizer only the gradients are let go", "[optim]") {
  auto model = two_parameters();
  OptimizerRun optimizer(model.runtime, {.kind = none}, {model.params});
  model.make_grads();
  model.record([&] { optimizer.step(); });
  model.record([&] { optimizer.zero_grad(optim::ZeroGrad::to_none); });
  CHECK(recorded(model) == std::vector<std::string>{"", "-2 -3"});
}

TEST_CASE("optim: clipping keeps one norm per gradient until they are stacked", "[optim]") {
  Model model({{{300, 300}, DType::fp32}, {{10}, DType::fp32}});
  model.make_grads();
  model.record([&] { clip_grad_norm(model.runtime, model.params); });
  // Two chunks of 65536 values for each of two tensors.
  CHECK(recorded(model).front() == "+16 +4 +4 -4 +8 +4 -7 -6 -5 +4 +4 +4 -10 -9 +4 -11 -12 -8");
}

TEST_CASE("optim: clipping in older releases keeps the norms to its end", "[optim]") {
  for (const int minor : {5, 2}) {
    Model model({{{300, 300}, DType::fp32}, {{10}, DType::fp32}}, {2, minor});
    model.make_grads();
    model.record([&] { clip_grad_norm(model.runtime, model.params); });
    CHECK(recorded(model).front() ==
          (minor == 5 ? "+16 +4 +4 -4 +8 +4 -7 +4 +4 +4 -10 -9 +4 -6 -5 -11 -12 -8"
                      : "+16 +8 -4 +8 +4 -6 +4 +4 +4 -9 -8 +4 -5 -10 -11 -7"));
  }
}

TEST_CASE("optim: clipping without gradients does nothing", "[optim]") {
  auto model = two_parameters();
  model.record([&] { clip_grad_norm(model.runtime, model.params); });
  CHECK(recorded(model).front().empty());
}

TEST_CASE("optim: GradScaler unscales before the step, or lets the fused kernel do it", "[optim]") {
  for (const auto impl : {Impl::foreach, Impl::fused}) {
    auto model = two_parameters();
    OptimizerRun optimizer(model.runtime, {.kind = sgd, .impl = impl}, {model.params});
    GradScaler scaler(model.runtime);
    model.record([&] { scaler.scale(empty(model.runtime, {}, DType::fp32)); });
    model.make_grads();
    model.record([&] {
      scaler.step(optimizer);
      scaler.update();
    });
    model.record([&] { scaler.scale(empty(model.runtime, {}, DType::fp32)); });
    const auto parts = recorded(model);
    CHECK(parts[0] == "+4 +4 +4 +4 -5 -2");
    CHECK(parts[1] == (impl == Impl::foreach ? "+8 +8 -8 +4 -9 +4 +4 +4 -13 -10 -11 -12"
                                             : "+4 +4 +4 +4 -11 -8 -9 +4 +4 -13 -12 -10"));
    CHECK(parts[2].starts_with("+4 +4 -"));
  }
}

TEST_CASE("optim: master copies are made first and hold the state", "[optim]") {
  Model model({{{10, 10}, DType::bf16}, {{10}, DType::fp32}});
  OptimizerRun optimizer(model.runtime, {.kind = adamw, .master_weights = true}, {model.params});
  model.make_grads();
  model.record([&] { optimizer.step(); });
  CHECK_FALSE(model.params[0]->grad.defined());
  model.record([&] { optimizer.zero_grad(optim::ZeroGrad::to_none); });
  const auto parts = recorded(model);
  CHECK(parts[0] == "+400 -4 +400 +400 +40 +40 +400 +40 -12 -11");
  CHECK(parts[1] == "-6 -5");
}

TEST_CASE("optim: in backward each gradient goes as soon as its parameter is updated", "[optim]") {
  auto model = two_parameters();
  const OptimizerRun optimizer(model.runtime, {.kind = sgd, .in_backward = true}, {model.params});
  for (int step = 0; step < 3; ++step) {
    const Tensor second = sum(model.params[1], {}, eager::KeepDim::no);
    const Tensor loss = add(sum(model.params[0], {}, eager::KeepDim::no), second);
    model.record([&] { backward(loss); });
    CHECK_FALSE(model.params[0]->grad.defined());
    CHECK_FALSE(model.params[1]->grad.defined());
  }
  const auto parts = recorded(model);
  CHECK(tally(parts[0]).allocated == "+4+400+40");
  CHECK(tally(parts[0]) == tally(parts[2]));
}

TEST_CASE("optim: later steps repeat, and leave only what is optimizer state", "[optim]") {
  // The gradients of master copies take the place of the low-precision ones.
  const std::map<OptimizerKind, int> state_tensors{{sgd, 0},      {sgd_momentum, 3}, {adam, 6},
                                                   {adamw, 6},    {rmsprop, 3},      {adagrad, 0},
                                                   {adafactor, 5}};
  for (const auto& [kind, state_count] : state_tensors) {
    for (const auto impl : {Impl::standard, Impl::foreach, Impl::loop}) {
      for (const bool has_masters : {false, true}) {
        INFO(static_cast<int>(kind) << ' ' << static_cast<int>(impl) << ' ' << has_masters);
        Model model({{{7, 9}, DType::bf16}, {{9}, DType::bf16}, {{3, 2, 4}, DType::fp32}});
        const auto& p = model.params;
        const auto steps = steps_of(
            model, {.kind = kind, .impl = impl, .param_groups = 2, .master_weights = has_masters},
            {{p[0], p[2]}, {p[1]}}, 4);
        CHECK(tally(steps[0]).balance == state_count);
        CHECK(tally(steps[1]).balance == 0);
        CHECK(tally(steps[1]) == tally(steps[2]));
        CHECK(tally(steps[2]) == tally(steps[3]));
      }
    }
  }
}
