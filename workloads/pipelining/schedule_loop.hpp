// The variables of a schedule's loop (schedules.py: _step_microbatches): lists of operations and
// of work hold what is sent and received until they are bound again or the function returns.
#pragma once

#include <memory>

#include "workloads/pipelining/stage.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::pipelining {

class ScheduleLoop {
 public:
  ScheduleLoop() = default;
  ScheduleLoop(const ScheduleLoop&) = delete;
  ScheduleLoop& operator=(const ScheduleLoop&) = delete;
  virtual ~ScheduleLoop() = default;

  virtual void received_input(const eager::Tensor& /*buffer*/) {}

  /// Before the output is sent.
  virtual void after_forward() {}

  virtual void sent_output(Stage& stage, int micro_batch, dist::Work work) = 0;

  /// Before there is a buffer for the gradient.
  virtual void before_gradient() {}

  virtual void received_gradient(const eager::Tensor& /*buffer*/) {}

  virtual void before_backward() {}

  /// `gradient` of the input has been sent; the first stage has none.
  virtual void after_backward(const eager::Tensor& gradient) = 0;

  /// The function returns.
  virtual void end() = 0;
};

std::unique_ptr<ScheduleLoop> make_schedule_loop(PipelineSchedule schedule);

}  // namespace highwater::pipelining
