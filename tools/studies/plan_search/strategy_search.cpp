#include "tools/studies/plan_search/strategy_search.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "tools/studies/plan_search/job_division.hpp"
#include "tools/studies/plan_search/least_memory.hpp"
#include "tools/studies/plan_search/variation_order.hpp"
#include "tools/text/progress_line.hpp"
#include "workloads/plan/rules/plan_problems.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// Trials asked for at once, for each that is carried out at the same time.
constexpr std::size_t kAhead = 4;

/// Rows where nothing fits.
constexpr std::size_t kNearest = 3;

/// A candidate whose variations are tried one by one.
struct Open {
  std::size_t candidate = 0;
  std::size_t next = 0;           ///< variation
  std::vector<Variation> failed;  ///< simulated
};

class BestFirst {
 public:
  BestFirst(const SearchRequest& request, std::vector<Candidate> candidates, Fleet& fleet)
      : request_(request),
        candidates_(std::move(candidates)),
        pieces_(request, candidates_, fleet),
        progress_(0, "plans simulated") {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (pieces_.is_asked_for(i)) {
        open_.push(Entry{key(i, 0), {.candidate = i}});
      }
    }
  }

  void run(StrategySearch& found) {
    while (!has_enough() && !open_.empty()) {
      Open open = open_.top().open;
      open_.pop();
      const std::size_t before = open.next;
      skip_impossible(open);
      if (open.next != before) {
        push(std::move(open));  // another may come first now
      } else if (!joins_a_row(open)) {
        try_out(std::move(open));
      }
    }
    finish(found);
  }

 private:
  /// Kind of training, seconds per sequence, and the place in the table among equals.
  using Key = std::tuple<std::size_t, double, std::size_t>;

  using Place = VariationPlace;

  struct Entry {
    Key key;
    Open open;

    bool operator<(const Entry& other) const { return key > other.key; }  // the least on top
  };

  struct Found {
    Key key;
    JobDivision division;
    StrategyResult result;
  };

  [[nodiscard]] Key key(std::size_t candidate, std::size_t variation) const {
    const Candidate& c = candidates_[candidate];
    return {c.kind, c.variations[variation].seconds, candidate};
  }

  /// As many that fit as were asked for, all before whatever is still open.
  [[nodiscard]] bool has_enough() const {
    const auto before = [&](const Found& each) {
      return open_.empty() || each.key < open_.top().key;
    };
    return static_cast<std::size_t>(std::ranges::count_if(found_, before)) >= request_.options.rows;
  }

  /// The first variation from `next` on that may fit.
  void skip_impossible(Open& open) const {
    const Candidate& c = candidates_[open.candidate];
    TrainingPlan plan = c.plan;
    const Bytes limit = row_limit(plan, request_);
    for (; open.next < c.variations.size(); ++open.next) {
      const Variation& each = c.variations[open.next];
      set_variation(each, plan);
      const bool is_dominated = std::ranges::any_of(
          open.failed, [&](const Variation& other) { return needs_no_less(each, other); });
      if (!is_dominated && least_memory(plan) <= limit && plan_problems(plan).empty()) {
        return;
      }
    }
  }

  void push(Open open) {
    if (open.next < candidates_[open.candidate].variations.size()) {
      const Key at = key(open.candidate, open.next);
      open_.push(Entry{at, std::move(open)});
    } else {
      gone_.insert(open.candidate);
    }
  }

  /// The same division by another program is mentioned beside the row that there is, and what only
  /// adds a cost to a row that is as fast is left out.
  [[nodiscard]] bool joins(const Open& open, const Found& row) const {
    const Candidate& candidate = candidates_[open.candidate];
    return is_needless_beside(candidate, row.result) || division_of(candidate) == row.division;
  }

  [[nodiscard]] bool joins_a_row(const Open& open) const {
    return std::ranges::any_of(found_, [&](const Found& row) { return joins(open, row); });
  }

  /// Most of what does not fit shows it in a part; a row's peak is that of the whole.
  void try_out(Open open) {
    const VariationTrial& part = part_of({open.candidate, open.next});
    progress_.show(++simulated_);
    if (!part.trial) {
      fail(open, part.failure);
    } else if (part.trial->fits) {
      try_whole(std::move(open));
    } else {
      try_next(std::move(open));
    }
  }

  /// Once.
  void tell(const std::string& why) {
    if (std::ranges::find(failures_, why) == failures_.end()) {
      failures_.push_back(why);
    }
  }

  void fail(const Open& open, const std::string& why) {
    tell(why);
    gone_.insert(open.candidate);
  }

  void try_whole(Open open) {
    const Place place{open.candidate, open.next};
    Found row{key(open.candidate, open.next), division_of(candidates_[open.candidate]),
              row_of(place)};
    const std::vector<Place> ahead = places_behind(row);
    TrialPieces::WholeAndParts trials = pieces_.whole_of(place, ahead);
    keep_parts(ahead, std::move(trials.parts));
    const VariationTrial& whole = trials.whole;
    if (!whole.trial) {
      fail(open, whole.failure);
    } else if (whole.trial->fits) {
      set_memory(*whole.trial, row.result);
      found_.push_back(std::move(row));
    } else {
      try_next(std::move(open));
    }
  }

  /// The search asks for one after the other, and those that it may ask for next are carried out at
  /// the same time: what it finds is the same on any number of cores.
  const VariationTrial& part_of(const Place& place) {
    if (!parts_.contains(place)) {
      std::vector<Place> places = places_ahead([](const Open&) { return true; });
      places.push_back(place);
      longest_first(places);
      keep_parts(places, pieces_.parts_of(places));
    }
    return parts_.at(place);
  }

  /// The best that are open, of those that `may_count`: more than are carried out at once, since
  /// some take ten times as long as others and nobody is to wait for these.
  template <class MayCount>
  [[nodiscard]] std::vector<Place> places_ahead(MayCount may_count) const {
    const std::size_t most = pieces_.width() == 1 ? 0 : kAhead * pieces_.width();
    std::vector<Place> places;
    std::priority_queue<Entry> ahead = open_;
    for (; places.size() < most && !ahead.empty(); ahead.pop()) {
      Open each = ahead.top().open;
      skip_impossible(each);
      const Place place{each.candidate, each.next};
      const bool is_open = each.next < candidates_[each.candidate].variations.size();
      if (is_open && !joins_a_row(each) && !parts_.contains(place) && may_count(each)) {
        places.push_back(place);
      }
    }
    return places;
  }

  /// What comes after `row` if it fits; nothing if it may be the last one.
  [[nodiscard]] std::vector<Place> places_behind(const Found& row) const {
    if (found_.size() + 1 >= request_.options.rows) {
      return {};
    }
    std::vector<Place> places = places_ahead([&](const Open& open) { return !joins(open, row); });
    longest_first(places);
    return places;
  }

  /// A rank of a pipeline runs a share of the layers, so that its part takes less time. What takes
  /// long comes first, or it would be waited for at the end.
  void longest_first(std::vector<Place>& places) const {
    std::ranges::stable_sort(places, {}, [this](const Place& place) {
      return candidates_[place.candidate].plan.parallel.pp;
    });
  }

  void keep_parts(const std::vector<Place>& places, std::vector<VariationTrial> trials) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      parts_.emplace(places[i], std::move(trials[i]));
    }
  }

  void try_next(Open open) {
    open.failed.push_back(candidates_[open.candidate].variations[open.next]);
    ++open.next;
    if (open.failed.size() == 1) {
      rule_out_by_smallest(open);
    }
    skip_impossible(open);
    push(std::move(open));
  }

  /// Where even what needs least does not fit, nothing that needs more is tried: of a job that is
  /// too large for its GPUs that is all.
  void rule_out_by_smallest(Open& open) {
    const Candidate& c = candidates_[open.candidate];
    const std::size_t smallest = smallest_variation(c);
    TrainingPlan plan = varied(c, c.variations[smallest]);
    if (smallest < open.next || !plan_problems(plan).empty()) {
      return;
    }
    const VariationTrial& part = part_of({open.candidate, smallest});
    progress_.show(++simulated_);
    if (part.trial && !part.trial->fits) {
      open.failed.push_back(c.variations[smallest]);
    }
  }

  /// All but its memory.
  [[nodiscard]] StrategyResult row_of(const Place& place) const {
    const Candidate& c = candidates_[place.candidate];
    StrategyResult row{.strategy = c.strategy, .kind = c.kind};
    row.plan = varied(c, c.variations[place.variation]);
    row.time = step_time(row.plan, request_.options.assumed);
    row.capacity = allocator_share(row.plan, request_);
    row.refused = refused_before(c, place.variation);
    return row;
  }

  static void set_memory(const MemoryTrial& trial, StrategyResult& row) {
    row.peak = trial.peak;
    row.fits = trial.fits;
  }

  /// The fastest that does not fit and is no more than a step away.
  static std::optional<Variation> refused_before(const Candidate& candidate, std::size_t fitting) {
    const Variation& fits = candidate.variations[fitting];
    for (std::size_t i = 0; i < fitting; ++i) {
      const Variation& each = candidate.variations[i];
      const bool is_near = each.batch <= 2 * fits.batch && each.chunks == fits.chunks;
      if (is_near && each.seconds < fits.seconds) {
        return each;
      }
    }
    return std::nullopt;
  }

  /// Programs that divide the job as the row does, in the table's order.
  void name_others(Found& row) const {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const StrategyRow* const strategy = candidates_[i].strategy;
      if (strategy == row.result.strategy || gone_.contains(i) ||
          division_of(candidates_[i]) != row.division) {
        continue;
      }
      Open open{.candidate = i};
      skip_impossible(open);
      if (open.next < candidates_[i].variations.size()) {
        row.result.also.push_back(strategy->name);
      }
    }
  }

  void finish(StrategySearch& found) {
    std::ranges::sort(found_, {}, &Found::key);
    for (Found& each : found_) {
      if (found.results.size() < request_.options.rows) {
        name_others(each);
        found.results.push_back(std::move(each.result));
      }
    }
    if (found.results.empty()) {
      add_smallest(found);
    }
    found.simulated += simulated_;
    std::ranges::move(failures_, std::back_inserter(found.left_out));
  }

  /// Where nothing fits: what needs least of each candidate, and how much that is. Where PyTorch's
  /// own code refuses the smallest, the next ones are looked at.
  void add_smallest(StrategySearch& found) {
    std::vector<Place> places = smallest_places();
    while (found.results.empty() && !places.empty()) {
      const std::size_t count = std::min({places.size(), request_.options.rows, kNearest});
      const auto end = places.begin() + static_cast<std::ptrdiff_t>(count);
      add_needs_of({places.begin(), end}, found);
      places.erase(places.begin(), end);
    }
    std::ranges::stable_sort(found.results, {}, &StrategyResult::peak);
  }

  void add_needs_of(const std::vector<Place>& places, StrategySearch& found) {
    const std::vector<VariationTrial> needs = pieces_.needs_of(places);
    simulated_ += places.size();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (needs[i].trial) {
        set_memory(*needs[i].trial, found.results.emplace_back(row_of(places[i])));
      } else {
        tell(needs[i].failure);
      }
    }
  }

  [[nodiscard]] std::vector<Place> smallest_places() const {
    std::vector<Place> smallest;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (pieces_.is_asked_for(i)) {
        smallest.push_back({i, smallest_variation(candidates_[i])});
      }
    }
    std::ranges::stable_sort(smallest, {}, [this](const Place& place) {
      const Candidate& c = candidates_[place.candidate];
      return least_memory(varied(c, c.variations[place.variation]));
    });
    return smallest;
  }

  static std::size_t smallest_variation(const Candidate& candidate) {
    const auto smallest =
        std::ranges::min_element(candidate.variations, {}, [&](const Variation& each) {
          return std::pair(least_memory(varied(candidate, each)), -each.seconds);
        });
    return static_cast<std::size_t>(smallest - candidate.variations.begin());
  }

  const SearchRequest& request_;
  std::vector<Candidate> candidates_;
  TrialPieces pieces_;
  std::priority_queue<Entry> open_;
  std::vector<Found> found_;
  std::map<Place, VariationTrial> parts_;
  std::set<std::size_t> gone_;         ///< candidates without a variation that fits or runs
  std::vector<std::string> failures_;  ///< of PyTorch's own code
  std::size_t simulated_ = 0;
  ProgressLine progress_;
};

/// Whether the row has all of its states on the GPUs.
bool stays_on_gpus(const StrategyResult& row) {
  const Parallelism& p = row.plan.parallel;
  return row.fits && p.offload == Offload::none && p.gemini.placement != GeminiPlacement::cpu;
}

/// Rows of full training that keep states on the host, and behind them what gives up more: which of
/// the two a user would rather do is his to say.
void add_lesser(std::vector<StrategyResult> lesser, std::size_t most, StrategySearch& found) {
  const std::size_t shown = std::min(found.results.size(), (most + 1) / 2);
  found.results.resize(shown);
  lesser.resize(std::min(lesser.size(), most - shown));
  std::ranges::move(lesser, std::back_inserter(found.results));
}

/// Reasons that both searches have are told once.
void add_counts(StrategySearch lesser, StrategySearch& found) {
  found.candidates += lesser.candidates;
  found.variations += lesser.variations;
  found.simulated += lesser.simulated;
  for (std::string& reason : lesser.left_out) {
    if (std::ranges::find(found.left_out, reason) == found.left_out.end()) {
      found.left_out.push_back(std::move(reason));
    }
  }
}

/// Where nothing fits, what needs least is shown, of the search that has it.
void add_search(StrategySearch lesser, std::size_t most, StrategySearch& found) {
  std::vector<StrategyResult> rows = std::move(lesser.results);
  if (found.found() && !rows.empty() && rows.front().fits) {
    add_lesser(std::move(rows), most, found);
  } else if (!found.found() && (found.results.empty() || (!rows.empty() && rows.front().fits))) {
    found.results = std::move(rows);
  }
  add_counts(std::move(lesser), found);
}

/// The kinds of training from `least` to `most`, as one search.
StrategySearch search_kinds(const SearchRequest& request, std::size_t least, std::size_t most,
                            Fleet& fleet) {
  StrategySearch found;
  const SearchOptions& options = request.options;
  Candidates candidates =
      candidates_for(request.run.plan, {request.gpus, options.global_batch, options.only, least,
                                        most, options.fixed, options.pipelines, options.assumed});
  found.left_out = std::move(candidates.left_out);
  found.candidates = candidates.runnable.size();
  for (const Candidate& each : candidates.runnable) {
    found.variations += each.variations.size();
  }
  BestFirst(request, std::move(candidates.runnable), fleet).run(found);
  return found;
}

}  // namespace

StrategySearch search_strategies(const SearchRequest& request) {
  Fleet threads;
  return search_strategies(request, threads);
}

StrategySearch search_strategies(const SearchRequest& request, Fleet& fleet) {
  StrategySearch found;
  if (request.options.most_given_up) {
    found = search_kinds(request, 0, *request.options.most_given_up, fleet);
  } else {
    found = search_kinds(request, 0, 0, fleet);
    if (std::ranges::none_of(found.results, stays_on_gpus)) {
      add_search(search_kinds(request, 1, training_kinds().size() - 1, fleet), request.options.rows,
                 found);
    }
  }
  found.global_batch =
      request.options.global_batch.value_or(usual_global_batch(request.run.plan, request.gpus));
  return found;
}

}  // namespace highwater
