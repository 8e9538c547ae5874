// What `sweep --set key=v1,v2` varies: allocator options, limits, the version, or an option of the
// plan; each value set on top of what the workload has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/workload.hpp"

namespace highwater {

inline constexpr std::string_view kEditKey = "edit";

enum class AxisKind : std::uint8_t {
  settings,         ///< an option of PYTORCH_CUDA_ALLOC_CONF
  all_settings,     ///< the whole of it
  capacity,         ///< bytes of the device
  memory_limit,     ///< bytes that the process may take
  memory_fraction,  ///< the same as a share of the capacity
  torch,            ///< version preset
  plan,             ///< an option of `simulate`
  edit,             ///< a change of the run itself (--edit), or none
};

struct SweepAxis {
  std::string key;  ///< as given: "max_split_size_mb", "capacity", "batch"
  AxisKind kind = AxisKind::settings;
  std::vector<std::string> values;
};

/// What is swept: options of a plan can be varied only where the requests come from one.
enum class Swept : std::uint8_t { recording, plan };

/// Reads the texts of --set. A value list is split at commas outside of brackets, whole settings at
/// semicolons. Unknown keys and empty lists are appended to `problems`.
std::vector<SweepAxis> read_axes(const std::vector<std::string>& texts, Swept swept,
                                 std::vector<std::string>& problems);

/// Values of plan options that no plan can have: typing errors, which are found before anything
/// runs. Values that only this plan cannot have are results. @throws InputError for unreadable
/// models
std::vector<std::string> wrong_plan_values(const std::vector<SweepAxis>& axes);

/// Edits that cannot be read. What a run lacks for one of them is found later.
std::vector<std::string> wrong_edits(const std::vector<SweepAxis>& axes);

/// The axes that a sweep without --set varies: the allocator options that can change something.
std::vector<SweepAxis> default_axes(const Workload& workload);

/// Puts the values that fit `workload` in the place of "auto".
/// @throws UsageError for a key for which there are none
void expand_auto(const Workload& workload, std::vector<SweepAxis>& axes);

/// One case of a sweep: what is replayed, and how reports name it.
struct SweepPoint {
  ReplayOptions options;
  DeviceReplay shown;  ///< settings, version and limits; the result comes later
  /// The memory limit is the one that a recorded failure shows: that of another device is another.
  bool is_limit_shown = false;
};

/// Sets `value` of `axis`, which must not be of the plan and no edit. @throws UsageError for a
/// wrong value
void apply(const SweepAxis& axis, const std::string& value, SweepPoint& point);

}  // namespace highwater
