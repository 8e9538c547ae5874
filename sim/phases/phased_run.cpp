#include "sim/phases/phased_run.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "sim/edits/rewriting.hpp"
#include "sim/edits/run_appender.hpp"

namespace highwater {
namespace {

/// The handles of all programs, so that streams keep their ids from the first event on.
RequestTrace with_all_streams(const std::vector<PhasedProgram>& programs) {
  RequestTrace trace;
  for (const PhasedProgram& program : programs) {
    streams_called(trace, program.trace->stream_handles);
  }
  return trace;
}

/// One program: where it stopped, and what it holds.
class Turns {
 public:
  Turns(const PhasedProgram& program, RequestTrace& trace)
      : program_(&program), trace_(&trace), appender_(trace, *program.trace) {}

  void go_on(std::size_t parts) {
    for (; parts > 0 && part_ < program_->part_ends.size(); --parts, ++part_) {
      for (; next_ < program_->part_ends[part_]; ++next_) {
        carry_out(program_->trace->events[next_]);
      }
    }
  }

  /// What of it is to sleep from here on; the rest wakes. A part of both stays as it is.
  void choose_sleepers(const std::vector<const Sleeper*>& sleepers) {
    for (auto& [own, block] : live_) {
      block.is_to_sleep = std::ranges::any_of(
          sleepers, [&](const Sleeper* each) { return is_part(own, block, *each); });
    }
  }

  Bytes put_to_sleep() {
    Bytes slept;
    for (auto& [own, block] : live_) {
      if (block.is_to_sleep && !block.is_asleep) {
        trace_->events.push_back({.allocation = block.made.allocation, .kind = EventKind::free});
        block.is_asleep = true;
        slept += block.made.bytes();
      }
    }
    return slept;
  }

  Bytes wake() {
    Bytes woken;
    for (auto& [own, block] : live_) {
      if (!block.is_to_sleep && block.is_asleep) {
        block.is_asleep = false;
        block.made.allocation = new_allocation(*trace_);
        trace_->events.push_back(block.made);
        woken += block.made.bytes();
      }
    }
    return woken;
  }

  [[nodiscard]] bool has_to_wake() const {
    return std::ranges::any_of(
        live_, [](const auto& each) { return each.second.is_asleep && !each.second.is_to_sleep; });
  }

  [[nodiscard]] Bytes live() const {
    Bytes bytes;
    for (const auto& [own, block] : live_) {
      bytes += block.is_asleep ? Bytes{} : block.made.bytes();
    }
    return bytes;
  }

 private:
  struct Block {
    Event made;  ///< the allocation that it has now
    bool is_asleep = false;
    bool is_to_sleep = false;
  };

  [[nodiscard]] bool is_part(std::size_t own, const Block& block, const Sleeper& sleeper) const {
    const std::string_view name = program_->block_names.empty()
                                      ? to_string(block.made.category)
                                      : std::string_view(program_->block_names[own]);
    return sleeper.parts.empty() || std::ranges::find(sleeper.parts, name) != sleeper.parts.end();
  }

  void carry_out(const Event& own) {
    // The phases are the markers, and limits are the device's that all of them run on.
    if (own.kind == EventKind::step || own.kind == EventKind::phase ||
        own.kind == EventKind::memory_limit) {
      return;
    }
    Event event = appender_.translated(own);
    if (own.kind == EventKind::alloc) {
      live_.insert_or_assign(own.allocation.index(), Block{.made = event});
    } else if (own.allocation.has_value() && !follow(own.allocation.index(), event)) {
      return;
    }
    trace_->events.push_back(event);
  }

  /// False where the event is about a block that is not there.
  bool follow(std::size_t own, Event& event) {
    const auto found = live_.find(own);
    if (found == live_.end()) {
      return false;
    }
    const bool is_asleep = found->second.is_asleep;
    event.allocation = found->second.made.allocation;
    if (event.kind == EventKind::free) {
      live_.erase(found);
    }
    return !is_asleep;
  }

  const PhasedProgram* program_;
  RequestTrace* trace_;
  RunAppender appender_;
  std::map<std::size_t, Block> live_;  ///< by the program's own allocation, in their order
  std::size_t part_ = 0;
  std::size_t next_ = 0;  ///< event
};

class Composer {
 public:
  Composer(const std::vector<PhasedProgram>& programs, const std::vector<Phase>& phases)
      : phases_(&phases) {
    run_.trace = with_all_streams(programs);
    for (const PhasedProgram& program : programs) {
      programs_.emplace_back(program, run_.trace);
    }
  }

  void carry_out(std::uint64_t cycle, std::size_t number) {
    const Phase& phase = (*phases_)[number];
    PhaseTurn turn{.cycle = cycle, .phase = number};
    change_sleepers(phase, turn);
    mark(phase.name);
    if (phase.program) {
      programs_[*phase.program].go_on(phase.parts);
    }
    for (const Turns& program : programs_) {
      turn.live.push_back(program.live());
    }
    run_.turns.push_back(std::move(turn));
  }

  void begin_cycle(std::uint64_t cycle) {
    run_.trace.events.push_back({.value = cycle, .kind = EventKind::step});
  }

  PhasedRun take() { return std::move(run_); }

 private:
  /// Who sleeps has gone before others wake.
  void change_sleepers(const Phase& phase, PhaseTurn& turn) {
    bool has_to_wake = false;
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      std::vector<const Sleeper*> sleepers;
      for (const Sleeper& sleeper : phase.asleep) {
        if (sleeper.program == i) {
          sleepers.push_back(&sleeper);
        }
      }
      programs_[i].choose_sleepers(sleepers);
      has_to_wake |= programs_[i].has_to_wake();
    }
    mark(has_to_wake ? phase.name + kWaking : phase.name);
    if (phase.settings) {
      run_.trace.events.push_back(
          {.value = text(*phase.settings), .kind = EventKind::set_settings});
    }
    for (Turns& program : programs_) {
      turn.slept += program.put_to_sleep();
    }
    if (phase.empties_cache) {
      run_.trace.events.push_back({.kind = EventKind::all_streams_done});
      run_.trace.events.push_back({.kind = EventKind::empty_cache});
    }
    for (Turns& program : programs_) {
      turn.woken += program.wake();
    }
  }

  void mark(const std::string& name) {
    run_.trace.events.push_back({.value = text(name), .kind = EventKind::phase});
  }

  std::uint64_t text(const std::string& words) {
    return run_.trace.tables.strings.intern(words).value();
  }

  const std::vector<Phase>* phases_;
  PhasedRun run_;
  std::vector<Turns> programs_;
};

}  // namespace

PhasedRun phased_run(const std::vector<PhasedProgram>& programs, const std::vector<Phase>& phases,
                     std::uint64_t cycles) {
  Composer composer(programs, phases);
  for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
    composer.begin_cycle(cycle);
    for (std::size_t phase = 0; phase < phases.size(); ++phase) {
      composer.carry_out(cycle, phase);
    }
  }
  return composer.take();
}

}  // namespace highwater
