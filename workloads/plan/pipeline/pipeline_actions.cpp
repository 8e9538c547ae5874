#include "workloads/plan/pipeline/pipeline_actions.hpp"

#include "workloads/plan/training_plan.hpp"

namespace highwater::dist {

PipelineJob pipeline_job(const TrainingPlan& plan, int stage) {
  const Parallelism& p = plan.parallel;
  return {
      .stages = p.pp, .stage = stage, .micro_batches = plan.grad_accum, .chunks = model_chunks(p)};
}

int most_in_flight(const std::vector<PipelineAction>& actions) {
  int now = 0;
  int most = 0;
  for (const PipelineAction& action : actions) {
    if (action.step == PipelineStep::forward) {
      most = std::max(most, ++now);
    } else if (action.step == PipelineStep::backward) {
      --now;
    }
  }
  return most;
}

void ActionWriter::receive_input(PipelineUnit unit) {
  if (job_.stage > 0 || unit.chunk > 0) {
    add(PipelineStep::receive_input, unit);
  }
}

void ActionWriter::release_output(PipelineUnit unit) {
  if (!is_end(unit)) {
    add(PipelineStep::release_output, unit);
  }
}

void ActionWriter::receive_gradient(PipelineUnit unit) {
  if (!is_end(unit)) {
    add(PipelineStep::receive_gradient, unit);
  }
}

void ActionWriter::whole_forward(PipelineUnit unit) {
  receive_input(unit);
  forward(unit);
  release_output(unit);
}

void ActionWriter::whole_backward(PipelineUnit unit) {
  receive_gradient(unit);
  backward(unit);
}

bool ActionWriter::is_end(PipelineUnit unit) const {
  return job_.stage == job_.stages - 1 && unit.chunk == job_.chunks - 1;
}

void ActionWriter::add(PipelineStep step, PipelineUnit unit) {
  actions_.push_back({step, unit.micro_batch, unit.chunk});
}

void write_gpipe(ActionWriter& writer, const PipelineJob& job) {
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.whole_forward({i});
  }
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.whole_backward({i});
  }
}

int InterleavedOrder::warm_up() const {
  return std::min(count(), (job_.chunks - 1) * per_round_ + 2 * (job_.stages - 1 - job_.stage));
}

PipelineUnit InterleavedOrder::forward(int position) const {
  const int round = position / (per_round_ * job_.chunks);
  const int within = position % (per_round_ * job_.chunks);
  return {round * per_round_ + within % per_round_, within / per_round_};
}

PipelineUnit InterleavedOrder::backward(int position) const {
  const PipelineUnit mirrored = forward(position);
  return {mirrored.micro_batch, job_.chunks - 1 - mirrored.chunk};
}

}  // namespace highwater::dist
