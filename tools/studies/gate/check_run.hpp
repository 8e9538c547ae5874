// The question of `check`: does a run keep its budget, and if not, who made it grow?
//
// Each device of the workload is held against each limit. A run that goes out of memory keeps no
// budget, whatever it had reserved by then. What was not looked at is not kept, either: a snapshot
// without history is refused, and a device of the baseline that the run lacks fails the check.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/peak/peak_change.hpp"
#include "tools/studies/gate/baseline.hpp"
#include "tools/studies/gate/budget.hpp"
#include "tools/studies/runs/workload.hpp"

namespace highwater {

/// What is done about a baseline.
enum class BaselineUse : std::uint8_t {
  compare,
  accept  ///< the run becomes the baseline, so that growth is told and not refused
};

struct CheckLimits {
  std::optional<Bytes> max_reserved;
  std::string baseline_name;  ///< the file; empty: none is asked for
  std::optional<Baseline> baseline;
  BaselineUse use = BaselineUse::compare;
  GrowthLimit growth{0.0};
  bool is_whole_run =
      true;  ///< false: one device was chosen, the baseline's others stay as they are
};

/// One limit held against one device.
struct LimitCheck {
  std::string limit;             ///< "max-reserved 20.00 GiB", "max-growth 2 %", ...
  std::optional<Budget> budget;  ///< absent where no figures were compared
  bool is_kept = true;
  std::string words;  ///< one sentence, with who grew or who holds the most
};

struct CheckedDevice {
  Workload workload;
  NamedPeak peak;
  std::vector<LimitCheck> limits;
  std::vector<std::string> notes;  ///< what differs from the run of the baseline

  [[nodiscard]] int number() const { return workload.replay.device; }

  [[nodiscard]] Bytes reserved() const { return workload.replay.result.peak.reserved; }

  [[nodiscard]] bool ran_out() const { return workload.replay.result.counts.ooms != 0; }

  [[nodiscard]] bool is_kept() const;
};

/// A device that the baseline has and the run lacks.
struct MissingDevice {
  int device = 0;
  LimitCheck limit;
};

struct CheckResult {
  std::string subject;
  std::vector<CheckedDevice> devices;
  std::vector<MissingDevice> missing;

  [[nodiscard]] bool is_kept() const;

  [[nodiscard]] bool ran_out() const;
};

/// @pre there are `workloads`, and they are watchable. @throws InputError if their peaks are
/// unknown
CheckResult check_workloads(std::vector<Workload> workloads, const CheckLimits& limits);

/// What later runs are compared with. @pre no device ran out of memory
Baseline baseline_of(const CheckResult& result, const CheckLimits& limits);

/// Who holds the most at the peak of reserved memory, for budgets that other commands find
/// exceeded. @pre `workload` is watchable
std::string holders_of_peak(Workload workload);

}  // namespace highwater
