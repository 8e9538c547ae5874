#include "traces/formats/binary/binary_recording.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "traces/formats/binary/binary_entries.hpp"
#include "traces/formats/binary/binary_segments.hpp"
#include "traces/formats/binary/binary_tables.hpp"

namespace highwater {
namespace {

// Flags of the settings: which fields the file had.
constexpr unsigned kHasMaxSplit = 1;
constexpr unsigned kHasThreshold = 2;
constexpr unsigned kHasExpandable = 4;
constexpr unsigned kExpandableOn = 8;
constexpr unsigned kSettingsFlags = 16;

using Counts = std::map<std::string, std::uint64_t>;

void put_counts(BinaryWriter& out, const Counts& counts) {
  out.put(counts.size());
  for (const auto& [name, count] : counts) {
    out.put_string(name);
    out.put(count);
  }
}

Counts get_counts(BinaryReader& in) {
  Counts counts;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    std::string name = in.string();
    counts[std::move(name)] = in.number();
  }
  return counts;
}

int get_int(BinaryReader& in, const char* what) {
  const std::int64_t value = in.signed_number();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    in.fail(std::string(what) + " is out of range");
  }
  return static_cast<int>(value);
}

unsigned settings_flags(const RecordedSettings& settings) {
  return (settings.max_split_size ? kHasMaxSplit : 0) |
         (settings.garbage_collection_threshold ? kHasThreshold : 0) |
         (settings.expandable_segments ? kHasExpandable : 0) |
         (settings.expandable_segments.value_or(false) ? kExpandableOn : 0);
}

void put_settings(BinaryWriter& out, const RecordedSettings& settings) {
  out.put_byte(static_cast<std::uint8_t>(settings_flags(settings)));
  out.put_string(settings.conf);
  if (settings.max_split_size) {
    out.put_signed(*settings.max_split_size);
  }
  if (settings.garbage_collection_threshold) {
    out.put_double(*settings.garbage_collection_threshold);
  }
  out.put(settings.roundup_power2_divisions.size());
  for (const auto& [bucket, divisions] : settings.roundup_power2_divisions) {
    out.put(bucket);
    out.put(divisions);
  }
}

RecordedSettings get_settings(BinaryReader& in) {
  RecordedSettings settings;
  const unsigned flags = in.byte();
  if (flags >= kSettingsFlags) {
    in.fail("unknown encoding of settings");
  }
  settings.conf = in.string();
  if ((flags & kHasMaxSplit) != 0) {
    settings.max_split_size = in.signed_number();
  }
  if ((flags & kHasThreshold) != 0) {
    settings.garbage_collection_threshold = in.real();
  }
  if ((flags & kHasExpandable) != 0) {
    settings.expandable_segments = (flags & kExpandableOn) != 0;
  }
  for (std::uint64_t left = in.number(); left > 0; --left) {
    const std::uint64_t bucket = in.number();
    settings.roundup_power2_divisions[bucket] = in.number();
  }
  return settings;
}

/// What the first byte of a recording says of the rest.
constexpr std::uint8_t kHasRecordedSettings = 1;
constexpr std::uint8_t kPlacesAnnotations = 2;  ///< each has its entry plus one, or 0
constexpr std::uint8_t kHasPlan = 4;            ///< a string follows the annotations

bool places_any(const std::vector<Annotation>& annotations) {
  return std::ranges::any_of(annotations, [](const Annotation& a) { return a.entry.has_value(); });
}

/// The same few names recur: 0 announces a new name, any other number gives the age of a known one.
void put_annotations(BinaryWriter& out, const std::vector<Annotation>& annotations) {
  const bool places = places_any(annotations);
  std::unordered_map<std::string_view, std::size_t> numbers;
  std::uint64_t time = 0;
  out.put(annotations.size());
  for (const Annotation& annotation : annotations) {
    const auto [known, is_new] = numbers.try_emplace(annotation.name, numbers.size());
    const std::size_t back = is_new ? 0 : numbers.size() - known->second;
    out.put(2 * back + (annotation.is_start ? 1 : 0));
    if (is_new) {
      out.put_string(annotation.name);
    }
    out.put_signed(annotation.device);
    out.put_signed(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(annotation.time_us) - time));
    time = static_cast<std::uint64_t>(annotation.time_us);
    if (places) {
      out.put(annotation.entry ? *annotation.entry + 1 : 0);
    }
  }
}

std::vector<Annotation> get_annotations(BinaryReader& in, bool places) {
  std::vector<Annotation> annotations;
  std::vector<std::string> names;
  std::uint64_t time = 0;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    const std::uint64_t code = in.number_below(2 * names.size() + 2, "name of an annotation");
    if (code < 2) {
      names.push_back(in.string());
    }
    Annotation annotation;
    annotation.name = names[names.size() - std::max<std::uint64_t>(code / 2, 1)];
    in.keep(sizeof(Annotation) + annotation.name.size());
    annotation.is_start = code % 2 == 1;
    annotation.device = get_int(in, "a device");
    time += static_cast<std::uint64_t>(in.signed_number());
    annotation.time_us = static_cast<std::int64_t>(time);
    if (const std::uint64_t place = places ? in.number() : 0; place != 0) {
      annotation.entry = place - 1;
    }
    annotations.push_back(std::move(annotation));
  }
  return annotations;
}

/// Entries name stream and pool 0 even where the file had none.
EntryLimits limits_of(const RecordedDevice& device, std::size_t stacks) {
  return {.stacks = stacks,
          .streams = std::max<std::size_t>(device.stream_handles.size(), 1),
          .pools = std::max<std::size_t>(device.pools.size(), 1)};
}

void put_device(BinaryWriter& out, const RecordedDevice& device) {
  out.put_signed(device.index);
  put_streams(out, device.stream_handles);
  put_pools(out, device.pools);
  put_segments(out, device.segments);
  put_entries(out, device.entries);
  for (const std::uint64_t count : device.action_counts) {
    out.put(count);
  }
  put_counts(out, device.unknown_actions);
}

RecordedDevice get_device(BinaryReader& in, std::size_t stacks) {
  RecordedDevice device;
  device.index = get_int(in, "a device");
  device.stream_handles = get_streams(in);
  device.pools = get_pools(in);
  const EntryLimits limits = limits_of(device, stacks);
  device.segments = get_segments(in, limits);
  device.entries = get_entries(in, limits);
  for (std::uint64_t& count : device.action_counts) {
    count = in.number();
  }
  device.unknown_actions = get_counts(in);
  return device;
}

}  // namespace

void put_recording(BinaryWriter& out, const Recording& recording) {
  put_tables(out, recording.tables);
  out.put_byte((recording.settings ? kHasRecordedSettings : 0) |
               (places_any(recording.annotations) ? kPlacesAnnotations : 0) |
               (recording.plan.empty() ? 0 : kHasPlan));
  if (recording.settings) {
    put_settings(out, *recording.settings);
  }
  put_annotations(out, recording.annotations);
  if (!recording.plan.empty()) {
    out.put_string(recording.plan);
  }
  out.put_string(recording.writer.oldest);
  out.put_string(recording.writer.newest);
  put_counts(out, recording.unknown_keys);
  out.put(recording.devices.size());
  for (const RecordedDevice& device : recording.devices) {
    put_device(out, device);
  }
}

Recording get_recording(BinaryReader& in) {
  Recording recording;
  recording.tables = get_tables(in);
  const std::uint64_t parts = in.number_below(2 * kHasPlan, "parts of a recording");
  if ((parts & kHasRecordedSettings) != 0) {
    recording.settings = get_settings(in);
  }
  recording.annotations = get_annotations(in, (parts & kPlacesAnnotations) != 0);
  if ((parts & kHasPlan) != 0) {
    recording.plan = in.string();
  }
  recording.writer.oldest = in.string();
  recording.writer.newest = in.string();
  recording.unknown_keys = get_counts(in);
  const std::size_t stacks = recording.tables.stacks.stack_count();
  for (std::uint64_t left = in.number(); left > 0; --left) {
    recording.devices.push_back(get_device(in, stacks));
  }
  return recording;
}

}  // namespace highwater
