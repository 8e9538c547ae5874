// Turns the rows of a completely read snapshot into a Recording.
//
// Entries move to the device whose list they are in, segments to the device they name. Everything
// that can be checked only once the whole file has been read is checked here: required fields,
// blocks that cover their segment, and lists that are shared so often that they would outgrow the
// file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/bytes/memory_bound.hpp"
#include "traces/formats/snapshot/snapshot_store.hpp"
#include "traces/recording.hpp"

namespace highwater::detail {

/// A field path and what is wrong there; the caller adds the name of the source.
struct PathProblem {
  std::string path;
  std::string problem;
};

/// What the recording takes beside the rows that were read, charged against one bound for both. A
/// few bytes of a pickle can refer to a list of any length again.
class ExpansionBudget {
 public:
  /// `kept`: bytes of the rows.
  ExpansionBudget(std::uint64_t bytes_read, std::uint64_t kept)
      : left_(most_memory(bytes_read) - std::min(kept, most_memory(bytes_read))) {}

  /// @throws FieldProblem when it is used up
  void spend(std::uint64_t each, std::uint64_t count = 1) {
    if (count > left_ / each) {
      throw FieldProblem{"",
                         "the file holds more records than its bytes can describe; objects are "
                         "repeated so often that they outgrow the file"};
    }
    left_ -= count * each;
  }

 private:
  std::uint64_t left_;
};

using DeviceMap = std::map<int, RecordedDevice>;

/// Moves the entries of `device_traces` to their devices; `notes` gets what their stacks tell of
/// what was released (release_notes.hpp). @throws PathProblem, FieldProblem
void assemble_traces(SnapshotStore& store, PickleValue device_traces, ExpansionBudget& budget,
                     DeviceMap& devices, std::vector<Annotation>& notes);

/// Moves `segments` to their devices, sorted by address. @throws PathProblem, FieldProblem
void assemble_segments(SnapshotStore& store, PickleValue segments, ExpansionBudget& budget,
                       DeviceMap& devices);

/// Renumbers streams and pools from the whole file's to each device's own, streams ascending.
void renumber(const SnapshotStore& store, RecordedDevice& device);

/// `top` is the outermost value of the pickle. @throws PathProblem, FieldProblem
Recording assemble_snapshot(SnapshotStore& store, PickleValue top, std::uint64_t bytes_read);

}  // namespace highwater::detail
