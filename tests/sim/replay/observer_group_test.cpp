// Rules: several observers of one replay see what each would see alone.
#include "sim/replay/observer_group.hpp"

#include <array>

#include <catch2/catch.hpp>

#include "allocator/settings/version.hpp"
#include "tests/support/format_io.hpp"

using namespace highwater;

namespace {

struct Counter : ReplayObserver, DecisionListener {
  void on_begin(const CachingAllocator&, const TraceDriver&) override { ++begins; }

  void on_event(const Event&, AllocationStatus, const Statistics&) override { ++events; }

  void on_decision(const Decision&) override { ++decisions; }

  int begins = 0;
  int events = 0;
  int decisions = 0;
};

struct StateCounter : StateObserver, DecisionListener {
  void on_begin(const CachingAllocator&, const TraceDriver&) override { ++begins; }

  void on_state(const Event&, AllocationStatus, const CachingAllocator&,
                const TraceDriver&) override {
    ++states;
  }

  void on_decision(const Decision&) override { ++decisions; }

  [[nodiscard]] DecisionListener* listener() override { return listens ? this : nullptr; }

  bool listens = true;
  int begins = 0;
  int states = 0;
  int decisions = 0;
};

}  // namespace

TEST_CASE("observer_group: every observer is told everything", "[sim][replay]") {
  Counter first;
  Counter second;
  ObserverGroup group;
  group.add(first);
  group.add(second);
  ReplayOptions options;
  options.version = &version_preset("2.6");
  options.observer = &group;
  options.listener = &group;
  replay(test::parse_text("a 0 512 0\nf 0\n"), options);
  CHECK(first.begins == 1);
  CHECK(first.events == 2);
  CHECK(first.decisions > 2);  // a segment, the allocation, its free
  CHECK(second.events == first.events);
  CHECK(second.decisions == first.decisions);
}

TEST_CASE("observer_group: those of states are told everything, decisions if they listen",
          "[sim][replay]") {
  std::array<StateCounter, 3> counters;
  counters[1].listens = false;
  StateObserverGroup group;
  CHECK(group.listener() == nullptr);
  for (StateCounter& counter : counters) {
    group.add(counter);
  }
  ReplayOptions options;
  options.version = &version_preset("2.6");
  replay_watched(test::parse_text("a 0 512 0\nf 0\n"), options, group);
  for (const StateCounter& counter : counters) {
    CHECK(counter.begins == 1);
    CHECK(counter.states == 2);
    CHECK((counter.decisions > 2) == counter.listens);
  }
}
