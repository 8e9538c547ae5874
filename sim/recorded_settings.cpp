#include "sim/recorded_settings.hpp"

#include <algorithm>
#include <bit>

namespace highwater {

const VersionPreset& preset_of(const Recording& recording) {
  const WriterVersion& writer = recording.writer;
  return nearest_preset(writer.newest.empty() ? writer.oldest : writer.newest);
}

std::string to_string(const WriterVersion& writer) {
  if (writer.newest.empty()) {
    return writer.oldest.empty() ? "unknown" : writer.oldest + " or later";
  }
  if (writer.oldest == writer.newest) {
    return writer.newest;
  }
  return writer.oldest.empty() ? writer.newest + " or older"
                               : writer.oldest + " to " + writer.newest;
}

Settings settings_of(const Recording& recording, const VersionPreset& version) {
  if (!recording.settings) {
    return Settings{};
  }
  const RecordedSettings& fields = *recording.settings;
  Settings settings = parse_settings(fields.conf, version);
  if (fields.max_split_size) {
    settings.max_split_size = *fields.max_split_size < 0
                                  ? kUnlimited
                                  : Bytes{static_cast<std::uint64_t>(*fields.max_split_size)};
  }
  if (fields.garbage_collection_threshold) {
    settings.garbage_collection_threshold = *fields.garbage_collection_threshold;
  }
  if (fields.expandable_segments) {
    settings.expandable_segments = *fields.expandable_segments;
  }
  for (const auto& [mebibytes, divisions] : fields.roundup_power2_divisions) {
    const auto log2 = mebibytes == 0 ? 0 : std::bit_width(mebibytes) - 1;
    const auto last = settings.roundup_power2_divisions.size() - 1;
    settings.roundup_power2_divisions[std::min<std::size_t>(static_cast<std::size_t>(log2), last)] =
        divisions;
  }
  return settings;
}

}  // namespace highwater
