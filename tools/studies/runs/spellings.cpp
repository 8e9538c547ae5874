#include "tools/studies/runs/spellings.hpp"

#include <array>
#include <cmath>
#include <span>

#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// The scripts of transformers' documents have the first, tutorials of PyTorch the second.
constexpr std::array kSpellings{
    Spelling{"keep-logits", "false", "loss = model(...).loss"},
    Spelling{"zero-grad-at", "backward", "optimizer.zero_grad() right before loss.backward()"},
    Spelling{"init", "device", "with torch.device(\"cuda\"): around the model"}};

constexpr double kShown = 0.01;

bool differ(Bytes a, Bytes b) {
  const auto first = static_cast<double>(a.count());
  return std::abs(first - static_cast<double>(b.count())) >= kShown * first;
}

/// Absent for a plan that this way of writing makes illegal, or that has it already.
std::optional<SpelledRun> spelled(const PlannedRun& run, const MemoryRequest& memory,
                                  const Spelling& spelling) {
  const std::string option(spelling.option);
  const std::string word(spelling.word);
  if (find_word(run.words, option) != nullptr || option_called(option).text(run.plan) == word) {
    return std::nullopt;
  }
  try {
    PlannedRun other = checked_run(with_words(run.words, {{option, word}}), run.plan.model);
    other.plan.parallel.rank = run.plan.parallel.rank;
    const PlanPeaks peaks = simulate_peaks(other, memory);
    return SpelledRun{spelling, peaks.peak,
                      peaks.available ? std::optional(peaks.fits) : std::nullopt};
  } catch (const UsageErrors&) {
    return std::nullopt;
  } catch (const InputError&) {  // PyTorch could not carry it out; the answer stands without it
    return std::nullopt;
  }
}

}  // namespace

std::vector<SpelledRun> other_spellings(const PlannedRun& run, const MemoryRequest& memory,
                                        const Usage& told) {
  std::vector<SpelledRun> others;
  const bool is_recorded = run.recording != nullptr;  // and so is how its script is written
  if (run.plan.framework != Framework::hf || !run.plan.training || is_recorded) {
    return others;
  }
  const bool is_slow = run.plan.engine == EngineKind::torch;  // seconds for each
  for (const Spelling& spelling : std::span(kSpellings).first(is_slow ? 1 : kSpellings.size())) {
    const std::optional<SpelledRun> other = spelled(run, memory, spelling);
    if (other && (differ(told.reserved, other->peak.reserved) ||
                  differ(told.allocated, other->peak.allocated))) {
      others.push_back(*other);
    }
  }
  return others;
}

}  // namespace highwater
