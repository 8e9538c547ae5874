#include "workloads/pipelining/schedule_loop.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace highwater::pipelining {
namespace {

using eager::Tensor;

/// An output under way.
struct Sent {
  Stage* stage;
  int micro_batch;
  dist::Work work;
};

void finish(const Sent& sent) {
  sent.work.wait();
  sent.stage->release_output(sent.micro_batch);
}

void release_in_order(std::vector<Tensor>& tensors) {
  for (Tensor& tensor : tensors) {
    tensor.reset();
  }
  tensors.clear();
}

// ScheduleGPipe: one list of operations; all outputs are waited for after the last forward, all
// gradients at the end, until when their work holds them (WorkNCCL: outputs_).
class GPipeLoop : public ScheduleLoop {
 public:
  void received_input(const Tensor& buffer) override { operations_ = buffer; }

  void after_forward() override { operations_.reset(); }

  void sent_output(Stage& stage, int micro_batch, dist::Work work) override {
    forward_sends_.push_back({&stage, micro_batch, work});
  }

  void before_gradient() override { finish_forwards(); }

  void received_gradient(const Tensor& buffer) override { operations_ = buffer; }

  void after_backward(const Tensor& gradient) override {
    operations_ = gradient;
    backward_sends_.push_back(gradient);
  }

  void end() override {
    finish_forwards();
    operations_.reset();
    release_in_order(backward_sends_);
  }

 private:
  void finish_forwards() {
    for (const Sent& sent : std::exchange(forward_sends_, {})) {
      finish(sent);
    }
  }

  Tensor operations_;
  std::vector<Sent> forward_sends_;
  std::vector<Tensor> backward_sends_;
};

// Schedule1F1B. An output is let go after the next forward, or once the next gradient has a buffer.
// bwd_recvs is cleared before a backward that follows a forward, not in the cooldown.
class OneForwardOneBackwardLoop : public ScheduleLoop {
 public:
  void received_input(const Tensor& buffer) override { forward_receives_ = buffer; }

  void after_forward() override {
    finish_forward();
    is_after_forward_ = true;
  }

  void sent_output(Stage& stage, int micro_batch, dist::Work work) override {
    work.wait();
    forward_send_ = Sent{&stage, micro_batch, {}};
  }

  void received_gradient(const Tensor& buffer) override { backward_receives_ = buffer; }

  void before_backward() override {
    finish_forward();
    if (std::exchange(is_after_forward_, false)) {
      backward_receives_.reset();
    }
  }

  void after_backward(const Tensor& gradient) override { backward_sends_ = gradient; }

  void end() override {
    eager::end_of_frame(forward_receives_, backward_receives_, backward_sends_);
  }

 private:
  void finish_forward() {
    if (forward_send_) {
      finish(*std::exchange(forward_send_, std::nullopt));
    }
  }

  Tensor forward_receives_;
  Tensor backward_receives_;
  Tensor backward_sends_;
  std::optional<Sent> forward_send_;
  bool is_after_forward_ = false;
};

// _PipelineScheduleRuntime: an output is waited for after its backward, which lets go of it anyway;
// a gradient at the end (_add_wait_send).
class RuntimeLoop : public ScheduleLoop {
 public:
  void sent_output(Stage& /*stage*/, int /*micro_batch*/, dist::Work work) override { work.wait(); }

  void after_backward(const Tensor& gradient) override { backward_sends_.push_back(gradient); }

  void end() override { release_in_order(backward_sends_); }

 private:
  std::vector<Tensor> backward_sends_;
};

}  // namespace

std::unique_ptr<ScheduleLoop> make_schedule_loop(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::naive:
    case PipelineSchedule::gpipe:
      return std::make_unique<GPipeLoop>();
    case PipelineSchedule::one_f_one_b:
      return std::make_unique<OneForwardOneBackwardLoop>();
    case PipelineSchedule::interleaved:
      return std::make_unique<RuntimeLoop>();
  }
  return nullptr;
}

}  // namespace highwater::pipelining
