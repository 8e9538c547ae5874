// device_traces: from one table of entries in file order to one list per device.
#include <algorithm>

#include <fmt/format.h>

#include "traces/formats/snapshot/release_notes.hpp"
#include "traces/formats/snapshot/snapshot_assembly.hpp"

namespace highwater::detail {
namespace {

// Whether the lists name every entry at most once and in file order, as genuine files do; each
// entry can then be given back as soon as it has moved.
bool is_in_file_order(const PickleObjects& objects, PickleValue device_traces) {
  std::uint64_t next = 0;
  bool in_order = true;
  objects.for_each_item(device_traces, [&](PickleValue trace) {
    objects.for_each_run(trace, [&](PickleValue first, std::uint64_t count) {
      in_order = in_order && objects.current(first).payload() >= next;
      next = objects.current(first).payload() + count;
    });
  });
  return in_order;
}

class TraceAssembly {
 public:
  TraceAssembly(SnapshotStore& store, ExpansionBudget& budget, RecordedDevice& device,
                std::vector<Annotation>& notes)
      : store_(store), budget_(budget), device_(device), notes_(notes) {}

  enum class Source { keep, release };

  void take(PickleValue trace, Source source) {
    store_.objects.for_each_run(trace, [&](PickleValue first, std::uint64_t count) {
      first = store_.objects.current(first);
      if (!first.is(kEntry)) {
        fail("", store_.mismatch("a trace entry", first));
      }
      if (source == Source::keep) {
        budget_.spend(sizeof(RecordedEntry), count);
      }
      for (std::uint64_t i = 0; i < count; ++i) {
        take_entry(store_.entries[first.payload() + i]);
        if (source == Source::release) {
          store_.entries.release_before(first.payload() + i);
        }
      }
    });
  }

 private:
  void take_entry(RecordedEntry entry) {
    finish_action(entry);
    require(entry);
    if (const auto note = releases_.follow(entry, device_.entries.size())) {
      budget_.spend(sizeof(Annotation));
      notes_.push_back(annotation_of(*note, device_.index));
    }
    entry.stack = store_.stacks.interned(entry.stack);
    if (entry.stream == kNoStream) {
      entry.stream = store_.default_stream();
    }
    device_.entries.push_back(entry);
  }

  void finish_action(RecordedEntry& entry) {
    const auto code = static_cast<std::uint8_t>(entry.action);
    if (code >= kFirstOtherAction) {
      ++device_.unknown_actions[store_.other_action_name(code)];
      entry.action = RecordedAction::ignored;
    }
    ++device_.action_counts.at(static_cast<std::size_t>(entry.action));
  }

  // Some events have no address or no size; all others must have both.
  void require(RecordedEntry& entry) const {
    const bool is_anywhere = entry.action >= RecordedAction::snapshot;
    if (entry.address.value() == kNotGiven) {
      entry.address = is_anywhere ? Address{} : missing("addr");
    }
    if (entry.size.count() == kNotGiven) {
      entry.size = is_anywhere ? Bytes{} : Bytes{missing("size").value()};
    }
  }

  [[noreturn]] Address missing(const char* key) const {
    fail("", fmt::format("the entry lacks \"{}\"", key));
  }

  [[noreturn]] void fail(std::string_view field, std::string problem) const {
    throw PathProblem{
        fmt::format("device_traces[{}][{}]{}", device_.index, device_.entries.size(), field),
        std::move(problem)};
  }

  SnapshotStore& store_;
  ExpansionBudget& budget_;
  RecordedDevice& device_;
  std::vector<Annotation>& notes_;
  ReleaseNotes releases_;
};

}  // namespace

void assemble_traces(SnapshotStore& store, PickleValue device_traces, ExpansionBudget& budget,
                     DeviceMap& devices, std::vector<Annotation>& notes) {
  device_traces = store.list(Word::device_traces, device_traces);
  if (store.objects.list_size(device_traces) > kMaxDevices) {
    throw FieldProblem{"device_traces", "more than 128 devices, PyTorch's maximum"};
  }
  const auto source = is_in_file_order(store.objects, device_traces)
                          ? TraceAssembly::Source::release
                          : TraceAssembly::Source::keep;
  int index = 0;
  store.objects.for_each_item(device_traces, [&](PickleValue trace) {
    RecordedDevice& device = devices[index];
    device.index = index;
    if (!trace.is(PickleKind::new_list) && !trace.is(PickleKind::list)) {
      throw PathProblem{fmt::format("device_traces[{}]", index),
                        store.mismatch("a list of trace entries", trace)};
    }
    TraceAssembly(store, budget, device, notes).take(trace, source);
    ++index;
  });
}

}  // namespace highwater::detail
