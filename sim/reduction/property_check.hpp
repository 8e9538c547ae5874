// Tries programs: does one still show the property?
//
// Each trial is a replay. Long programs are tried on all cores; what is found, and how much work is
// counted, is what trying one after the other would give. When the work allowed is done, nothing
// shows the property any more, so that every search ends with the best program so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "sim/reduction/kept_property.hpp"
#include "sim/reduction/program.hpp"
#include "sim/replay/replay.hpp"

namespace highwater {

class PropertyCheck {
 public:
  struct Question {
    ReplayOptions options;
    DeviceKnowledge device;
    KeptProperty property;
    std::uint64_t most_operations = 0;  ///< replayed in all
  };

  /// `trace` lends its header, streams, pools and settings.
  PropertyCheck(const RequestTrace& trace, Question question);

  /// The first of `programs`, at most offered(), that shows the property.
  std::optional<std::size_t> first_that_shows(std::span<const Program> programs);

  bool shows(const Program& program) { return first_that_shows({&program, 1}).has_value(); }

  /// How many programs are tried at the same time.
  [[nodiscard]] std::size_t offered() const { return workers_.size(); }

  [[nodiscard]] std::uint64_t programs() const { return programs_; }

  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  [[nodiscard]] bool is_exhausted() const { return is_exhausted_; }

 private:
  /// How many of `programs` may still be tried.
  std::size_t affordable(std::span<const Program> programs) const;
  std::optional<std::size_t> first_of(std::span<const Program> programs);
  void count(std::span<const Program> tried);

  Question question_;
  std::deque<TraceShell> workers_;
  std::uint64_t programs_ = 0;
  std::uint64_t operations_ = 0;
  bool is_exhausted_ = false;
};

/// Whether `trace` shows the property of `question` at its end.
bool shows_property(const RequestTrace& trace, const PropertyCheck::Question& question);

}  // namespace highwater
