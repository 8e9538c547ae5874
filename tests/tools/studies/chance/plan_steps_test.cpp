// A run made of pieces is the generator's own run of the same lengths, request by request.
#include "tools/studies/chance/plan_steps.hpp"

#include <map>
#include <sstream>

#include <catch2/catch.hpp>

#include "sim/chance/stitched_run.hpp"
#include "sim/replay/replay.hpp"
#include "workloads/plan/options/read_plan.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

namespace {

TrainingPlan plan_called(const std::string& options) {
  OptionWords words{{"model", "llama-160m"}};
  std::istringstream in(options);
  for (std::string option; in >> option;) {
    const std::size_t equals = option.find('=');
    words.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  std::vector<std::string> problems;
  TrainingPlan plan = read_plan_words(words, problems);
  CAPTURE(options, problems);
  REQUIRE(problems.empty());
  return plan;
}

/// Steps of these lengths, micro-batch by micro-batch.
std::vector<StepDraw> steps_of(const std::vector<std::int64_t>& lengths, int micro_batches) {
  std::vector<StepDraw> steps;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (i % static_cast<std::size_t>(micro_batches) == 0) {
      steps.emplace_back();
    }
    steps.back().lengths.push_back(lengths[i]);
  }
  return steps;
}

/// The operations of pieces one behind the other, with allocations numbered over all of them.
std::vector<Event> events_of(const std::vector<PiecePtr>& pieces) {
  std::vector<Event> events;
  std::vector<std::uint32_t> ids;
  std::uint32_t next = 0;
  for (const PiecePtr& piece : pieces) {
    REQUIRE(ids.size() == piece->live_before);
    for (const PieceRequest& request : piece->requests) {
      Event event{.value = request.bytes,
                  .stream = StreamId{std::uint32_t{request.stream}},
                  .kind = request.kind};
      if (request.kind == EventKind::alloc) {
        ids.push_back(next++);
      }
      const bool names_block = request.kind == EventKind::alloc ||
                               request.kind == EventKind::free ||
                               request.kind == EventKind::record_stream;
      event.allocation = names_block ? AllocationId{ids.at(request.place)} : AllocationId{};
      events.push_back(event);
    }
    std::vector<std::uint32_t> left(ids.begin(), ids.begin() + piece->untouched);
    for (const std::uint32_t place : piece->left) {
      left.push_back(ids.at(place));
    }
    ids = std::move(left);
  }
  return events;
}

/// The operations of a trace, without what no allocator is told.
std::vector<Event> operations_of(const RequestTrace& trace) {
  std::vector<Event> events;
  for (const Event& event : trace.events) {
    if (event.is_operation() && event.kind != EventKind::reset_peaks) {
      const bool has_size = event.kind == EventKind::alloc;
      const bool has_stream = event.stream.has_value();
      events.push_back({.value = has_size ? event.value : 0,
                        .allocation = event.allocation,
                        .stream = has_stream ? event.stream : StreamId{std::uint32_t{0xffff}},
                        .kind = event.kind});
    }
  }
  return events;
}

std::vector<PiecePtr> pieces_of(PlanSteps& source, const std::vector<StepDraw>& steps) {
  std::vector<PiecePtr> pieces{source.before_steps(steps.front())};
  for (std::size_t step = 0; step < steps.size(); ++step) {
    source.add_pieces(step, steps[step], pieces);
  }
  return pieces;
}

/// As the pieces hold streams: what has none has the largest number.
void require_same(const std::vector<Event>& stitched, const std::vector<Event>& whole) {
  REQUIRE(stitched.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (!(stitched[i] == whole[i])) {
      FAIL("operation " << i << " differs");
    }
  }
}

}  // namespace

TEST_CASE("plan steps: pieces are the run of the same lengths, operation by operation",
          "[chance][long]") {
  const std::string options = GENERATE(
      "framework=hf", "framework=hf zero-grad-at=start",
      "framework=hf zero-grad-at=start set-to-none=false",
      "framework=torch precision=amp-bf16 checkpoint=full",
      "framework=hf precision=amp-fp16 attention=eager", "framework=trainer",
      "framework=trainer grad-accum=3", "framework=hf grad-accum=3",
      "framework=hf grad-accum=3 zero-grad-at=start checkpoint=every-2", "framework=trl-sft",
      "framework=lightning", "framework=hf optimizer=adafactor empty-cache-every-step=true",
      "framework=hf attention-mask=padded batch=3", "framework=hf lora=8",
      "framework=hf dp=2 dp-kind=ddp", "framework=hf dp=2 dp-kind=ddp grad-accum=2 no-sync=true",
      "framework=hf dp=4 dp-kind=fsdp1", "framework=hf dp=4 dp-kind=fsdp2",
      "framework=deepspeed dp=2 dp-kind=zero2", "framework=deepspeed dp=2 dp-kind=zero3",
      "framework=torchtitan dp=2 dp-kind=fsdp2", "framework=hf dp=2 dp-kind=ddp event-lag=7");
  CAPTURE(options);
  const TrainingPlan plan = plan_called(options);
  const std::vector<std::int64_t> tried =
      plan.grad_accum == 1 ? std::vector<std::int64_t>{64, 1024, 200}
                           : std::vector<std::int64_t>{64, 1024, 200, 640, 128, 512};
  std::vector<StepDraw> tried_steps = steps_of(tried, plan.grad_accum);
  for (StepDraw& step : tried_steps) {
    step.lag = plan.parallel.event_lag;
  }
  PlanSteps source(plan, LoadKind::busiest, tried_steps);

  // Lengths that were not tried, short after long and long after short.
  const std::vector<std::int64_t> lengths{96, 960, 961, 72, 1024, 320, 333, 64, 888, 128, 127, 512};
  std::vector<StepDraw> steps = steps_of(lengths, plan.grad_accum);
  for (StepDraw& step : steps) {
    step.lag = plan.parallel.event_lag;
  }
  TrainingPlan whole = plan;
  whole.seq = lengths;
  whole.steps = static_cast<int>(steps.size());
  require_same(events_of(pieces_of(source, steps)), operations_of(generate_step_by_step(whole)));
}
