#include "workloads/plan/pipeline/megatron_schedule.hpp"

#include <algorithm>

#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::dist {
namespace {

void naive(ActionWriter& writer, const PipelineJob& job) {
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.whole_forward({i});
    writer.whole_backward({i});
  }
}

// The input of the next forward is received while a gradient is sent: its buffer exists before that
// forward and after that backward.
void one_f_one_b(ActionWriter& writer, const PipelineJob& job) {
  const int warm_up = std::min(job.stages - job.stage - 1, job.micro_batches);
  const int steady = job.micro_batches - warm_up;
  for (int i = 0; i < warm_up; ++i) {
    writer.whole_forward({i});
  }
  if (steady > 0) {
    writer.receive_input({warm_up});
  }
  for (int i = 0; i < steady; ++i) {
    const PipelineUnit ahead{warm_up + i};
    writer.forward(ahead);
    writer.receive_gradient({i});
    writer.release_output(ahead);
    writer.backward({i});
    if (i + 1 < steady) {
      writer.receive_input({warm_up + i + 1});
    }
  }
  for (int i = steady; i < job.micro_batches; ++i) {
    writer.whole_backward({i});
  }
}

// With overlap_p2p_comm, the default of training: an output is deallocated just before the next
// forward of the steady part, because its sending overlaps with the backward between the two.
void interleaved(ActionWriter& writer, const PipelineJob& job) {
  const InterleavedOrder order(job);
  const int warm_up = order.warm_up();
  const int steady = order.count() - warm_up;
  writer.receive_input(order.forward(0));
  for (int k = 0; k < warm_up; ++k) {
    writer.forward(order.forward(k));
    if (k + 1 < order.count()) {
      writer.receive_input(order.forward(k + 1));
    }
    writer.release_output(order.forward(k));
  }
  writer.receive_gradient(order.backward(0));
  for (int k = 0; k < steady; ++k) {
    if (k > 0) {
      writer.release_output(order.forward(warm_up + k - 1));
    }
    writer.forward(order.forward(warm_up + k));
    if (k + 1 < steady) {
      writer.receive_input(order.forward(warm_up + k + 1));
    }
    writer.backward(order.backward(k));
    if (k + 1 < order.count()) {
      writer.receive_gradient(order.backward(k + 1));
    }
  }
  if (steady > 0) {
    writer.release_output(order.forward(order.count() - 1));
  }
  for (int k = steady; k < order.count(); ++k) {
    writer.backward(order.backward(k));
    if (k + 1 < order.count()) {
      writer.receive_gradient(order.backward(k + 1));
    }
  }
}

}  // namespace

std::vector<PipelineAction> megatron_schedule(PipelineSchedule schedule, const PipelineJob& job) {
  ActionWriter writer(job);
  switch (schedule) {
    case PipelineSchedule::naive:
      naive(writer, job);
      break;
    case PipelineSchedule::gpipe:
      write_gpipe(writer, job);
      break;
    case PipelineSchedule::one_f_one_b:
      one_f_one_b(writer, job);
      break;
    case PipelineSchedule::interleaved:
      interleaved(writer, job);
      break;
  }
  return writer.take();
}

}  // namespace highwater::dist
