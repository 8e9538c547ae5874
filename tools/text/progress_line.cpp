#include "tools/text/progress_line.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

namespace highwater {
namespace {

std::atomic<ProgressView> g_view = ProgressView::terminal;

bool is_watched() {
  const ProgressView view = g_view;
  return view == ProgressView::shown || view == ProgressView::logged ||
         (view == ProgressView::terminal && ::isatty(STDERR_FILENO) == 1);
}

}  // namespace

void show_progress(ProgressView view) {
  g_view = view;
}

class ProgressLine::Writer {
 public:
  Writer(std::size_t total, std::string_view what, std::chrono::milliseconds first_after)
      : what_(what),
        first_after_(first_after),
        total_(total),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void set(std::size_t done, std::size_t total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total, std::memory_order_relaxed);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kThenEvery{250};
  static constexpr std::chrono::seconds kLoggedEvery{10};

  void run(const std::stop_token& stop) {
    const Clock::time_point begin = Clock::now();
    std::chrono::milliseconds pause = is_logged_ ? kLoggedEvery : first_after_;
    bool has_shown = false;
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
      write(Clock::now() - begin);
      pause = is_logged_ ? kLoggedEvery : kThenEvery;
      has_shown = !is_logged_;
    }
    if (has_shown) {
      std::cerr << kErase << std::flush;
    }
  }

  void write(Clock::duration since) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    const std::string text = progress_text(done_, total_, what_, static_cast<std::size_t>(seconds));
    std::cerr << (is_logged_ ? text + "\n" : std::string(kErase) + text) << std::flush;
  }

  static constexpr std::string_view kErase = "\r\x1b[K";

  std::string what_;
  std::chrono::milliseconds first_after_;
  bool is_logged_ = g_view == ProgressView::logged && ::isatty(STDERR_FILENO) == 0;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<std::size_t> total_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses the others
};

namespace {

/// Of a program by itself, and not of one that calls the commands as functions.
bool is_unwatched() {
  return g_view == ProgressView::terminal && ::isatty(STDERR_FILENO) == 0;
}

void tell_now_and_then(const std::stop_token& stop, const std::string& what, LongWork::Pace pace) {
  const auto begin = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  for (auto pause = pace.first_after;
       !stopped.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); });
       pause = pace.then_every) {
    const auto since = std::chrono::steady_clock::now() - begin;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since).count();
    std::cerr << fmt::format("highwater: {}, {} s\n", what, seconds) << std::flush;
  }
}

}  // namespace

LongWork::LongWork(std::string_view what, Pace pace) {
  if (is_unwatched()) {
    thread_ = std::jthread([pace, of = std::string(what)](const std::stop_token& stop) {
      tell_now_and_then(stop, of, pace);
    });
  }
}

ProgressLine::ProgressLine(std::size_t total, std::string_view what,
                           std::chrono::milliseconds first_after)
    : total_(total) {
  if (is_watched()) {
    writer_ = std::make_unique<Writer>(total, what, first_after);
  }
}

ProgressLine::~ProgressLine() = default;

void ProgressLine::show(std::size_t done, std::size_t total) const {
  if (writer_) {
    writer_->set(done, total);
  }
}

std::string progress_text(std::size_t done, std::size_t total, std::string_view what,
                          std::size_t seconds) {
  if (total == 0) {
    return done == 0 ? fmt::format("{}, {} s", what, seconds)
                     : fmt::format("{} {}, {} s", done, what, seconds);
  }
  return fmt::format("{} of {} {}, {} s", done, total, what, seconds);
}

}  // namespace highwater
