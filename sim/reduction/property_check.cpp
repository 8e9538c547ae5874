#include "sim/reduction/property_check.hpp"

#include <algorithm>
#include <thread>

#include "sim/replay/parallel.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// Below this a replay takes less time than a thread needs to start.
constexpr std::size_t kWorthThreads = 20'000;

/// A program with pools that are ended and were never begun, for example, shows nothing.
std::optional<ReplayResult> result_of(const RequestTrace& trace, const ReplayOptions& options) {
  try {
    return replay(trace, options);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool fails_at_the_end(const RequestTrace& trace, const ReplayResult& result) {
  return !result.ooms.empty() && result.operations == trace.events.size();
}

}  // namespace

bool shows_property(const RequestTrace& trace, const PropertyCheck::Question& question) {
  ReplayOptions options = question.options;
  options.after_oom = AfterOom::stop;
  options.observer = nullptr;
  options.decisions = DecisionDetail::none;
  const std::optional<ReplayResult> result = result_of(trace, options);
  if (!result) {
    return false;
  }
  const auto* const failure = std::get_if<KeptFailure>(&question.property);
  return failure == nullptr
             ? is_shown_by(result->peak, question.property)
             : fails_at_the_end(trace, *result) &&
                   cause_of_first_failure(trace, options, question.device) == failure->cause;
}

PropertyCheck::PropertyCheck(const RequestTrace& trace, Question question)
    : question_(std::move(question)) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < cores; ++i) {
    workers_.emplace_back(trace);
  }
}

std::size_t PropertyCheck::affordable(std::span<const Program> programs) const {
  std::uint64_t left = question_.most_operations - operations_;
  std::size_t count = 0;
  while (count < programs.size() && programs[count].size() <= left) {
    left -= programs[count++].size();
  }
  return count;
}

std::optional<std::size_t> PropertyCheck::first_of(std::span<const Program> programs) {
  if (programs.empty() || programs.front().size() < kWorthThreads) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (shows_property(workers_.front().around(programs[i]), question_)) {
        return i;
      }
    }
    return std::nullopt;
  }
  std::vector<char> shown(programs.size());
  for_each_index(programs.size(), [&](std::size_t i) {
    shown[i] = shows_property(workers_[i].around(programs[i]), question_) ? 1 : 0;
  });
  const auto found = std::ranges::find(shown, 1);
  return found == shown.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(found - shown.begin()));
}

void PropertyCheck::count(std::span<const Program> tried) {
  programs_ += tried.size();
  for (const Program& program : tried) {
    operations_ += program.size();
  }
}

std::optional<std::size_t> PropertyCheck::first_that_shows(std::span<const Program> programs) {
  const std::size_t count_tried = affordable(programs);
  is_exhausted_ = is_exhausted_ || count_tried < programs.size();
  const auto found = first_of(programs.first(count_tried));
  count(programs.first(found ? *found + 1 : count_tried));
  return found;
}

}  // namespace highwater
