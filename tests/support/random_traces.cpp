#include "tests/support/random_traces.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/dice.hpp"

namespace highwater::test {
namespace {

SideTables random_tables(Dice& dice) {
  SideTables tables;
  for (std::uint64_t left = 1 + dice.below(20); left > 0; --left) {
    tables.strings.intern(dice.text());
  }
  const std::size_t strings = tables.strings.size();
  for (std::uint64_t left = dice.below(20); left > 0; --left) {
    tables.stacks.intern_frame(
        {StringId{dice.below(strings)}, StringId{dice.below(strings)}, dice.signed_number()});
  }
  std::vector<FrameId> frames;
  for (std::uint64_t left = dice.below(12); left > 0 && tables.stacks.frame_count() > 0; --left) {
    frames.resize(dice.below(frames.size() + 1));
    for (std::uint64_t more = dice.below(5); more > 0; --more) {
      frames.insert(frames.begin(), FrameId{dice.below(tables.stacks.frame_count())});
    }
    tables.stacks.intern_stack(frames);
  }
  return tables;
}

std::vector<std::uint64_t> random_streams(Dice& dice) {
  std::vector<std::uint64_t> handles{0};
  for (std::uint64_t left = dice.below(4); left > 0; --left) {
    handles.push_back(dice.number());
  }
  std::ranges::sort(handles);
  handles.erase(std::unique(handles.begin(), handles.end()), handles.end());
  return handles;
}

std::vector<PoolId> random_pools(Dice& dice) {
  std::vector<PoolId> pools{PoolId{}};
  for (std::uint64_t left = dice.below(3); left > 0; --left) {
    pools.push_back({dice.number(), dice.below(2)});
  }
  return pools;
}

/// What the events of a trace may name.
class RequestMaker {
 public:
  RequestMaker(Dice& dice, RequestTrace& trace) : dice_(dice), trace_(trace) {}

  Event next() {
    Event event;
    event.kind = static_cast<EventKind>(dice_.below(static_cast<std::uint64_t>(EventKind::op) + 1));
    if (dice_.one_in(2) || trace_.allocation_count == 0) {
      event.kind = EventKind::alloc;
    }
    fill(event);
    return event;
  }

 private:
  void fill(Event& event) {
    const bool is_text = event.kind == EventKind::set_settings || event.kind == EventKind::phase ||
                         event.kind == EventKind::op;
    if (is_text) {
      event.value = dice_.below(trace_.tables.strings.size());
    } else if (event.kind == EventKind::step) {
      event.value = dice_.number();
    } else {
      event.stack = dice_.id<StackTag>(trace_.tables.stacks.stack_count());
      fill_operation(event);
    }
  }

  void fill_operation(Event& event) {
    switch (event.kind) {
      case EventKind::alloc:
        event.value = dice_.number();
        event.stream = stream();
        event.category = static_cast<Category>(dice_.below(10));
        event.allocation = AllocationId{trace_.allocation_count++};
        return;
      case EventKind::free:
        event.allocation = allocation();
        return;
      case EventKind::record_stream:
        event.allocation = allocation();
        event.stream = stream();
        return;
      case EventKind::stream_done:
        event.stream = stream();
        return;
      case EventKind::pool_begin:
      case EventKind::pool_end:
      case EventKind::pool_release:
        event.pool = static_cast<PoolIndex>(dice_.below(trace_.pools.size()));
        return;
      default:
        return;
    }
  }

  StreamId stream() { return StreamId{dice_.below(trace_.stream_handles.size())}; }

  AllocationId allocation() { return AllocationId{dice_.below(trace_.allocation_count)}; }

  Dice& dice_;
  RequestTrace& trace_;
};

RecordedEntry random_entry(Dice& dice, const RecordedDevice& device, std::size_t stacks) {
  RecordedEntry entry;
  entry.address = Address{dice.one_in(4) ? dice.number() : 0x7f0000000000 + dice.below(50) * 512};
  entry.size = Bytes{dice.one_in(4) ? dice.number() : 512 * dice.below(4)};
  entry.time_us = dice.signed_number();
  entry.stack = dice.id<StackTag>(std::min<std::size_t>(stacks, 2));
  entry.stream = static_cast<std::uint16_t>(dice.below(device.stream_handles.size()));
  entry.action = static_cast<RecordedAction>(dice.below(kRecordedActionCount));
  entry.pool = static_cast<std::uint8_t>(dice.below(device.pools.size()));
  return entry;
}

/// Entries as they come in practice: the same few operations again, pairs of frees.
void add_entries(Dice& dice, RecordedDevice& device, std::size_t stacks) {
  for (std::uint64_t left = dice.below(60); left > 0; --left) {
    RecordedEntry entry = random_entry(dice, device, stacks);
    if (!device.entries.empty() && dice.one_in(2)) {
      entry = device.entries[device.entries.size() - 1 -
                             dice.below(std::min<std::size_t>(device.entries.size(), 6))];
      entry.action = static_cast<RecordedAction>(dice.below(4));
      entry.time_us = dice.one_in(2) ? entry.time_us : dice.signed_number();
    }
    device.entries.push_back(entry);
    if (entry.action == RecordedAction::free_requested && !dice.one_in(4)) {
      entry.action = RecordedAction::free_completed;
      entry.time_us ^= dice.one_in(2) ? 0 : 1;
      device.entries.push_back(entry);
    }
  }
}

RecordedBlock random_block(Dice& dice, std::size_t stacks) {
  RecordedBlock block;
  block.address = Address{dice.number()};
  block.size = Bytes{dice.number()};
  block.requested = Bytes{dice.number()};
  block.stack = dice.id<StackTag>(stacks);
  block.state = static_cast<BlockState>(dice.below(3));
  return block;
}

void add_segment(Dice& dice, RecordedDevice& device, std::size_t stacks) {
  RecordedSegment segment;
  segment.address = Address{dice.number()};
  segment.size = Bytes{dice.number()};
  segment.stream = static_cast<std::uint16_t>(dice.below(device.stream_handles.size()));
  segment.is_large = dice.one_in(2);
  segment.is_expandable = dice.one_in(2);
  segment.pool = {dice.below(2), dice.below(2)};
  segment.stack = dice.id<StackTag>(stacks);
  std::uint64_t expected = segment.address.value();
  for (std::uint64_t left = dice.below(6); left > 0; --left) {
    RecordedBlock block = random_block(dice, stacks);
    if (!dice.one_in(4)) {
      block.address = Address{expected};
    }
    if (left == 1 && dice.one_in(2)) {
      block.size = Bytes{segment.address.value() + segment.size.count() - block.address.value()};
    }
    expected = block.address.value() + block.size.count();
    segment.blocks.push_back(block);
  }
  device.segments.push_back(std::move(segment));
}

RecordedDevice random_device(Dice& dice, int index, std::size_t stacks) {
  RecordedDevice device;
  device.index = index;
  device.stream_handles = random_streams(dice);
  device.pools = random_pools(dice);
  add_entries(dice, device, stacks);
  for (std::uint64_t left = dice.below(4); left > 0; --left) {
    add_segment(dice, device, stacks);
  }
  std::ranges::generate(device.action_counts, [&] { return dice.number(); });
  device.unknown_actions[dice.text()] = dice.number();
  return device;
}

RecordedSettings random_settings(Dice& dice) {
  RecordedSettings settings;
  settings.conf = dice.text();
  if (dice.one_in(2)) {
    settings.max_split_size = dice.signed_number();
  }
  if (dice.one_in(2)) {
    settings.garbage_collection_threshold = 0.1 * static_cast<double>(dice.below(10));
  }
  if (dice.one_in(2)) {
    settings.expandable_segments = dice.one_in(2);
  }
  settings.roundup_power2_divisions[dice.number()] = dice.number();
  return settings;
}

}  // namespace

RequestTrace random_requests(std::uint32_t seed) {
  Dice dice(seed);
  RequestTrace trace;
  trace.header.settings = dice.text();
  if (dice.one_in(2)) {
    trace.header.capacity = Bytes{dice.number()};
    trace.header.fraction = 0.01 * static_cast<double>(dice.below(100));
    trace.header.addresses = AddressPolicy::lowest_fit;
    trace.header.torch = Release{2, 15};
  }
  trace.tables = random_tables(dice);
  trace.stream_handles = random_streams(dice);
  trace.pools = random_pools(dice);
  RequestMaker maker(dice, trace);
  for (std::uint64_t left = 1 + dice.below(60); left > 0; --left) {
    trace.events.push_back(maker.next());
  }
  if (dice.one_in(2)) {
    for (std::size_t i = 0; i < trace.allocation_count; ++i) {
      trace.allocation_names.push_back(dice.text() + std::to_string(i + 5));
    }
  }
  return trace;
}

Recording random_recording(std::uint32_t seed) {
  Dice dice(seed);
  Recording recording;
  recording.tables = random_tables(dice);
  const std::size_t stacks = recording.tables.stacks.stack_count();
  for (int left = static_cast<int>(dice.below(3)); left > 0; --left) {
    recording.devices.push_back(random_device(dice, 3 - left, stacks));
  }
  if (dice.one_in(2)) {
    recording.settings = random_settings(dice);
  }
  for (std::uint64_t left = dice.below(8); left > 0; --left) {
    recording.annotations.push_back(
        {.name = dice.one_in(2) ? "step" : dice.text(),
         .is_start = dice.one_in(2),
         .device = static_cast<int>(dice.below(4)) - 1,
         .time_us = dice.signed_number(),
         .entry = dice.one_in(2) ? std::optional(dice.below(1000)) : std::nullopt});
  }
  recording.writer = {dice.text(), dice.text()};
  recording.unknown_keys[dice.text()] = dice.number();
  return recording;
}

namespace {

PeakBytes random_peaks(Dice& dice) {
  PeakBytes peaks;
  for (Bytes& peak : peaks) {
    peak = Bytes{dice.number()};
  }
  return peaks;
}

Exponents random_exponents(Dice& dice, std::size_t integers) {
  Exponents exponents;
  for (std::size_t i = 0; i < integers; ++i) {
    exponents.push_back(static_cast<std::uint8_t>(dice.below(4)));
  }
  return exponents;
}

std::vector<SizeTerm> random_terms(Dice& dice, std::size_t integers) {
  std::vector<SizeTerm> terms;
  for (std::uint64_t left = dice.below(4); left > 0; --left) {
    terms.push_back({random_exponents(dice, integers), dice.signed_number(),
                     1 + static_cast<std::int64_t>(dice.below(64))});
  }
  return terms;
}

SizeFormula random_formula(Dice& dice, std::size_t integers) {
  SizeFormula formula;
  formula.terms = random_terms(dice, integers);
  formula.factor = dice.one_in(3) ? random_exponents(dice, integers) : Exponents();
  formula.unit = dice.number();
  formula.least = dice.one_in(3) ? std::optional(Bytes{dice.number()}) : std::nullopt;
  formula.most = dice.one_in(3) ? std::optional(Bytes{dice.number()}) : std::nullopt;
  formula.resume = dice.one_in(3) ? dice.number() : 0;
  formula.presence = dice.one_in(3) ? random_terms(dice, integers) : std::vector<SizeTerm>();
  formula.basis = static_cast<FormulaBasis>(dice.below(kFormulaBasisCount));
  formula.largest_recorded = Bytes{dice.number()};
  return formula;
}

FittedPoint random_point(Dice& dice, std::size_t integers) {
  FittedPoint point{.name = dice.text()};
  for (std::size_t i = 0; i < integers; ++i) {
    point.values.push_back(dice.number());
  }
  point.held_out = dice.one_in(4);
  point.requests = dice.number();
  point.missing = dice.number();
  point.reordered = dice.number();
  point.recorded = random_peaks(dice);
  point.predicted = random_peaks(dice);
  return point;
}

HeldOutCheck random_check(Dice& dice, std::uint64_t point) {
  constexpr std::uint64_t kMost = 100000;
  HeldOutCheck check{.point = point, .other_sizes = dice.below(kMost)};
  check.unconfirmed = dice.below(check.other_sizes + 1);
  check.missing = dice.below(kMost);
  check.additional = dice.below(kMost);
  check.predicted = random_peaks(dice);
  return check;
}

StructureChange random_change(Dice& dice, std::size_t points) {
  StructureChange change{dice.text(), dice.text(), {}, Bytes{dice.number()}};
  for (std::size_t i = 0; i < points; ++i) {
    change.counts.push_back(dice.number());
  }
  return change;
}

/// The requests of a program: what an alloc has for its size is the number of a formula.
RequestTrace with_formulas(const RequestTrace& trace, std::size_t formulas) {
  RequestTrace result = without_events(trace);
  for (Event event : trace.events) {
    event.value = event.kind == EventKind::alloc ? event.value % formulas : event.value;
    result.events.push_back(event);
  }
  return result;
}

}  // namespace

ScalableProgram random_program(std::uint32_t seed) {
  Dice dice(seed);
  ScalableProgram program;
  for (std::uint64_t left = 1 + dice.below(3); left > 0; --left) {
    program.integers.push_back(dice.text());
  }
  const std::size_t integers = program.integers.size();
  for (std::uint64_t left = 1 + dice.below(4); left > 0; --left) {
    program.points.push_back(random_point(dice, integers));
  }
  program.base = dice.below(program.points.size());
  if (dice.one_in(2)) {
    program.check = random_check(dice, program.base);
  }
  for (std::uint64_t left = dice.below(3); left > 0; --left) {
    program.conditions.push_back({dice.text(), dice.text()});
  }
  for (std::uint64_t left = 1 + dice.below(6); left > 0; --left) {
    program.formulas.push_back(random_formula(dice, integers));
  }
  for (std::uint64_t left = dice.below(3); left > 0; --left) {
    program.changes.push_back(random_change(dice, program.points.size()));
  }
  program.requests = with_formulas(random_requests(seed), program.formulas.size());
  return program;
}

}  // namespace highwater::test
