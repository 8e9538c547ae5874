#include "sim/scaling/reduction_workspaces.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace highwater {
namespace {

using Terms = std::vector<SizeTerm>;

/// How far back the summed block is looked for among the live ones.
constexpr std::size_t kMostLive = 256;

/// `terms` times `factor`; nothing where numbers overflow.
std::optional<Terms> scaled(Terms terms, const Fraction& factor) {
  for (SizeTerm& term : terms) {
    const Fraction product = Fraction(term.numerator, term.denominator) * factor;
    if (!product.fits_64()) {
      return std::nullopt;
    }
    term.numerator = static_cast<std::int64_t>(product.numerator());
    term.denominator = static_cast<std::int64_t>(product.denominator());
  }
  return terms;
}

void add_constant(Terms& terms, const Fraction& constant, std::size_t integers) {
  const auto is_constant = [](const SizeTerm& term) {
    return std::ranges::all_of(term.exponents, [](std::uint8_t power) { return power == 0; });
  };
  auto place = std::ranges::find_if(terms, is_constant);
  if (place == terms.end()) {
    place = terms.insert(place, SizeTerm{Exponents(integers, 0), 0, 1});
  }
  const Fraction sum = Fraction(place->numerator, place->denominator) + constant;
  place->numerator = static_cast<std::int64_t>(sum.numerator());
  place->denominator = static_cast<std::int64_t>(sum.denominator());
}

/// Whether it is a sum of products and nothing else.
bool is_plain(const SizeFormula& formula) {
  return formula.basis != FormulaBasis::estimated && formula.unit == 1 && formula.factor.empty() &&
         !formula.least && !formula.most && formula.presence.empty();
}

/// A workspace, and the result that was asked for before it.
struct ReductionRequests : WorkspacePair {
  std::optional<std::uint32_t> result;
};

/// What explains a pair.
struct Explanation {
  WorkspaceLaw law;
  Terms values;  ///< the length of a sum
  FormulaBasis basis = FormulaBasis::confirmed;
  std::size_t points = 0;  ///< recordings that it explains
};

class WorkspaceFinder {
 public:
  WorkspaceFinder(const RunSide& base, std::size_t point, const std::vector<SizeSamples>& samples,
                  const ReductionWays& ways, SizeFitter& fitter)
      : base_(base), point_(point), samples_(samples), ways_(ways), fitter_(fitter) {}

  FoundWorkspaces run() {
    for (std::size_t i = 0; i < base_.requests.size(); ++i) {
      if (const auto pair = reduction_at(i)) {
        explain(*pair);
      }
      const ComparedRequest& request = base_.requests[i];
      if (request.is_alloc) {
        live_.insert(request.ordinal);
      } else {
        live_.erase(request.ordinal);
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::optional<ReductionRequests> reduction_at(std::size_t i) const {
    const auto pair = workspace_at(base_.requests, i);
    if (!pair || !is_constant(pair->counters)) {
      return std::nullopt;
    }
    const bool follows_alloc = i > 0 && base_.requests[i - 1].is_alloc;
    return ReductionRequests{
        *pair, follows_alloc ? std::optional(base_.requests[i - 1].ordinal) : std::nullopt};
  }

  [[nodiscard]] Bytes size_of(std::uint32_t ordinal) const { return *samples_[ordinal][point_]; }

  [[nodiscard]] bool is_constant(std::uint32_t ordinal) const {
    return std::ranges::all_of(samples_[ordinal], [&](const std::optional<Bytes>& sample) {
      return !sample || *sample == size_of(ordinal);
    });
  }

  void explain(const ReductionRequests& pair) {
    for (std::size_t way = 0; way < ways_.size(); ++way) {
      if (const auto explanation = explain_by(pair, way)) {
        add(pair, *explanation);
        return;
      }
    }
    if (!is_constant(pair.buffer)) {
      found_.unexplained.push_back(pair.buffer);
    }
  }

  /// One result has one counter, and may have been asked for earlier.
  [[nodiscard]] std::optional<std::uint64_t> results_of(const ReductionRequests& pair,
                                                        const ReductionWay& way) const {
    if (way.is_whole) {
      return size_of(pair.counters) == Bytes{4} ? std::optional<std::uint64_t>(1) : std::nullopt;
    }
    if (!pair.result || !is_constant(*pair.result)) {
      return std::nullopt;
    }
    const std::uint64_t bytes = size_of(*pair.result).count();
    return bytes % way.output_item == 0 ? std::optional(bytes / way.output_item) : std::nullopt;
  }

  /// By the live block whose sizes fit in most recordings, the latest of these; not confirmed where
  /// another one of these says otherwise.
  std::optional<Explanation> explain_by(const ReductionRequests& pair, std::size_t way) {
    const auto results = results_of(pair, ways_[way]);
    std::optional<Explanation> best;
    std::size_t seen = 0;
    for (auto block = live_.rbegin(); results && block != live_.rend() && seen < kMostLive;
         ++block, ++seen) {
      auto explanation = explain_by_block(pair, way, *results, *block);
      if (explanation && (!best || best->points < explanation->points)) {
        best = std::move(explanation);
      } else if (explanation && explanation->points == best->points &&
                 explanation->values != best->values) {
        best->basis = FormulaBasis::determined;
      }
    }
    return best;
  }

  std::optional<Explanation> explain_by_block(const ReductionRequests& pair, std::size_t way,
                                              std::uint64_t results, std::uint32_t block) {
    const std::uint64_t row = results * ways_[way].input_item;
    const std::uint64_t bytes = size_of(block).count();
    if (row == 0 || bytes % row != 0) {
      return std::nullopt;
    }
    const std::optional<WorkspaceLaw>& law = law_of(way, bytes / row, results);
    const std::size_t points = law ? explained_points(pair, *law, block, row) : 0;
    if (points == 0) {
      return std::nullopt;
    }
    const SizeFormula& summed = fitter_.fit(samples_[block]);
    auto values = scaled(summed.terms, Fraction(1, static_cast<WideInteger>(row)));
    if (!is_plain(summed) || !values) {
      return std::nullopt;
    }
    const bool is_confirmed = points > 1 && summed.basis == FormulaBasis::confirmed;
    return Explanation{*law, std::move(*values),
                       is_confirmed ? FormulaBasis::confirmed : FormulaBasis::determined, points};
  }

  const std::optional<WorkspaceLaw>& law_of(std::size_t way, std::uint64_t values,
                                            std::uint64_t results) {
    const auto [law, is_new] = laws_.try_emplace({way, values, results});
    if (is_new) {
      law->second = ways_[way].law(values, results);
    }
    return law->second;
  }

  /// The number of recordings whose workspace, or lack of it, is what the law says; 0 if one is
  /// not.
  [[nodiscard]] std::size_t explained_points(const ReductionRequests& pair, const WorkspaceLaw& law,
                                             std::uint32_t block, std::uint64_t row) const {
    std::size_t explained = 0;
    for (std::size_t i = 0; i < samples_[block].size(); ++i) {
      if (!samples_[block][i]) {
        continue;
      }
      const std::uint64_t bytes = samples_[block][i]->count();
      const std::uint64_t values = bytes / row;
      const auto& buffer = samples_[pair.buffer][i];
      const bool is_right = values < law.fewest_values
                                ? !buffer
                                : buffer && *buffer == law.buffer(values) &&
                                      samples_[pair.counters][i] == law.semaphores;
      if (bytes % row != 0 || !is_right) {
        return 0;
      }
      ++explained;
    }
    return explained;
  }

  void add(const ReductionRequests& pair, const Explanation& explanation) {
    const WorkspaceLaw& law = explanation.law;
    const auto as_wide = [](std::uint64_t number) { return static_cast<WideInteger>(number); };
    auto blocks = scaled(explanation.values, Fraction(1, as_wide(law.values_per_block)));
    auto presence = scaled(explanation.values, Fraction(1, as_wide(law.fewest_values)));
    if (!blocks || !presence) {
      return;
    }
    const std::size_t integers = explanation.values.front().exponents.size();
    add_constant(*blocks,
                 Fraction(as_wide(law.values_per_block) - 1, as_wide(law.values_per_block)),
                 integers);
    SizeFormula buffer;
    buffer.terms = std::move(*blocks);
    buffer.unit = law.unit.count();
    buffer.most = Bytes{law.unit.count() * law.most_blocks};
    buffer.resume = law.resume;
    buffer.presence = *presence;
    buffer.basis = explanation.basis;
    put(pair.buffer, std::move(buffer));
    SizeFormula semaphores;
    semaphores.terms = {
        {Exponents(integers, 0), static_cast<std::int64_t>(law.semaphores.count()), 1}};
    semaphores.presence = std::move(*presence);
    semaphores.basis = explanation.basis;
    put(pair.counters, std::move(semaphores));
  }

  void put(std::uint32_t ordinal, SizeFormula formula) {
    for (const std::optional<Bytes>& sample : samples_[ordinal]) {
      formula.largest_recorded = std::max(formula.largest_recorded, sample.value_or(Bytes{}));
    }
    found_.formulas.emplace(ordinal, std::move(formula));
  }

  const RunSide& base_;
  std::size_t point_;
  const std::vector<SizeSamples>& samples_;
  const ReductionWays& ways_;
  SizeFitter& fitter_;
  std::set<std::uint32_t> live_;  ///< ordinals: the latest last
  std::map<std::tuple<std::size_t, std::uint64_t, std::uint64_t>, std::optional<WorkspaceLaw>>
      laws_;
  FoundWorkspaces found_;
};

}  // namespace

Bytes WorkspaceLaw::buffer(std::uint64_t values) const {
  const auto parts = [](std::uint64_t number, std::uint64_t size) {
    return size == 0 ? 0 : (number + size - 1) / size;
  };
  const std::uint64_t wanted = parts(values, values_per_block);
  const std::uint64_t blocks = std::max(std::min(wanted, most_blocks), parts(wanted, resume));
  return Bytes{unit.count() * blocks};
}

FoundWorkspaces find_workspaces(const RunSide& base, std::size_t point,
                                const std::vector<SizeSamples>& samples, const ReductionWays& ways,
                                SizeFitter& fitter) {
  return WorkspaceFinder(base, point, samples, ways, fitter).run();
}

}  // namespace highwater
