#include "workloads/megatron/pipeline_stage.hpp"

#include <array>
#include <utility>

#include "workloads/nn/backward_pass.hpp"
#include "workloads/plan/pipeline/megatron_schedule.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

using dist::PipelineAction;
using dist::PipelineStep;
using eager::Tensor;

/// Rounds between which one is found to be like the one before it.
constexpr std::size_t kShown = 2;

/// Those whose passes may all be written down. An interleaved pipeline takes as many micro-batches
/// as it has stages through a chunk before it goes on.
std::optional<dist::ActionRounds> rounds_of(const std::vector<PipelineAction>& actions,
                                            const dist::PipelineJob& job) {
  const int later = job.chunks > 1 ? job.stages : 1;
  return dist::action_rounds(actions, later,
                             {megatron::RepeatedPasses::kFirst, job.micro_batches - 2});
}

}  // namespace

PipelineStage::PipelineStage(eager::Runtime& runtime, const TrainingPlan& plan, Strategy& strategy,
                             Loader load, std::vector<RepeatedRound>* left_out)
    : runtime_(runtime),
      plan_(plan),
      strategy_(strategy),
      load_(std::move(load)),
      job_(dist::pipeline_job(plan, rank_place(plan.parallel).pp)),
      group_(runtime, plan.parallel.pp, plan.parallel.backend),
      actions_(dist::megatron_schedule(plan.parallel.schedule, job_)),
      units_(static_cast<std::size_t>(job_.micro_batches * job_.chunks)),
      passes_(runtime, job_.chunks, job_.micro_batches),
      left_out_(left_out),
      rounds_(left_out != nullptr ? rounds_of(actions_, job_) : std::nullopt) {}

void PipelineStage::run(int step) {
  first_micro_batch_ = std::int64_t{step} * plan_.grad_accum;
  passes_.begin_step();
  const bool may_leave_out = rounds_ && rounds_->times > kShown;
  act_from(may_leave_out ? leave_out_rounds() : 0, actions_.size());
  sent_gradient_.reset();
}

void PipelineStage::act_from(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    act(actions_[i]);
  }
}

/// Acts up to the second round, and leaves out those that it shows to be like it. Returns the
/// action to go on with.
std::size_t PipelineStage::leave_out_rounds() {
  act_from(0, rounds_->begin);
  if (!passes_.are_learned()) {
    return rounds_->begin;
  }
  std::array<megatron::RoundMark, kShown + 1> marks{mark()};
  for (std::size_t i = 0; i < kShown; ++i) {
    act_from(rounds_->begin_of(i), rounds_->begin_of(i + 1));
    marks[i + 1] = mark();
  }
  std::optional<RepeatedRound> round = megatron::repeated_round(runtime_.events(), marks);
  if (!round) {
    return rounds_->begin_of(kShown);
  }
  round->times = rounds_->times - kShown;
  pass_over(round->times);
  left_out_->push_back(std::move(*round));
  return rounds_->begin_of(rounds_->times);
}

/// As if the rounds behind the second had been acted out: what is in flight is that of later
/// micro-batches.
void PipelineStage::pass_over(std::size_t rounds) {
  const int later = rounds_->later * static_cast<int>(rounds);
  for_each_in_flight([&](const PipelineAction& at) {
    PipelineAction there = at;
    there.micro_batch += later;
    passes_.rename(blocks_of(at), there.micro_batch);
    unit_of(there) = std::exchange(unit_of(at), {});
  });
  for (std::size_t i = rounds_->begin_of(kShown); i < rounds_->begin_of(rounds_->times); ++i) {
    if (actions_[i].step == PipelineStep::backward) {
      strategy_.pass_backward();
    }
  }
}

megatron::RoundMark PipelineStage::mark() {
  megatron::RoundMark mark{.event = runtime_.events().size(),
                           .allocations = runtime_.allocation_count()};
  const bool has_sent = sent_gradient_.defined() && sent_gradient_->storage->has_block;
  mark.held.push_back(has_sent ? sent_gradient_->storage->allocation : AllocationId::none());
  for_each_in_flight([&](const PipelineAction& at) { passes_.add_held(blocks_of(at), mark.held); });
  return mark;
}

template <class Use>
void PipelineStage::for_each_in_flight(Use use) {
  for (int chunk = 0; chunk < job_.chunks; ++chunk) {
    for (int i = job_.micro_batches - 1; i >= 0; --i) {
      const PipelineAction at{.micro_batch = i, .chunk = chunk};
      const InFlight& unit = unit_of(at);
      if (unit.input.defined() || unit.output.defined() || unit.gradient.defined()) {
        use(at);
      }
    }
  }
}

void PipelineStage::act(const PipelineAction& action) {
  InFlight& unit = unit_of(action);
  switch (action.step) {
    case PipelineStep::receive_input:
      unit.input = receive(action.micro_batch);
      unit.input->requires_grad = true;
      break;
    case PipelineStep::forward:
      forward(action);
      break;
    case PipelineStep::release_output:
      release_output(action);
      break;
    case PipelineStep::receive_gradient:
      unit.gradient = receive(action.micro_batch);
      break;
    case PipelineStep::backward:
      backward(action);
      break;
  }
}

void PipelineStage::forward(const PipelineAction& action) {
  unit_of(action).output = pass(megatron::Pass::forward, action);
}

// forward_step. Inner stages get no batch (pretrain_gpt.py: get_batch).
Tensor PipelineStage::run_forward(const PipelineAction& action) {
  models::Inputs inputs;
  const BatchParts parts = needed_parts(action.chunk);
  if (parts.tokens || parts.labels) {
    inputs = load_(first_micro_batch_ + action.micro_batch, parts);
  }
  inputs.hidden_states = unit_of(action).input;
  inputs.chunk = action.chunk;
  runtime_.mark_phase("forward");
  models::Outputs outputs = strategy_.forward(std::move(inputs));
  return is_last_chunk(action.chunk)
             ? eager::div(outputs.loss, static_cast<double>(plan_.grad_accum))
             : outputs.hidden_states;
}

void PipelineStage::release_output(const PipelineAction& action) {
  passes_.before_release(blocks_of(action));
  Tensor& output = unit_of(action).output;
  output->storage = runtime_.allocate(item_size(output.dtype()));
}

// backward_step: the gradient of the input is sent while the variable still holds it.
void PipelineStage::backward(const PipelineAction& action) {
  Tensor gradient = pass(megatron::Pass::backward, action);
  sent_gradient_ = std::move(gradient);
  if (sent_gradient_.defined()) {
    group_.send(sent_gradient_).wait();
  }
  unit_of(action) = {};
}

Tensor PipelineStage::run_backward(const PipelineAction& action) {
  const InFlight& unit = unit_of(action);
  runtime_.mark_phase("backward");
  strategy_.set_gradient_sync(sync_if(action.micro_batch + 1 == plan_.grad_accum));
  strategy_.backward_stage(unit.output, unit.gradient);
  return unit.input.defined() ? unit.input->grad : Tensor{};
}

/// The output of a forward pass, or the gradient of a backward pass's input.
Tensor PipelineStage::pass(megatron::Pass pass, const PipelineAction& action) {
  const megatron::PassUnit blocks = blocks_of(action);
  const bool is_forward = pass == megatron::Pass::forward;
  if (passes_.may_repeat(pass, blocks)) {
    if (!is_forward) {
      strategy_.pass_backward();
    }
    return passes_.repeat(pass, blocks);
  }
  passes_.begin();
  Tensor result = is_forward ? run_forward(action) : run_backward(action);
  passes_.end(pass, blocks, result);
  return result;
}

megatron::PassUnit PipelineStage::blocks_of(const PipelineAction& action) {
  const InFlight& unit = unit_of(action);
  return {.chunk = action.chunk,
          .micro_batch = action.micro_batch,
          .input = &unit.input,
          .output = &unit.output,
          .gradient = &unit.gradient};
}

// _communicate: torch.empty of the stages' common shape, [s, b, h] or a part of the sequence.
Tensor PipelineStage::receive(int micro_batch) {
  const eager::OpScope op(runtime_, "recv", 0);
  const Parallelism& p = plan_.parallel;
  const std::int64_t parts = std::int64_t{p.cp} * (p.sequence_parallel ? p.tp : 1);
  const std::int64_t length = sequence_length(plan_, first_micro_batch_ + micro_batch) / parts;
  const Tensor buffer = eager::empty(runtime_, {length, plan_.batch, shape_of(plan_.model).hidden},
                                     compute_dtype(plan_.precision));
  runtime_.categorize(buffer, Category::communication);
  group_.receive(buffer).wait();
  return buffer;
}

bool PipelineStage::is_last_chunk(int chunk) const {
  return job_.stage == job_.stages - 1 && chunk == job_.chunks - 1;
}

// get_batch_on_this_tp_rank: tokens and positions for the first stage, labels and the loss mask for
// the last one.
BatchParts PipelineStage::needed_parts(int chunk) const {
  return {.tokens = job_.stage == 0 && chunk == 0, .labels = is_last_chunk(chunk)};
}

PipelineStage::InFlight& PipelineStage::unit_of(const PipelineAction& action) {
  return units_[static_cast<std::size_t>(action.chunk * plan_.grad_accum + action.micro_batch)];
}

}  // namespace highwater
