#include "tools/reports/exports/export_pprof.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/reports/exports/protocol_buffer.hpp"
#include "tools/reports/exports/stack_profile.hpp"

namespace highwater {
namespace {

// Numbers of fields in profile.proto.
namespace profile_field {
constexpr FieldNumber kSampleType{1};
constexpr FieldNumber kSample{2};
constexpr FieldNumber kLocation{4};
constexpr FieldNumber kFunction{5};
constexpr FieldNumber kStringTable{6};
constexpr FieldNumber kDefaultSampleType{14};
}  // namespace profile_field

namespace value_type_field {
constexpr FieldNumber kType{1};
constexpr FieldNumber kUnit{2};
}  // namespace value_type_field

namespace sample_field {
constexpr FieldNumber kLocationIds{1};
constexpr FieldNumber kValues{2};
constexpr FieldNumber kLabel{3};
}  // namespace sample_field

namespace label_field {
constexpr FieldNumber kKey{1};
constexpr FieldNumber kNumber{3};
}  // namespace label_field

namespace location_field {
constexpr FieldNumber kId{1};
constexpr FieldNumber kLine{4};
}  // namespace location_field

namespace line_field {
constexpr FieldNumber kFunctionId{1};
constexpr FieldNumber kLine{2};
}  // namespace line_field

namespace function_field {
constexpr FieldNumber kId{1};
constexpr FieldNumber kName{2};
constexpr FieldNumber kSystemName{3};
constexpr FieldNumber kFileName{4};
}  // namespace function_field

/// Things with a number each, in the order in which they came.
template <class Key>
class Numbered {
 public:
  /// The number of `key`; `make` writes it down when it is new.
  template <class Make>
  std::uint64_t of(const Key& key, std::uint64_t first, Make make) {
    const auto [entry, is_new] = numbers_.try_emplace(key, numbers_.size() + first);
    if (is_new) {
      make(entry->second);
    }
    return entry->second;
  }

 private:
  std::map<Key, std::uint64_t> numbers_;
};

/// A profile under construction.
class PprofProfile {
 public:
  PprofProfile() {
    string("");  // which string 0 has to be
    sample_type("alloc_objects", "count");
    sample_type("alloc_space", "bytes");
    sample_type("inuse_objects", "count");
    sample_type("inuse_space", "bytes");
    profile_.number(profile_field::kDefaultSampleType, string("inuse_space"));
  }

  /// A sample of one run, with its device as a label if one is given.
  void add(const SideTables& tables, const ProfiledStack& stack, std::optional<int> device) {
    std::vector<std::uint64_t> locations;
    for (const FrameWords& frame : frames_of(tables, stack.stack)) {
      locations.push_back(location(frame));
    }
    const std::array<std::uint64_t, 4> values{stack.allocated.blocks, stack.allocated.held.count(),
                                              stack.live.blocks, stack.live.held.count()};
    ProtocolMessage sample;
    sample.numbers(sample_field::kLocationIds, locations);
    sample.numbers(sample_field::kValues, values);
    if (device) {
      sample.message(sample_field::kLabel,
                     ProtocolMessage()
                         .number(label_field::kKey, string("device"))
                         .number(label_field::kNumber, static_cast<std::uint64_t>(*device)));
    }
    profile_.message(profile_field::kSample, sample);
  }

  [[nodiscard]] const std::string& bytes() const { return profile_.bytes(); }

 private:
  std::uint64_t string(const std::string& text) {
    return strings_.of(text, 0,
                       [&](std::uint64_t) { profile_.text(profile_field::kStringTable, text); });
  }

  void sample_type(const std::string& type, const std::string& unit) {
    ProtocolMessage value_type;
    value_type.number(value_type_field::kType, string(type));
    value_type.number(value_type_field::kUnit, string(unit));
    profile_.message(profile_field::kSampleType, value_type);
  }

  std::uint64_t function(const FrameWords& frame) {
    return functions_.of({frame.function, frame.file}, 1, [&](std::uint64_t id) {
      ProtocolMessage made;
      made.number(function_field::kId, id);
      made.number(function_field::kName, string(frame.function));
      made.number(function_field::kSystemName, string(frame.function));
      made.number(function_field::kFileName, string(frame.file));
      profile_.message(profile_field::kFunction, made);
    });
  }

  std::uint64_t location(const FrameWords& frame) {
    return locations_.of(frame, 1, [&](std::uint64_t id) {
      ProtocolMessage line;
      line.number(line_field::kFunctionId, function(frame));
      line.number(line_field::kLine, static_cast<std::uint64_t>(frame.line));
      ProtocolMessage made;
      made.number(location_field::kId, id);
      made.message(location_field::kLine, line);
      profile_.message(profile_field::kLocation, made);
    });
  }

  ProtocolMessage profile_;
  Numbered<std::string> strings_;
  Numbered<std::pair<std::string, std::string>> functions_;
  Numbered<FrameWords> locations_;
};

}  // namespace

Bytes write_pprof(const ObservedRuns& runs, const LiveChoice& moment, ByteSink& sink) {
  PprofProfile profile;
  Bytes total;
  for (const ObservedRun& run : runs.runs) {
    const auto device = runs.runs.size() > 1 ? std::optional(run.replay.device) : std::nullopt;
    for (const ProfiledStack& stack : profile_of(run, moment)) {
      profile.add(run.trace->tables, stack, device);
      total += stack.live.held;
    }
  }
  write_text(sink, profile.bytes());
  return total;
}

}  // namespace highwater
