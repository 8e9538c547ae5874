#include "workloads/plan/pipeline/pipeline_schedule.hpp"

#include <algorithm>
#include <optional>

namespace highwater::dist {
namespace {

/// A micro-batch in one model chunk.
struct Unit {
  int micro_batch = 0;
  int chunk = 0;
};

/// Writes down actions, leaving out those that do not apply at the ends of the pipeline.
class Writer {
 public:
  explicit Writer(const PipelineJob& job) : job_(job) {}

  void receive_input(Unit unit) {
    if (job_.stage > 0 || unit.chunk > 0) {
      add(PipelineStep::receive_input, unit);
    }
  }

  void forward(Unit unit) { add(PipelineStep::forward, unit); }

  void release_output(Unit unit) {
    if (!is_end(unit)) {
      add(PipelineStep::release_output, unit);
    }
  }

  void receive_gradient(Unit unit) {
    if (!is_end(unit)) {
      add(PipelineStep::receive_gradient, unit);
    }
  }

  void backward(Unit unit) { add(PipelineStep::backward, unit); }

  /// Everything that forward needs, and what follows if nothing else overlaps with it.
  void whole_forward(Unit unit) {
    receive_input(unit);
    forward(unit);
    release_output(unit);
  }

  void whole_backward(Unit unit) {
    receive_gradient(unit);
    backward(unit);
  }

  std::vector<PipelineAction> take() { return std::move(actions_); }

 private:
  [[nodiscard]] bool is_end(Unit unit) const {
    return job_.stage == job_.stages - 1 && unit.chunk == job_.chunks - 1;
  }

  void add(PipelineStep step, Unit unit) {
    actions_.push_back({step, unit.micro_batch, unit.chunk});
  }

  PipelineJob job_;
  std::vector<PipelineAction> actions_;
};

void naive(Writer& writer, const PipelineJob& job) {
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.whole_forward({i});
    writer.whole_backward({i});
  }
}

void gpipe(Writer& writer, const PipelineJob& job) {
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.whole_forward({i});
  }
  for (int i = 0; i < job.micro_batches; ++i) {
    writer.whole_backward({i});
  }
}

// The input of the next forward is received while a gradient is sent: its buffer exists before that
// forward and after that backward.
void one_f_one_b(Writer& writer, const PipelineJob& job) {
  const int warm_up = std::min(job.stages - job.stage - 1, job.micro_batches);
  const int steady = job.micro_batches - warm_up;
  for (int i = 0; i < warm_up; ++i) {
    writer.whole_forward({i});
  }
  if (steady > 0) {
    writer.receive_input({warm_up});
  }
  for (int i = 0; i < steady; ++i) {
    const Unit ahead{warm_up + i};
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

/// The order in which the chunks' micro-batches are visited: groups of `stages` micro-batches go
/// through all chunks before the next group begins (get_schedule_table).
class InterleavedOrder {
 public:
  explicit InterleavedOrder(const PipelineJob& job) : job_(job) {}

  [[nodiscard]] int count() const { return job_.micro_batches * job_.chunks; }

  [[nodiscard]] int warm_up() const {
    return std::min(count(), (job_.stages - job_.stage - 1) * 2 + (job_.chunks - 1) * job_.stages);
  }

  [[nodiscard]] Unit forward(int position) const {
    const int group = position / (job_.stages * job_.chunks);
    const int within = position % (job_.stages * job_.chunks);
    return {group * job_.stages + within % job_.stages, within / job_.stages};
  }

  [[nodiscard]] Unit backward(int position) const {
    const Unit mirrored = forward(position);
    return {mirrored.micro_batch, job_.chunks - 1 - mirrored.chunk};
  }

 private:
  PipelineJob job_;
};

// With overlap_p2p_comm, the default of training: an output is deallocated just before the next
// forward of the steady part, because its sending overlaps with the backward between the two.
void interleaved(Writer& writer, const PipelineJob& job) {
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

std::vector<PipelineAction> pipeline_schedule(PipelineSchedule schedule, const PipelineJob& job) {
  Writer writer(job);
  switch (schedule) {
    case PipelineSchedule::naive:
      naive(writer, job);
      break;
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

}  // namespace highwater::dist
