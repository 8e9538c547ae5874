#include "sim/scaling/scratch_sizes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "sim/scaling/size_at.hpp"

namespace highwater {
namespace {

/// A size in the recording whose requests the program has, and at the values asked for.
using Growth = std::pair<std::uint64_t, std::uint64_t>;

std::uint64_t bytes_at(const SizeFormula& formula, const Values& values) {
  const auto size = size_at(formula, values);
  return size ? size->bytes.count() : 0;
}

/// By formula: whether a block of it outlives the phase that asked for it.
class StayingFormulas {
 public:
  explicit StayingFormulas(const ScalableProgram& program)
      : stays_(program.formulas.size()), phase_of_(program.requests.allocation_count) {
    for (const Event& event : program.requests.events) {
      read(event);
    }
    for (const std::size_t formula : never_freed()) {
      stays_[formula] = true;
    }
  }

  [[nodiscard]] bool has_phases() const { return phase_ > 1; }

  [[nodiscard]] bool stays(std::size_t formula) const { return stays_[formula]; }

 private:
  struct Asked {
    std::size_t phase = 0;
    std::size_t formula = 0;
  };

  void read(const Event& event) {
    if (event.kind == EventKind::step || event.kind == EventKind::phase) {
      ++phase_;
    } else if (event.kind == EventKind::alloc) {
      phase_of_[event.allocation.index()] = Asked{phase_, event.value};
    } else if (event.kind == EventKind::free && phase_of_[event.allocation.index()]) {
      const Asked asked = *std::exchange(phase_of_[event.allocation.index()], std::nullopt);
      stays_[asked.formula] = stays_[asked.formula] || asked.phase != phase_;
    }
  }

  [[nodiscard]] std::vector<std::size_t> never_freed() const {
    std::vector<std::size_t> formulas;
    for (const std::optional<Asked>& asked : phase_of_) {
      if (asked) {
        formulas.push_back(asked->formula);
      }
    }
    return formulas;
  }

  std::vector<bool> stays_;
  std::vector<std::optional<Asked>> phase_of_;  ///< by AllocationId: of live ones
  std::size_t phase_ = 0;
};

/// The same growth, times powers of two.
void add_like(const Growth& growth, std::set<Growth>& known) {
  constexpr std::array<std::uint64_t, 4> kFactors{1, 2, 4, 8};
  for (const std::uint64_t factor : kFactors) {
    known.emplace(growth.first * factor, growth.second * factor);
    if (growth.first % factor == 0 && growth.second % factor == 0) {
      known.emplace(growth.first / factor, growth.second / factor);
    }
  }
}

}  // namespace

std::vector<bool> scratch_formulas(const ScalableProgram& program, const Values& values) {
  std::vector<bool> scratch(program.formulas.size());
  const StayingFormulas staying(program);
  if (!staying.has_phases() || program.base >= program.points.size()) {  // while it is made
    return scratch;
  }
  const Values& recorded = program.points[program.base].values;
  std::set<Growth> like_staying;
  std::vector<Growth> growths;
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    const SizeFormula& formula = program.formulas[i];
    growths.emplace_back(bytes_at(formula, recorded), bytes_at(formula, values));
    if (staying.stays(i)) {
      add_like(growths.back(), like_staying);
    }
  }
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    const SizeFormula& formula = program.formulas[i];
    scratch[i] = formula.presence.empty() && formula.basis != FormulaBasis::estimated &&
                 growths[i].second > formula.largest_recorded.count() &&
                 !like_staying.contains(growths[i]);
  }
  return scratch;
}

}  // namespace highwater
