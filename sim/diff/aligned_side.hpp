// One side of a comparison: a trace cut down to its requests and phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/diff/trace_diff.hpp"

namespace highwater {

inline constexpr std::uint32_t kNoPartner = 0xffffffff;

/// Step, name, and how often it came in the step before.
using PhaseKey = std::tuple<std::optional<std::uint64_t>, std::string, std::size_t>;

/// Requests [begin, end) of a side.
struct PhaseRange {
  PhaseKey key;
  std::size_t begin = 0;
  std::size_t end = 0;
};

class AlignedSide {
 public:
  explicit AlignedSide(const ComparedTrace& compared);

  std::vector<ComparedRequest> requests;
  std::vector<PhaseRange> phases;         ///< none of them empty
  std::vector<std::uint32_t> partners;    ///< by ordinal: the ordinal on the other side
  std::vector<std::size_t> allocated_at;  ///< by ordinal: index into `requests`
  std::vector<std::uint64_t> fates;       ///< by ordinal: which phase freed it, 0 for none

 private:
  void read(const ComparedTrace& compared);
  void add(const Event& event, std::uint32_t index);
  std::uint16_t stream_number(StreamId stream);
  void begin_phase(std::optional<std::uint64_t> step, const std::string& name);
  void end_phase();

  const RequestTrace* trace_;
  std::vector<std::uint32_t> ordinals_;  ///< by AllocationId
  std::vector<Bytes> bytes_;             ///< by ordinal
  std::vector<std::uint16_t> streams_;
  std::uint16_t streams_seen_ = 0;
  std::map<std::pair<std::optional<std::uint64_t>, std::string>, std::size_t> seen_;
};

}  // namespace highwater
