#include "workloads/plan/pipeline/schedules.hpp"

#include <algorithm>

namespace highwater::pipelining {
namespace {

using dist::PipelineAction;
using dist::PipelineJob;
using dist::PipelineStep;

class Writer {
 public:
  explicit Writer(const PipelineJob& job) : job_(job) {}

  void forward(int micro_batch, int chunk = 0) {
    if (job_.stage > 0 || chunk > 0) {
      actions_.push_back({PipelineStep::receive_input, micro_batch, chunk});
    }
    actions_.push_back({PipelineStep::forward, micro_batch, chunk});
    if (!is_end(chunk)) {
      actions_.push_back({PipelineStep::release_output, micro_batch, chunk});
    }
  }

  void backward(int micro_batch, int chunk = 0) {
    if (!is_end(chunk)) {
      actions_.push_back({PipelineStep::receive_gradient, micro_batch, chunk});
    }
    actions_.push_back({PipelineStep::backward, micro_batch, chunk});
  }

  std::vector<PipelineAction> take() { return std::move(actions_); }

 private:
  [[nodiscard]] bool is_end(int chunk) const {
    return job_.stage == job_.stages - 1 && chunk == job_.chunks - 1;
  }

  PipelineJob job_;
  std::vector<PipelineAction> actions_;
};

void gpipe(Writer& writer, const PipelineJob& job) {
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.forward(i);
  }
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.backward(i);
  }
}

// "1B1F": the first stage has as many micro-batches in flight as there are stages.
void one_f_one_b(Writer& writer, const PipelineJob& job) {
  const int warm_up = std::min(job.micro_batches, job.stages - job.stage);
  for (int i = 0; i < warm_up; ++i) {
    writer.forward(i);
  }
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.backward(i);
    if (warm_up + i < job.micro_batches) {
      writer.forward(warm_up + i);
    }
  }
}

/// Rounds of micro-batches go through all chunks before the next round begins.
class Interleaved {
 public:
  explicit Interleaved(const PipelineJob& job)
      : job_(job), per_round_(job.micro_batches / std::max(1, job.micro_batches / job.stages)) {}

  [[nodiscard]] int count() const { return job_.micro_batches * job_.chunks; }

  [[nodiscard]] int warm_up() const {
    return std::min(count(), (job_.chunks - 1) * per_round_ + 2 * (job_.stages - 1 - job_.stage));
  }

  void forward(Writer& writer, int position) const {
    writer.forward(micro_batch(position), chunk(position));
  }

  void backward(Writer& writer, int position) const {
    writer.backward(micro_batch(position), job_.chunks - 1 - chunk(position));
  }

 private:
  [[nodiscard]] int chunk(int position) const { return position / per_round_ % job_.chunks; }

  [[nodiscard]] int micro_batch(int position) const {
    return position / (per_round_ * job_.chunks) * per_round_ + position % per_round_;
  }

  PipelineJob job_;
  int per_round_;
};

void interleaved(Writer& writer, const PipelineJob& job) {
  const Interleaved order(job);
  const int warm_up = order.warm_up();
  for (int k = 0; k < warm_up; ++k) {
    order.forward(writer, k);
  }
  for (int k = 0; k < order.count(); ++k) {
    if (warm_up + k < order.count()) {
      order.forward(writer, warm_up + k);
    }
    order.backward(writer, k);
  }
}

}  // namespace

std::vector<PipelineAction> schedule(PipelineSchedule schedule, const PipelineJob& job) {
  Writer writer(job);
  switch (schedule) {
    case PipelineSchedule::naive:
    case PipelineSchedule::gpipe:
      gpipe(writer, job);
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
