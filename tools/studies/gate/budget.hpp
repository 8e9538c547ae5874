// What a run may reserve, and the sentence that says whether it does: the same words for every
// option that sets a limit, in every command.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/replay/replay_result.hpp"
#include "traces/units.hpp"

namespace highwater {

/// How much more than before is allowed: a share of it ("2%") or an amount ("64MiB").
class GrowthLimit {
 public:
  explicit GrowthLimit(double share) : limit_(share) {}

  explicit GrowthLimit(Bytes amount) : limit_(amount) {}

  /// The most that may follow after `before`.
  [[nodiscard]] Bytes after(Bytes before) const;

  /// "2 %", "64.00 MiB".
  [[nodiscard]] std::string text() const;

 private:
  std::variant<double, Bytes> limit_;
};

/// Absent for what is neither a share nor a size.
std::optional<GrowthLimit> parse_growth(std::string_view text);

/// A limit on the peak of reserved memory.
struct Budget {
  Bytes base;             ///< what the peak is measured against
  Bytes allowed;          ///< the most that passes
  std::string base_name;  ///< "--max-reserved 20.00 GiB", "4.63 GiB of base.json"
  std::string allowance;  ///< "--max-growth 2 %"; empty: nothing above the base passes

  [[nodiscard]] bool admits(Bytes reserved) const { return reserved <= allowed; }
};

/// --max-reserved.
Budget budget_of(Bytes most);

/// Growth against the peak called `name`, as far as `option` allows it.
Budget budget_of(Bytes before, std::string_view name, std::string_view option,
                 const GrowthLimit& growth);

/// "peak reserved 22.00 MiB is 2.00 MiB (10.0 %) above --max-reserved 20.00 MiB", and for growth
/// how much of it is allowed. The same for what lies within.
std::string budget_words(const Budget& budget, Bytes reserved);

/// "out of memory: 140.72 MiB requested with 2.52 GiB reserved, of which 2.29 GiB were allocated".
/// @pre the replay ran out of memory
std::string oom_words(const ReplayResult& result);

/// `who` after the sentence that it belongs to; nothing for an empty one.
std::string with_clause(std::string sentence, std::string_view who);

/// What the options that limit a run found. Every reason is one sentence.
struct BudgetVerdict {
  std::vector<std::string> exceeded;

  [[nodiscard]] bool is_kept() const { return exceeded.empty(); }
};

/// Thrown once the report is out: each reason goes to standard error. Exit code 1.
struct BudgetExceeded {
  std::vector<std::string> reasons;
};

/// @throws BudgetExceeded unless the budget was kept
void enforce(const BudgetVerdict& verdict);

}  // namespace highwater
