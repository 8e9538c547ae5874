#include "workloads/plan/pipeline/torch_schedule.hpp"

#include <algorithm>

#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::pipelining {
namespace {

using dist::ActionWriter;
using dist::PipelineAction;
using dist::PipelineJob;

// "1B1F": the first stage has as many micro-batches in flight as there are stages.
void one_f_one_b(ActionWriter& writer, const PipelineJob& job) {
  const int warm_up = std::min(job.micro_batches, job.stages - job.stage);
  for (int i = 0; i < warm_up; ++i) {
    writer.whole_forward({i});
  }
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.whole_backward({i});
    if (warm_up + i < job.micro_batches) {
      writer.whole_forward({warm_up + i});
    }
  }
}

void interleaved(ActionWriter& writer, const PipelineJob& job) {
  const dist::InterleavedOrder order(job);
  const int warm_up = order.warm_up();
  for (int k = 0; k < warm_up; ++k) {
    writer.whole_forward(order.forward(k));
  }
  for (int k = 0; k < order.count(); ++k) {
    if (warm_up + k < order.count()) {
      writer.whole_forward(order.forward(warm_up + k));
    }
    writer.whole_backward(order.backward(k));
  }
}

}  // namespace

std::vector<PipelineAction> torch_schedule(PipelineSchedule schedule, const PipelineJob& job) {
  ActionWriter writer(job);
  switch (schedule) {
    case PipelineSchedule::naive:
    case PipelineSchedule::gpipe:
      dist::write_gpipe(writer, job);
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

bool fits_rounds(int micro_batches, int stages) {
  return micro_batches % std::max(1, micro_batches / stages) == 0;
}

}  // namespace highwater::pipelining
