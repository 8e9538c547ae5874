#include "sim/chance/ensemble.hpp"

#include <algorithm>
#include <cmath>

#include "sim/chance/stitched_run.hpp"
#include "traces/cancellation.hpp"

namespace highwater {
namespace {

constexpr double kGrowth = 1.15;  ///< of the distance between marks

/// Whether what was asked for would have fit beside what was allocated.
bool was_enough(const OutOfMemory& failure) {
  const Bytes limit = std::min(failure.allowed, failure.device_total);
  return failure.allocated + failure.rounded <= limit;
}

/// One run, step by step.
class OneRun {
 public:
  OneRun(PieceSource& source, const EnsembleOptions& options, std::size_t run)
      : source_(source),
        options_(options),
        marks_(marks_of(options.steps)),
        draws_(options, run),
        state_(options.memory) {}

  CountedRun carry_out() {
    for (std::size_t step = 0; step < options_.steps && !outcome_.failure; ++step) {
      stop_if_cancelled();
      const StepDraw& draw = draws_.next();
      pieces_.clear();
      if (step == 0) {
        pieces_.push_back(source_.before_steps(draw));
      }
      source_.add_pieces(step, draw, pieces_);
      carry_out_pieces(step);
      look(step + 1);
    }
    finish();
    return {std::move(outcome_), requests_};
  }

 private:
  void carry_out_pieces(std::size_t step) {
    for (const PiecePtr& piece : pieces_) {
      requests_ += piece->requests.size();
      if (!state_.carry_out(*piece)) {
        outcome_.failure = {step, was_enough(state_.allocator().last_out_of_memory())};
        return;
      }
    }
  }

  void look(std::size_t steps) {
    const std::size_t mark = outcome_.highest.size();
    if (mark < marks_.size() && marks_[mark] == steps) {
      note();
    }
  }

  void note() {
    outcome_.highest.push_back(state_.peak(Stat::reserved_bytes));
    outcome_.reserved.push_back(state_.reserved());
  }

  void finish() {
    while (outcome_.highest.size() < marks_.size()) {
      note();
    }
    outcome_.peak_reserved = state_.peak(Stat::reserved_bytes);
    outcome_.peak_allocated = state_.peak(Stat::allocated_bytes);
  }

  PieceSource& source_;
  const EnsembleOptions& options_;
  std::vector<std::size_t> marks_;
  StepDraws draws_;
  StitchedRun state_;
  DrawnRun outcome_;
  std::vector<PiecePtr> pieces_;
  std::uint64_t requests_ = 0;
};

}  // namespace

std::vector<std::size_t> marks_of(std::size_t steps) {
  std::vector<std::size_t> marks;
  for (double mark = 1; mark < static_cast<double>(steps);
       mark = std::max(std::floor(mark) + 1, mark * kGrowth)) {
    marks.push_back(static_cast<std::size_t>(mark));
  }
  marks.push_back(std::max<std::size_t>(steps / 2, 1));
  marks.push_back(steps);
  std::ranges::sort(marks);
  marks.erase(std::ranges::unique(marks).begin(), marks.end());
  return marks;
}

StepDraws::StepDraws(const EnsembleOptions& options, std::size_t run)
    : draws_(&options.draws),
      loads_(options.seed, run, Drawn::loads),
      draw_{.lengths = options.draws.fixed_lengths, .lag = options.draws.fixed_lag} {
  if (draws_->lengths) {
    lengths_.emplace(*draws_->lengths, draws_->batching,
                     RandomNumbers(options.seed, run, Drawn::lengths));
  }
  if (draws_->lags) {
    RandomNumbers numbers(options.seed, run, Drawn::lags);
    draw_.lag = draws_->lags->draw(numbers);
  }
}

const StepDraw& StepDraws::next() {
  if (lengths_) {
    draw_.lengths.clear();
    for (std::int64_t i = 0; i < draws_->batching.accumulation; ++i) {
      draw_.lengths.push_back(lengths_->next_batch());
    }
  }
  if (draws_->loads) {
    draw_.load = std::llround(100 * draws_->loads->draw_real(loads_));
  }
  return draw_;
}

CountedRun carry_out_run(PieceSource& source, const EnsembleOptions& options, std::size_t run) {
  return OneRun(source, options, run).carry_out();
}

}  // namespace highwater
