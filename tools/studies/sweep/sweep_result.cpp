#include "tools/studies/sweep/sweep_result.hpp"

#include <algorithm>
#include <tuple>

#include "traces/parse_text.hpp"

namespace highwater {
namespace {

auto rank_of(const SweepRun& run) {
  return std::tuple(run.problem.has_value(), run.ran_out(), run.replay.result.peak.reserved,
                    run.device_calls(), run.replay.result.counts.alloc_retries, run.point);
}

}  // namespace

std::optional<std::int64_t> SweepRun::batch() const {
  const auto found = std::ranges::find(set, "batch", &SweepChoice::value_type::first);
  return found == set.end() ? std::nullopt : parse_number<std::int64_t>(found->second);
}

bool is_better(const SweepRun& a, const SweepRun& b) {
  return rank_of(a) < rank_of(b);
}

bool is_preferred(const SweepRun& a, const SweepRun& b) {
  if (a.fits() && b.fits() && a.batch() != b.batch()) {
    return a.batch() > b.batch();
  }
  return is_better(a, b);
}

void SweepCounts::add(const SweepCounts& other) {
  all += other.all;
  out_of_memory += other.out_of_memory;
  impossible += other.impossible;
  ruled_out += other.ruled_out;
}

}  // namespace highwater
