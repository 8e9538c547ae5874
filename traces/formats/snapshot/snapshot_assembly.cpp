#include "traces/formats/snapshot/snapshot_assembly.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "traces/formats/snapshot/snapshot_settings.hpp"
#include "traces/formats/snapshot/writer_version.hpp"

namespace highwater::detail {
namespace {

struct Top {
  std::optional<PickleValue> segments;
  std::optional<PickleValue> device_traces;
  std::optional<PickleValue> settings;
  std::optional<PickleValue> annotations;
  std::optional<PickleValue> torch_version;
  std::optional<PickleValue> highwater;
};

Top split_dict(SnapshotStore& store, PickleValue dict) {
  Top top;
  const std::vector<PickleValue> items = store.objects.items_of(dict);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    switch (word_of(items[i])) {
      case Word::segments:
        top.segments = items[i + 1];
        break;
      case Word::device_traces:
        top.device_traces = items[i + 1];
        break;
      case Word::allocator_settings:
        top.settings = items[i + 1];
        break;
      case Word::external_annotations:
        top.annotations = items[i + 1];
        break;
      case Word::torch_version:
        top.torch_version = items[i + 1];
        break;
      case Word::highwater:
        top.highwater = items[i + 1];
        break;
      default:
        store.count_unknown_key(KeyOwner::top, items[i]);
    }
  }
  return top;
}

// torch.cuda.memory_snapshot() gives the bare list of segments.
Top split(SnapshotStore& store, PickleValue value) {
  if (value.is(PickleKind::list) || value.is(PickleKind::new_list)) {
    Top top;
    top.segments = value;
    return top;
  }
  if (!value.is(PickleKind::dict) && !value.is(PickleKind::new_dict)) {
    throw FieldProblem{"", "this file holds " + store.describe(value) +
                               ", not the dict or list of a memory snapshot"};
  }
  const Top top = split_dict(store, value);
  if (!top.segments && !top.device_traces) {
    throw FieldProblem{"",
                       "its dict lacks both \"segments\" and \"device_traces\", of which a memory "
                       "snapshot has one"};
  }
  return top;
}

std::map<std::string, std::uint64_t> name_unknown_keys(const SnapshotStore& store) {
  constexpr std::array<std::string_view, 7> kPrefixes{
      "trace_entry.",         "segment.", "block.", "frame.", "allocator_settings.",
      "external_annotation.", ""};
  std::map<std::string, std::uint64_t> named;
  for (const auto& [key, count] : store.unknown_keys) {
    const auto& [owner, text] = key;
    const std::string name(store.texts[PickleValue{PickleKind::text, text}]);
    named[std::string(kPrefixes.at(static_cast<std::size_t>(owner))) + name] += count;
  }
  return named;
}

WriterKeys keys_of_writer(const SnapshotStore& store, const Top& top, KeySet settings) {
  return {.is_whole = top.device_traces.has_value(),
          .has_entries = store.entries.size() > 0,
          .has_segments = !store.segments.empty(),
          .has_settings = top.settings.has_value(),
          .has_annotations = top.annotations.has_value(),
          .entry = store.entry_keys,
          .segment = store.segment_keys,
          .block = store.block_keys,
          .settings = settings};
}

/// "2.15" of "2.15.0+cu132", where `highwater record` has written it.
std::optional<std::string> stated_release(const SnapshotStore& store, const Top& top) {
  if (!top.torch_version) {
    return std::nullopt;
  }
  const std::string_view text = store.texts[store.text(Word::torch_version, *top.torch_version)];
  const std::size_t minor = text.find('.');
  const std::size_t end =
      minor == text.npos ? minor : text.find_first_not_of("0123456789", minor + 1);
  return minor == text.npos ? std::nullopt : std::optional(std::string(text.substr(0, end)));
}

WriterVersion writer_of(const SnapshotStore& store, const Top& top, KeySet settings) {
  if (const auto release = stated_release(store, top)) {
    return {.oldest = *release, .newest = *release};
  }
  return writer_version(keys_of_writer(store, top, settings));
}

/// How it was recorded is for human readers, but for the plan.
std::string plan_of(const SnapshotStore& store, const Top& top) {
  const PickleValue dict = top.highwater ? store.objects.current(*top.highwater) : PickleValue{};
  if (!dict.is(PickleKind::dict)) {
    return "";
  }
  const std::vector<PickleValue> items = store.objects.items_of(dict);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (word_of(items[i]) == Word::plan && items[i + 1].is(PickleKind::text)) {
      return std::string(store.texts[items[i + 1]]);
    }
  }
  return "";
}

/// Whether anything happened there: 2.15 notes on every device that a snapshot was taken.
bool was_used(const RecordedDevice& device) {
  const std::uint64_t marks =
      device.action_counts.at(static_cast<std::size_t>(RecordedAction::snapshot));
  return !device.segments.empty() || device.entries.size() > marks;
}

}  // namespace

Recording assemble_snapshot(SnapshotStore& store, PickleValue value, std::uint64_t bytes_read) {
  ExpansionBudget budget(bytes_read, store.memory());
  Recording recording;
  DeviceMap devices;
  std::vector<Annotation> notes;
  const Top top = split(store, value);
  KeySet settings_keys;
  if (top.device_traces) {
    assemble_traces(store, *top.device_traces, budget, devices, notes);
  }
  if (top.segments) {
    assemble_segments(store, *top.segments, budget, devices);
  }
  if (top.settings) {
    recording.settings = assemble_settings(store, *top.settings, settings_keys);
  }
  if (top.annotations) {
    recording.annotations = assemble_annotations(store, *top.annotations, budget);
  }
  if (!top.highwater) {  // `highwater record` notes itself, and makes one list of equal stacks
    std::ranges::move(notes, std::back_inserter(recording.annotations));
  }
  const bool is_any_used =
      std::ranges::any_of(devices, [](const auto& device) { return was_used(device.second); });
  for (auto& [index, device] : devices) {
    if (is_any_used ? was_used(device) : !device.is_empty()) {
      renumber(store, device);
      recording.devices.push_back(std::move(device));
    }
  }
  recording.plan = plan_of(store, top);
  recording.writer = writer_of(store, top, settings_keys);
  recording.unknown_keys = name_unknown_keys(store);
  recording.tables = std::move(store.stacks.tables());
  return recording;
}

}  // namespace highwater::detail
