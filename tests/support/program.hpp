// Random allocator programs: what property tests feed to the model and the oracle alike.
//
// A program is a list of small instructions with the settings it runs under. It keeps the
// guarantees of the conformance vectors and stays clear of the defects of 2.6 that depend on freed
// memory (see generate), it prints itself as a text trace, so that a failure can be pasted as a
// regression trace, and it can be shortened while it keeps failing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/support/failing_device.hpp"
#include "traces/ids.hpp"
#include "traces/request_trace.hpp"
#include "traces/units.hpp"

namespace highwater::program {

struct Alloc {
  std::uint32_t id = 0;
  Bytes size;
  StreamId stream;
};

struct Free {
  std::uint32_t id = 0;
};

struct RecordStream {
  std::uint32_t id = 0;
  StreamId stream;
};

struct CompleteStream {
  StreamId stream;
};

struct CompleteAll {};

struct EmptyCache {};

struct ResetPeaks {};

struct PoolBegin {
  std::uint64_t pool = 0;
};

struct PoolEnd {
  std::uint64_t pool = 0;
};

struct PoolRelease {
  std::uint64_t pool = 0;
};

struct ChangeSettings {
  std::string conf;
};

using Instruction = std::variant<Alloc, Free, RecordStream, CompleteStream, CompleteAll, EmptyCache,
                                 ResetPeaks, PoolBegin, PoolEnd, PoolRelease, ChangeSettings>;

struct Program {
  std::string version = "2.6";
  std::string conf;
  Bytes capacity;
  std::optional<double> fraction;
  AddressPolicy addresses = AddressPolicy::never_reuse;
  std::optional<DeviceFault> fault;
  std::vector<Instruction> instructions;
};

enum class Sizes {
  small,     ///< up to 64 KiB
  boundary,  ///< around 512 B, 1, 10 and 20 MiB and powers of two
  large,     ///< 1 to 100 MiB
  mixed,     ///< all of these
};

enum class Room { ample, tight };

/// What happens to private pools.
enum class Pools {
  none,
  kept,      ///< opened and closed, never given up
  released,  ///< also released and emptied
};

/// Which programs to make. Released pools with expandable segments, a defect of 2.6, are the
/// caller's to avoid.
struct Profile {
  std::string_view name;
  Sizes sizes = Sizes::mixed;
  Room room = Room::ample;
  std::uint32_t streams = 1;
  Pools pools = Pools::none;
  bool max_split = false;
  bool roundup = false;
  bool garbage_collection = false;  ///< sets a fraction too
  bool expandable = false;
  bool changes_settings = false;    ///< threshold and divisions at run time
  bool toggles_expandable = false;  ///< expandable segments at run time
  bool large_segment_size = false;  ///< needs version 2.11
  std::string_view version = "2.6";
};

/// The program number `seed` of a profile, of about `length` instructions.
Program generate(const Profile& profile, std::uint64_t seed, std::size_t length);

/// Whether the guarantees hold: one open pool at a time, no use of released pools, and so on.
bool keeps_guarantees(const Program& program);

/// The text trace, header and operations.
std::string to_trace(const Program& program);

/// The program with as many instructions dropped as possible while `fails` stays true.
Program shrink(Program program, const std::function<bool(const Program&)>& fails);

}  // namespace highwater::program
