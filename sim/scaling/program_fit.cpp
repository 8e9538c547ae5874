#include "sim/scaling/program_fit.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/scaling/run_alignment.hpp"
#include "sim/scaling/scaled_requests.hpp"
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
  ProgramFitter(const std::vector<std::string>& integers, std::span<const FitRun> runs)
      : runs_(runs),
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
      std::vector<bool> made_by;
      for (const auto& sample : samples_[ordinal]) {
        made_by.push_back(sample.has_value());
      }
      if (std::ranges::find(made_by, false) != made_by.end()) {
        changes_.add(side_, base_, ordinal, phases_[ordinal], made_by);
      }
    }
  }

  std::vector<Values> points() const {
    std::vector<Values> points;
    for (const FitRun& run : runs_) {
      points.push_back(run.values);
    }
    return points;
  }

  void make_requests() {
    SizeFitter fitter(points());
    std::map<const SizeFormula*, std::uint64_t> numbers;
    std::uint32_t ordinal = 0;
    fit_.program.requests = without_events(*runs_[base_].requests);
    for (Event event : runs_[base_].requests->events) {
      if (event.kind == EventKind::alloc) {
        event.value = number_of(fitter.fit(samples_[ordinal++]), numbers);
      }
      fit_.program.requests.events.push_back(event);
    }
  }

  std::uint64_t number_of(const SizeFormula& formula,
                          std::map<const SizeFormula*, std::uint64_t>& numbers) {
    const auto [number, is_new] = numbers.try_emplace(&formula, fit_.program.formulas.size());
    if (is_new) {
      fit_.program.formulas.push_back(formula);
    }
    return number->second;
  }

  std::span<const FitRun> runs_;
  std::size_t base_;
  RunSide side_;
  std::vector<std::string> phases_;
  std::vector<SizeSamples> samples_;  ///< by ordinal of the base
  ChangeCounter changes_;
  ProgramFit fit_;
};

}  // namespace

std::size_t largest_run(std::span<const FitRun> runs) {
  const auto most = std::ranges::max_element(
      runs, {}, [](const FitRun& run) { return requested_bytes(*run.requests); });
  return static_cast<std::size_t>(most - runs.begin());
}

ProgramFit fit_program(const std::vector<std::string>& integers, std::span<const FitRun> runs) {
  return ProgramFitter(integers, runs).run();
}

FittedPoint compare_with(const ScalableProgram& program, const FitRun& run) {
  const RequestTrace predicted = requests_at(program, run.values).trace;
  RunSide here({"", &predicted, run.values});
  RunSide there(run);
  align_runs(here, there, {run.values, run.values});
  FittedPoint point{.name = run.name, .values = run.values};
  point.requests = there.partners.size();
  for (std::uint32_t ordinal = 0; ordinal < there.partners.size(); ++ordinal) {
    const std::uint32_t partner = there.partners[ordinal];
    const bool is_paired = partner != kNoPartner;
    point.missing += is_paired ? 0U : 1U;
    point.other_sizes +=
        is_paired && here.request_of(partner).bytes != there.request_of(ordinal).bytes ? 1U : 0U;
  }
  const auto unpaired = std::ranges::count(here.partners, kNoPartner);
  point.additional = static_cast<std::uint64_t>(unpaired);
  point.reordered = reordered_frees(here, there);
  return point;
}

}  // namespace highwater
