// Turns the rows of a completely read snapshot into a Recording.
//
// Entries move to the device whose list they are in, segments to the device they name. Everything
// that can be checked only once the whole file has been read is checked here: required fields,
// blocks that cover their segment, and lists that are shared so often that they would outgrow the
// file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "traces/formats/snapshot/snapshot_store.hpp"
#include "traces/recording.hpp"

namespace highwater::detail {

/// A field path and what is wrong there; the caller adds the name of the source.
struct PathProblem {
  std::string path;
  std::string problem;
};

/// The fewest bytes that a record takes in a genuine file: an entry has an action, an address, a
/// size and a list of frames; a block of PyTorch 1.13 only a size and a state; `value` is a key or
/// value of a dict.
enum class LeastBytes : std::uint64_t {
  entry = 28,
  segment = 40,
  block = 12,
  annotation = 20,
  value = 1
};

/// How many records a file of some size can hold. A few bytes of a pickle can refer to a list of
/// any length again, so what they expand to is charged against the size of the file.
class ExpansionBudget {
 public:
  explicit ExpansionBudget(std::uint64_t bytes_read) : left_(kSlack + bytes_read) {}

  /// @throws FieldProblem when it is used up
  void spend(LeastBytes each, std::uint64_t count = 1) {
    const std::uint64_t bytes = count * static_cast<std::uint64_t>(each);
    if (count > left_ || bytes > left_) {
      throw FieldProblem{"",
                         "the file holds more records than its bytes can describe; objects are "
                         "repeated so often that they outgrow the file"};
    }
    left_ -= bytes;
  }

 private:
  static constexpr std::uint64_t kSlack = 1 << 20;

  std::uint64_t left_;
};

using DeviceMap = std::map<int, RecordedDevice>;

/// Moves the entries of `device_traces` to their devices. @throws PathProblem, FieldProblem
void assemble_traces(SnapshotStore& store, PickleValue device_traces, ExpansionBudget& budget,
                     DeviceMap& devices);

/// Moves `segments` to their devices, sorted by address. @throws PathProblem, FieldProblem
void assemble_segments(SnapshotStore& store, PickleValue segments, ExpansionBudget& budget,
                       DeviceMap& devices);

/// Renumbers streams and pools from the whole file's to each device's own, streams ascending.
void renumber(const SnapshotStore& store, RecordedDevice& device);

/// `top` is the outermost value of the pickle. @throws PathProblem, FieldProblem
Recording assemble_snapshot(SnapshotStore& store, PickleValue top, std::uint64_t bytes_read);

}  // namespace highwater::detail
