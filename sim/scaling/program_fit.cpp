#include "sim/scaling/program_fit.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/scaling/run_alignment.hpp"
#include "sim/scaling/scaled_requests.hpp"
#include "sim/scaling/size_at.hpp"
#include "sim/scaling/size_fit.hpp"

namespace highwater {
namespace {

std::uint64_t requested_bytes(const RequestTrace& trace) {
  std::uint64_t sum = 0;
  for (const Event& event : trace.events) {
    sum += event.kind == EventKind::alloc ? event.bytes().count() : 0;
  }
  return sum;
}

/// By ordinal: the phase that a request belongs to.
std::vector<std::string> phases_of(const RunSide& side) {
  std::vector<std::string> phases(side.partners.size());
  for (const PhaseRange& phase : side.phases) {
    for (std::size_t i = phase.begin; i < phase.end; ++i) {
      if (side.requests[i].is_alloc) {
        phases[side.requests[i].ordinal] = std::get<1>(phase.key);
      }
    }
  }
  return phases;
}

/// Counts the requests that not every recording makes.
class ChangeCounter {
 public:
  explicit ChangeCounter(std::size_t runs) : runs_(runs) {}

  /// The request `ordinal` of `side`, recording number `run`, is made by the recordings `made_by`.
  void add(const RunSide& side, std::size_t run, std::uint32_t ordinal, const std::string& phase,
           const std::vector<bool>& made_by) {
    const auto key = std::pair(phase, side.sites[ordinal]);
    const auto [row, is_new] = rows_.try_emplace(key, changes_.size());
    if (is_new) {
      changes_.push_back({phase, run, side.trace->events[side.request_of(ordinal).event].stack,
                          std::vector<std::uint64_t>(runs_), Bytes{}});
    }
    ChangedSite& change = changes_[row->second];
    change.largest = std::max(change.largest, side.request_of(ordinal).bytes);
    for (std::size_t i = 0; i < runs_; ++i) {
      change.counts[i] += made_by[i] ? 1U : 0U;
    }
  }

  /// Those whose numbers differ; largest request first.
  std::vector<ChangedSite> take() {
    std::erase_if(changes_, [](const ChangedSite& change) {
      return std::ranges::all_of(change.counts,
                                 [&](std::uint64_t count) { return count == change.counts[0]; });
    });
    std::ranges::stable_sort(changes_, std::ranges::greater{}, &ChangedSite::largest);
    return std::move(changes_);
  }

 private:
  std::size_t runs_;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> rows_;
  std::vector<ChangedSite> changes_;
};

class ProgramFitter {
 public:
  ProgramFitter(const std::vector<std::string>& integers, std::span<const FitRun> runs,
                const ReductionWays& ways)
      : runs_(runs),
        ways_(ways),
        base_(largest_run(runs)),
        side_(runs[base_]),
        phases_(phases_of(side_)),
        samples_(side_.partners.size(), SizeSamples(runs.size())),
        changes_(runs.size()) {
    fit_.program.integers = integers;
    fit_.program.base = base_;
  }

  ProgramFit run() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (i != base_) {
        add_run(i);
      }
    }
    take_samples_of_base();
    make_requests();
    count_changes_of_base();
    fit_.changes = changes_.take();
    return std::move(fit_);
  }

 private:
  void add_run(std::size_t index) {
    RunSide other(runs_[index]);
    align_runs(side_, other, {runs_[base_].values, runs_[index].values});
    const std::vector<std::string> phases = phases_of(other);
    for (std::uint32_t ordinal = 0; ordinal < other.partners.size(); ++ordinal) {
      const std::uint32_t partner = other.partners[ordinal];
      if (partner != kNoPartner) {
        samples_[partner][index] = other.request_of(ordinal).bytes;
      } else {
        std::vector<bool> made_by(runs_.size());
        made_by[index] = true;
        changes_.add(other, index, ordinal, phases[ordinal], made_by);
      }
    }
  }

  void take_samples_of_base() {
    for (std::uint32_t ordinal = 0; ordinal < samples_.size(); ++ordinal) {
      samples_[ordinal][base_] = side_.request_of(ordinal).bytes;
    }
  }

  void count_changes_of_base() {
    for (std::uint32_t ordinal = 0; ordinal < samples_.size(); ++ordinal) {
      std::vector<bool> made_by;
      for (const auto& sample : samples_[ordinal]) {
        made_by.push_back(sample.has_value());
      }
      if (std::ranges::find(made_by, false) != made_by.end() && !is_foretold(ordinal, made_by)) {
        changes_.add(side_, base_, ordinal, phases_[ordinal], made_by);
      }
    }
  }

  /// Whether the formula says of every recording without this request that it makes none.
  bool is_foretold(std::uint32_t ordinal, const std::vector<bool>& made_by) const {
    const SizeFormula& formula = fit_.program.formulas[formula_numbers_[ordinal]];
    for (std::size_t i = 0; i < made_by.size(); ++i) {
      const auto size = size_at(formula, runs_[i].values);
      if (!made_by[i] && (!size || size->bytes.count() != 0)) {
        return false;
      }
    }
    return true;
  }

  std::vector<Values> points() const {
    std::vector<Values> points;
    for (const FitRun& run : runs_) {
      points.push_back(run.values);
    }
    return points;
  }

  void make_requests() {
    find_formulas();
    std::size_t ordinal = 0;
    fit_.program.requests = without_events(*runs_[base_].requests);
    for (Event event : runs_[base_].requests->events) {
      if (event.kind == EventKind::alloc) {
        event.value = formula_numbers_[ordinal++];
      }
      fit_.program.requests.events.push_back(event);
    }
  }

  void find_formulas() {
    SizeFitter fitter(points());
    const FoundWorkspaces found = find_workspaces(side_, base_, samples_, ways_, fitter);
    const std::set<std::uint32_t> doubtful(found.unexplained.begin(), found.unexplained.end());
    fit_.unexplained_workspaces = doubtful.size();
    std::map<const SizeFormula*, std::uint64_t> numbers;
    for (std::uint32_t ordinal = 0; ordinal < samples_.size(); ++ordinal) {
      const auto workspace = found.formulas.find(ordinal);
      if (workspace != found.formulas.end()) {
        formula_numbers_.push_back(number_of_equal(workspace->second));
      } else if (doubtful.contains(ordinal)) {
        formula_numbers_.push_back(number_of_equal(doubted(fitter.fit(samples_[ordinal]))));
      } else {
        formula_numbers_.push_back(number_of(fitter.fit(samples_[ordinal]), numbers));
      }
    }
  }

  static SizeFormula doubted(SizeFormula formula) {
    formula.basis = std::max(formula.basis, FormulaBasis::determined);
    return formula;
  }

  std::uint64_t number_of(const SizeFormula& formula,
                          std::map<const SizeFormula*, std::uint64_t>& numbers) {
    const auto [number, is_new] = numbers.try_emplace(&formula, fit_.program.formulas.size());
    if (is_new) {
      fit_.program.formulas.push_back(formula);
    }
    return number->second;
  }

  std::uint64_t number_of_equal(const SizeFormula& formula) {
    auto& formulas = fit_.program.formulas;
    const auto known = std::ranges::find(formulas, formula);
    const auto number = static_cast<std::uint64_t>(known - formulas.begin());
    if (known == formulas.end()) {
      formulas.push_back(formula);
    }
    return number;
  }

  std::span<const FitRun> runs_;
  const ReductionWays& ways_;
  std::size_t base_;
  RunSide side_;
  std::vector<std::string> phases_;
  std::vector<SizeSamples> samples_;            ///< by ordinal of the base
  std::vector<std::uint64_t> formula_numbers_;  ///< the same
  ChangeCounter changes_;
  ProgramFit fit_;
};

/// The requests of a program beside those of a recording at the same values.
class PointComparison {
 public:
  PointComparison(const ScalableProgram& program, const FitRun& run)
      : program_(program),
        predicted_(requests_at(program, run.values)),
        here_({"", &predicted_.trace, run.values}),
        there_(run) {
    point_.name = run.name;
    point_.values = run.values;
    point_.requests = there_.partners.size();
  }

  ComparedPoint run() {
    align_runs(here_, there_, {point_.values, point_.values});
    for (std::uint32_t ordinal = 0; ordinal < there_.partners.size(); ++ordinal) {
      compare(ordinal);
    }
    point_.additional = static_cast<std::uint64_t>(std::ranges::count(here_.partners, kNoPartner));
    point_.reordered = reordered_frees(here_, there_);
    count_open();
    return point_;
  }

 private:
  [[nodiscard]] bool is_confirmed(std::uint32_t ordinal) const {
    return program_.formulas[predicted_.formulas[ordinal]].basis == FormulaBasis::confirmed;
  }

  void compare(std::uint32_t ordinal) {
    const std::uint32_t partner = there_.partners[ordinal];
    if (partner == kNoPartner) {
      ++point_.missing;
    } else if (here_.request_of(partner).bytes != there_.request_of(ordinal).bytes) {
      ++point_.other_sizes;
      point_.unconfirmed += is_confirmed(partner) ? 0U : 1U;
    }
  }

  [[nodiscard]] std::uint64_t missing_workspaces() const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < there_.requests.size(); ++i) {
      if (const auto pair = workspace_at(there_.requests, i)) {
        count += there_.partners[pair->buffer] == kNoPartner ? 1U : 0U;
        count += there_.partners[pair->counters] == kNoPartner ? 1U : 0U;
      }
    }
    return count;
  }

  /// A request of another size than an unconfirmed formula says is one that is additional and one
  /// that is missing.
  void count_open() {
    std::uint64_t additional = 0;
    for (std::uint32_t ordinal = 0; ordinal < here_.partners.size(); ++ordinal) {
      additional += here_.partners[ordinal] == kNoPartner && !is_confirmed(ordinal) ? 1U : 0U;
    }
    const std::uint64_t workspaces = missing_workspaces();
    point_.unconfirmed +=
        additional + workspaces + std::min(additional, point_.missing - workspaces);
  }

  const ScalableProgram& program_;
  ScaledRequests predicted_;
  RunSide here_;
  RunSide there_;
  ComparedPoint point_;
};

}  // namespace

std::size_t largest_run(std::span<const FitRun> runs) {
  const auto most = std::ranges::max_element(
      runs, {}, [](const FitRun& run) { return requested_bytes(*run.requests); });
  return static_cast<std::size_t>(most - runs.begin());
}

ProgramFit fit_program(const std::vector<std::string>& integers, std::span<const FitRun> runs,
                       const ReductionWays& ways) {
  return ProgramFitter(integers, runs, ways).run();
}

ComparedPoint compare_with(const ScalableProgram& program, const FitRun& run) {
  return PointComparison(program, run).run();
}

}  // namespace highwater
