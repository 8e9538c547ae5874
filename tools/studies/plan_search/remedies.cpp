#include "tools/studies/plan_search/remedies.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>

#include <fmt/format.h>

#include "allocator/settings/settings_change.hpp"
#include "allocator/settings/settings_describe.hpp"
#include "tools/engine/engine.hpp"
#include "tools/studies/plan_search/remedy_table.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/shell_word.hpp"
#include "tools/text/usage_errors.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::size_t kMostAnswers = 4;
constexpr std::size_t kMostWiderMargins = 2;
constexpr std::string_view kAllocConf = "alloc-conf";

/// A row of the table whose options the plan takes.
struct RemedyCandidate {
  const RemedyRow* row = nullptr;
  OptionWords options;
};

/// Indices of candidates, ascending: from the cheapest to the dearest.
using RemedyChoice = std::vector<std::size_t>;

RemedyChoice first_candidates(std::size_t count) {
  RemedyChoice choice(count);
  std::iota(choice.begin(), choice.end(), std::size_t{0});
  return choice;
}

RemedyChoice without(RemedyChoice choice, std::size_t candidate) {
  std::erase(choice, candidate);
  return choice;
}

/// The question with `options` changed.
RemedyQuestion with_options(RemedyQuestion question, const OptionWords& options) {
  for (const OptionWord& option : options) {
    if (option.first == kAllocConf) {
      question.memory.alloc_conf = option.second;
    } else {
      question.plan = with_words(std::move(question.plan), {option});
    }
  }
  return question;
}

/// Absent where a rule refuses the combination.
std::optional<PlannedRun> possible_run(const RemedyQuestion& question) {
  try {
    return checked_run(question.plan, question.model);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

bool sets_same_option(const OptionWords& a, const OptionWords& b) {
  return std::ranges::any_of(
      a, [&](const OptionWord& word) { return find_word(b, word.first) != nullptr; });
}

/// The question's own settings with the option of `text` ("expandable_segments:True") as well.
std::optional<OptionWords> with_own_settings(const RemedyQuestion& question,
                                             const TrainingPlan& plan, std::string_view text) {
  const VersionPreset& version = nearest_preset(plan.versions.torch);
  const Settings own = settings_from_command_line(question.memory.alloc_conf.value_or(""), version);
  const std::size_t colon = text.find(':');
  const Settings changed = with_option(own, text.substr(0, colon), text.substr(colon + 1), version);
  return changed == own ? std::nullopt
                        : std::optional(OptionWords{{std::string(kAllocConf), to_conf(changed)}});
}

std::vector<RemedyCandidate> candidates_for(const RemedyQuestion& question,
                                            const TrainingPlan& plan) {
  std::vector<RemedyCandidate> candidates;
  for (const RemedyRow& row : remedy_table()) {
    OptionWords options = row.options(plan);
    if (const std::string* conf = find_word(options, kAllocConf)) {
      options = with_own_settings(question, plan, *conf).value_or(OptionWords{});
    }
    if (!options.empty() && possible_run(with_options(question, options))) {
      candidates.push_back({&row, std::move(options)});
    }
  }
  return candidates;
}

/// The largest first, `number` itself left out.
std::vector<std::int64_t> divisors_below(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t divisor = number / 2; divisor > 0; --divisor) {
    if (number % divisor == 0) {
      divisors.push_back(divisor);
    }
  }
  return divisors;
}

class RemedySearch {
 public:
  explicit RemedySearch(const RemedyQuestion& question)
      : question_(question),
        run_(checked_run(question.plan, question.model)),
        candidates_(candidates_for(question, run_.plan)) {}

  Remedies run() {
    Remedies remedies;
    const std::size_t decisive = first_decisive();
    std::vector<RemedyChoice> answers;
    for (std::size_t i = decisive; i < candidates_.size() && answers.size() < kMostAnswers; ++i) {
      add_answers(first_candidates(decisive), i, answers);
    }
    for (const RemedyChoice& choice : answers) {
      remedies.fitting.push_back(
          with_largest_batch(choice, [](const Remedy& remedy) { return remedy.fits; }));
    }
    if (remedies.fitting.empty() && !candidates_.empty()) {
      remedies.together = trial(compatible(first_candidates(candidates_.size())));
    }
    if (const auto gpu = larger_gpu()) {
      remedies.fitting.push_back(*gpu);
    }
    return remedies;
  }

  std::vector<Remedy> wider() {
    const auto is_wide = [](const Remedy& remedy) {
      return remedy.fits && !is_thin(remedy.peak, remedy.available);
    };
    std::vector<Remedy> found;
    for (std::size_t i = 0; i < candidates_.size() && found.size() < kMostWiderMargins; ++i) {
      if (candidates_[i].row->price != RemedyPrice::training && is_wide(trial({i}))) {
        found.push_back(with_largest_batch({i}, is_wide));
      }
    }
    return found;
  }

 private:
  /// The first candidate with which, after all before it that go with it, the run fits; their
  /// number if none. A dearer one may keep cheaper ones out, so each is tried.
  std::size_t first_decisive() {
    const auto indices = std::views::iota(std::size_t{0}, candidates_.size());
    const auto found = std::ranges::find_if(
        indices, [this](std::size_t i) { return trial(compatible(first_candidates(i + 1))).fits; });
    return static_cast<std::size_t>(found - indices.begin());
  }

  /// What fits with `last`, and beside it what does without each of the others that it needs, in no
  /// more changes: not everybody can have them (a fused loss is another package).
  void add_answers(const RemedyChoice& cheaper, std::size_t last,
                   std::vector<RemedyChoice>& answers) {
    const std::optional<RemedyChoice> answer = answer_with(cheaper, last);
    if (!answer) {
      return;
    }
    add_new(*answer, answers);
    for (const std::size_t each : *answer) {
      const auto other = each == last ? std::nullopt : answer_with(without(cheaper, each), last);
      if (other && other->size() <= answer->size() && answers.size() < kMostAnswers) {
        add_new(*other, answers);
      }
    }
  }

  static void add_new(const RemedyChoice& answer, std::vector<RemedyChoice>& answers) {
    if (std::ranges::find(answers, answer) == answers.end()) {
      answers.push_back(answer);
    }
  }

  std::optional<RemedyChoice> answer_with(RemedyChoice cheaper, std::size_t last) {
    cheaper.push_back(last);
    const RemedyChoice choice = compatible(cheaper);
    return trial(choice).fits ? std::optional(smallest(choice)) : std::nullopt;
  }

  [[nodiscard]] OptionWords options_of(const RemedyChoice& choice) const {
    OptionWords options;
    for (const std::size_t i : choice) {
      options.insert(options.end(), candidates_[i].options.begin(), candidates_[i].options.end());
    }
    return options;
  }

  /// The last candidate of `choice`, with those of the others that a plan can have beside it and
  /// beside dearer ones.
  [[nodiscard]] RemedyChoice compatible(const RemedyChoice& choice) const {
    RemedyChoice kept{choice.back()};
    for (const std::size_t i : choice | std::views::reverse | std::views::drop(1)) {
      RemedyChoice larger = kept;
      larger.insert(larger.begin(), i);
      if (!sets_same_option(candidates_[i].options, options_of(kept)) &&
          possible_run(with_options(question_, options_of(larger)))) {
        kept = std::move(larger);
      }
    }
    return kept;
  }

  /// Without what is not needed; the last candidate of `choice` is. @pre it fits
  RemedyChoice smallest(RemedyChoice choice) {
    for (std::size_t i = choice.size() - 1; i-- > 0;) {
      if (const RemedyChoice fewer = without(choice, choice[i]); trial(fewer).fits) {
        choice = fewer;
      }
    }
    return choice;
  }

  const Remedy& trial(const RemedyChoice& choice) {
    const auto known = trials_.find(choice);
    return known != trials_.end()
               ? known->second
               : trials_.emplace(choice, simulated(options_of(choice), costs_of(choice)))
                     .first->second;
  }

  /// Micro-batches no smaller than they have to be.
  template <class Serves>
  Remedy with_largest_batch(const RemedyChoice& choice, Serves serves) {
    const OptionWords options = options_of(choice);
    if (find_word(options, "batch") == nullptr) {
      return trial(choice);
    }
    for (const std::int64_t batch : divisors_below(run_.plan.batch)) {
      const std::int64_t parts = run_.plan.batch / batch * run_.plan.grad_accum;
      const OptionWords larger = with_words(
          options, {{"batch", std::to_string(batch)}, {"grad-accum", std::to_string(parts)}});
      if (Remedy remedy = simulated(larger, costs_of(choice)); serves(remedy)) {
        return remedy;
      }
    }
    return trial(choice);
  }

  [[nodiscard]] std::vector<std::string> costs_of(const RemedyChoice& choice) const {
    std::vector<std::string> costs;
    for (const std::size_t i : choice) {
      if (!candidates_[i].row->costs.empty()) {
        costs.emplace_back(candidates_[i].row->costs);
      }
    }
    return costs;
  }

  /// The rank that failed first is enough to say no.
  [[nodiscard]] RankPeak worst_rank(const PlannedRun& run, const MemoryRequest& memory) const {
    if (run.plan.parallel.gpus() > 1 && question_.ranks.kind != RankChoice::Kind::one) {
      const RankPeaks failing =
          simulate_ranks(run, memory, {RankChoice::Kind::one, question_.worst_rank});
      if (!failing.peaks.front().fits) {
        return failing.peaks.front();
      }
    }
    const RankPeaks all = simulate_ranks(run, memory, question_.ranks);
    return all.peaks[all.worst];
  }

  Remedy simulated(const OptionWords& options, std::vector<std::string> costs) {
    ++tried_;
    progress_.show(tried_);
    const RemedyQuestion question = with_options(question_, options);
    const std::optional<PlannedRun> run = possible_run(question);
    if (!run) {
      return {options, std::move(costs)};
    }
    try {
      const RankPeak worst = worst_rank(*run, question.memory);
      return {options, std::move(costs), worst.fits, worst.reserved_without_limit,
              worst.available.value_or(Bytes{})};
    } catch (const InputError&) {  // PyTorch, or the script that it is given, cannot do that
      return {options, std::move(costs)};
    }
  }

  /// The smallest known GPU that could hold what the run needs and, simulated, does.
  std::optional<Remedy> larger_gpu() {
    if (!run_.gpu_named || question_.memory.has_limit()) {
      return std::nullopt;
    }
    std::vector<const Gpu*> gpus;
    for (const Gpu& gpu : known_gpus()) {
      // Kernels differ between GPUs, and with them a little of what is needed.
      if (memory_for_allocator(gpu, run_.plan) >= question_.needed - question_.needed / 20) {
        gpus.push_back(&gpu);
      }
    }
    std::ranges::stable_sort(gpus, {}, &Gpu::total_memory);
    for (const Gpu* gpu : gpus) {
      if (Remedy remedy = simulated({{"gpu", std::string(gpu->name)}}, {}); remedy.fits) {
        return remedy;
      }
    }
    return std::nullopt;
  }

  RemedyQuestion question_;
  PlannedRun run_;
  std::vector<RemedyCandidate> candidates_;
  std::map<RemedyChoice, Remedy> trials_;
  std::size_t tried_ = 0;
  ProgressLine progress_{"remedies tried"};
};

/// Where no file says it, a plan of a framework is that of its program.
std::vector<PlanSource> sources_about(const OptionWords& plan,
                                      const std::vector<PlanSource>& sources) {
  const bool are_read =
      std::ranges::any_of(sources, [](const PlanSource& source) { return source.own != nullptr; });
  const std::optional<PlanSource> source = are_read ? std::nullopt : source_of_framework(plan);
  return source ? std::vector{*source} : sources;
}

void say_in_own_words(const RemedyQuestion& question, std::vector<Remedy>& remedies) {
  for (Remedy& remedy : remedies) {
    remedy.own = own_changes(question.sources, question.plan, remedy.options)
                     .value_or(std::vector<OwnChange>{});
  }
}

}  // namespace

RemedyQuestion question_about(const OptionWords& given, const Simulation& simulation,
                              const MemoryRequest& memory, RankChoice ranks,
                              const std::vector<PlanSource>& sources) {
  TrainingPlan by_model = simulation.plan;
  by_model.engine = EngineKind::model;
  std::vector<std::string> gaps;
  choose_engine(by_model, gaps);
  return {.plan = with_words(given, {{"batch", std::to_string(simulation.plan.batch)},
                                     {"engine", gaps.empty() ? "model" : "torch"}}),
          .model = simulation.plan.model,
          .memory = memory,
          .ranks = ranks,
          .worst_rank = simulation.plan.parallel.rank,
          .needed = simulation.needed.value_or(Bytes{}),
          .sources = sources_about(given, sources)};
}

Bytes Remedy::spare() const {
  return available - std::min(available, peak);
}

std::string option_line(const OptionWords& options) {
  std::string text;
  for (const auto& [option, value] : options) {
    text += fmt::format("{}--{} {}", text.empty() ? "" : " ", option, shell_word(printable(value)));
  }
  return text;
}

Remedies find_remedies(const RemedyQuestion& question) {
  Remedies remedies = RemedySearch(question).run();
  say_in_own_words(question, remedies.fitting);
  return remedies;
}

bool is_thin(Bytes peak, Bytes available) {
  const auto spare = static_cast<double>((available - std::min(available, peak)).count());
  return spare < kThinMargin * static_cast<double>(available.count());
}

std::vector<Remedy> wider_margins(const RemedyQuestion& question) {
  std::vector<Remedy> remedies = RemedySearch(question).wider();
  say_in_own_words(question, remedies);
  return remedies;
}

}  // namespace highwater
