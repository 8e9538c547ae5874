#include "sim/recordings/recorded_settings.hpp"

#include <algorithm>
#include <bit>

#include "traces/error.hpp"

namespace highwater {

namespace {

bool accepts(const VersionPreset& version, const std::string& conf) {
  try {
    parse_settings(conf, version);
    return true;
  } catch (const SettingsError&) {
    return false;
  }
}

void apply_fields(const RecordedSettings& fields, Settings& settings) {
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
    const auto i = std::min<std::size_t>(static_cast<std::size_t>(log2), last);
    settings.roundup_power2_divisions[i] = divisions;
  }
}

}  // namespace

const VersionPreset& preset_of(const Recording& recording) {
  const WriterVersion& writer = recording.writer;
  const VersionPreset& nearest =
      nearest_preset(writer.newest.empty() ? writer.oldest : writer.newest);
  const std::string conf = recording.settings ? recording.settings->conf : "";
  const auto presets = version_presets();
  const auto other = std::ranges::find_if(
      presets, [&](const VersionPreset& version) { return accepts(version, conf); });
  return accepts(nearest, conf) || other == presets.end() ? nearest : *other;
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
  Settings settings = parse_settings(recording.settings->conf, version);
  apply_fields(*recording.settings, settings);
  return settings;
}

Settings settings_from_fields(const Recording& recording) {
  Settings settings;
  if (recording.settings) {
    apply_fields(*recording.settings, settings);
  }
  return settings;
}

}  // namespace highwater
