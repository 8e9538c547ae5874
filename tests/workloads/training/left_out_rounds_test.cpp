// Rounds of a pipeline that are left out of a trace, written out again, give the trace of every
// pass carried out.
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/plan_words.hpp"
#include "workloads/plan/pipeline/action_rounds.hpp"
#include "workloads/plan/pipeline/megatron_schedule.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

using namespace highwater;

namespace {

/// Writes the events of a compact trace, each allocation with the next number.
class WrittenOut {
 public:
  explicit WrittenOut(const CompactTrace& compact)
      : compact_(compact), numbers_(compact.trace.allocation_count) {
    std::size_t next = 0;
    for (const RepeatedRound& round : compact.rounds) {
      add(next, round.end);
      for (std::size_t i = 0; i < round.times; ++i) {
        number_back(round);
        add(round.begin, round.end);
      }
      next = round.end;
    }
    add(next, compact.trace.events.size());
  }

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

 private:
  void add(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Event event = compact_.trace.events[i];
      if (event.kind == EventKind::alloc) {
        numbers_[event.allocation.index()] = AllocationId{made_++};
      }
      if (event.allocation.has_value()) {
        event.allocation = numbers_[event.allocation.index()];
      }
      events_.push_back(event);
    }
  }

  void number_back(const RepeatedRound& round) {
    for (const NumberedBack& each : round.numbered_back) {
      for (std::uint32_t i = 0; i < each.count; ++i) {
        numbers_[each.to.index() + i] = numbers_[each.from.index() + i];
      }
    }
  }

  const CompactTrace& compact_;
  std::vector<AllocationId> numbers_;  ///< in the trace written out
  std::vector<Event> events_;
  std::size_t made_ = 0;
};

std::vector<Event> events_of(const RequestTrace& trace) {
  std::vector<Event> events;
  for (const Event& event : trace.events) {
    events.push_back(event);
  }
  return events;
}

CompactTrace compact(const TrainingPlan& plan) {
  ShownShapes shown;
  return generate_within(plan, Bytes{std::numeric_limits<std::uint64_t>::max()}, shown).value();
}

struct LeavesOut {
  const char* plan;
  bool rounds = true;  ///< on one rank at least
};

}  // namespace

TEST_CASE("left out rounds: written out they are every pass carried out", "[workloads]") {
  const auto [words, rounds] = GENERATE(
      LeavesOut{"grad-accum=16 framework=megatron pp=2 pp-schedule=1f1b"},
      LeavesOut{"grad-accum=14 framework=megatron pp=4 checkpoint=full"},
      LeavesOut{"grad-accum=15 framework=megatron pp=4 tp=2 sp=true dp=2 dp-kind=zero1 "
                "checkpoint=selective-attention precision=fp16"},
      LeavesOut{
          "grad-accum=32 framework=megatron pp=2 pp-schedule=interleaved pp-chunks=2 steps=2"},
      LeavesOut{"grad-accum=48 framework=megatron pp=4 pp-schedule=interleaved pp-chunks=3 "
                "checkpoint=full steps=2"},
      LeavesOut{"grad-accum=12 framework=megatron pp=2 dp=2 cp=2 dp-kind=zero1 "
                "overlap-grad-reduce=true overlap-param-gather=true"},
      LeavesOut{"grad-accum=12 framework=megatron model=mixtral-small pp=2 dp=2 ep=2", false},
      LeavesOut{"grad-accum=12 framework=nemo pp=2 tp=2 sp=true"},
      LeavesOut{"grad-accum=12 framework=megatron torch=2.6 pp=3 model=gpt2"},
      LeavesOut{"grad-accum=8 framework=megatron pp=2 steps=1"},
      LeavesOut{"grad-accum=12 framework=megatron pp=2 pp-schedule=gpipe", false},
      LeavesOut{"grad-accum=5 framework=megatron pp=4", false},
      LeavesOut{"grad-accum=12 pp=2", false});
  CAPTURE(words);
  TrainingPlan plan = test::plan_of_words(words);
  bool has_rounds = false;
  for (int rank = 0; rank < plan.parallel.gpus(); ++rank) {
    plan.parallel.rank = rank;
    CAPTURE(rank);
    const CompactTrace made = compact(plan);
    has_rounds = has_rounds || !made.rounds.empty();
    CHECK(WrittenOut(made).events() == events_of(generate_step_by_step(plan)));
  }
  CHECK(has_rounds == rounds);
}

// Two stages: the first has one forward ahead. F1 B0, F2 B1, ..., of which F4 B3 is the first whose
// micro-batches are all 3 or later, and F8 B7 the last before micro-batch 9.
TEST_CASE("left out rounds: those of 1F1B are a forward and a backward", "[workloads]") {
  const dist::PipelineJob job{.stages = 2, .stage = 0, .micro_batches = 10};
  const auto actions = dist::megatron_schedule(PipelineSchedule::one_f_one_b, job);
  const auto rounds = dist::action_rounds(actions, 1, {3, 8});
  REQUIRE(rounds);
  CHECK(rounds->length == 4);  // no input to receive
  CHECK(rounds->times == 5);
  const dist::PipelineAction first = actions[rounds->begin];
  const auto later = rounds->begin_of(4);
  CHECK(first.micro_batch >= 3);
  CHECK(actions[later] == dist::PipelineAction{first.step, first.micro_batch + 4, first.chunk});
  CHECK(rounds->begin_of(5) <= actions.size());
}

TEST_CASE("left out rounds: a schedule without a steady part has none", "[workloads]") {
  const dist::PipelineJob job{.stages = 4, .stage = 0, .micro_batches = 10};
  const auto actions = dist::megatron_schedule(PipelineSchedule::gpipe, job);
  CHECK_FALSE(
      dist::action_rounds(dist::megatron_schedule(PipelineSchedule::one_f_one_b,
                                                  {.stages = 4, .stage = 0, .micro_batches = 4}),
                          1, {3, 2}));
  CHECK_FALSE(dist::action_rounds(actions, 20, {3, 8}));
}
