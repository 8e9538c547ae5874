// How far long work has come, on standard error and only where a person looks at it.
//
// Work that takes less than a second shows nothing. A thread of its own writes the line, so that
// work which cannot be counted shows at least for how long it has been going on, and counting costs
// no more than a store.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace highwater {

/// Who sees progress: as a rule a person at a terminal. A program that calls the commands as
/// functions says for itself. A log, of a batch job for instance, gets a line now and then.
enum class ProgressView { terminal, hidden, shown, logged };

/// For every ProgressLine from now on.
void show_progress(ProgressView view);

/// "12 of 300 cases, 4 s", overwritten in place and removed at the end; nothing unless standard
/// error is a terminal.
class ProgressLine {
 public:
  static constexpr std::chrono::milliseconds kFirstAfter{1000};

  /// `what` is what is counted, as in "cases".
  ProgressLine(std::size_t total, std::string_view what,
               std::chrono::milliseconds first_after = kFirstAfter);

  /// Work that is not counted, as in "replaying"; or how much there is comes with each show(), 0
  /// where it is unknown.
  explicit ProgressLine(std::string_view what) : ProgressLine(0, what) {}

  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void show(std::size_t done) const { show(done, total_); }

  void show(std::size_t done, std::size_t total) const;

 private:
  class Writer;

  std::size_t total_;
  std::unique_ptr<Writer> writer_;  ///< none where nobody looks
};

/// Says on standard error that work goes on which can take many minutes, where nobody watches its
/// progress: a log that stays empty looks like a program that hangs.
class LongWork {
 public:
  struct Pace {
    std::chrono::milliseconds first_after{30'000};
    std::chrono::milliseconds then_every{60'000};
  };

  explicit LongWork(std::string_view what) : LongWork(what, Pace{}) {}

  LongWork(std::string_view what, Pace pace);

 private:
  std::jthread thread_;
};

/// The result of `work`, which shows as `what` while it goes on.
template <class Work>
auto with_progress(std::string_view what, const Work& work) {
  const ProgressLine progress(what);
  return work();
}

/// "12 of 300 cases, 4 s"; without a total "12 cases, 4 s", and "replaying, 4 s" without a count.
std::string progress_text(std::size_t done, std::size_t total, std::string_view what,
                          std::size_t seconds);

}  // namespace highwater
