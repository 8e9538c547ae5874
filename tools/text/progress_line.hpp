// How far long work has come, on standard error and only where a person looks at it.
#pragma once

#include <cstddef>
#include <string_view>

namespace highwater {

/// "12 of 300 cases", overwritten in place and removed at the end; nothing unless standard error
/// is a terminal.
class ProgressLine {
 public:
  /// `what` is a literal: "cases".
  ProgressLine(std::size_t total, std::string_view what);

  /// How many there are is told with each show().
  explicit ProgressLine(std::string_view what) : ProgressLine(0, what) {}

  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  /// One call at a time.
  void show(std::size_t done) const { show(done, total_); }

  void show(std::size_t done, std::size_t total) const;

 private:
  std::size_t total_;
  std::string_view what_;
  bool is_shown_;
};

}  // namespace highwater
