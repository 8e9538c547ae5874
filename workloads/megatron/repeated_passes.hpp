// The passes of a pipeline stage that ask for what the pass before them asked for, written down
// instead of carried out.
//
// Between the first and the last micro-batch of a step, the forward passes of a model chunk make
// the same requests, and so do its backward passes. The first three micro-batches are carried out;
// if the second and the third did alike in each pass, event for event, the pattern is written for
// all that follow but the last one, which reduces gradients. In a later step the first micro-batch
// is carried out, and if it did what the pattern of the step before says, this goes on. What a pass
// refers to is told by where it comes from: the pass itself, the micro-batch's forward pass, its
// received tensors, or what is older than the step and stays.
//
// tests/workloads/training/repeated_passes_test.cpp compares whole traces with those of every pass
// carried out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/eager/tensor.hpp"

namespace highwater::megatron {

/// Thrown where a backward pass shows that it cannot be repeated, after forward passes were: the
/// run has to carry out each pass.
struct PassesDiffer {};

enum class Pass : std::uint8_t { forward, backward };

/// A micro-batch in a model chunk, as far as its passes refer to it.
struct PassUnit {
  int chunk = 0;
  int micro_batch = 0;
  const eager::Tensor* input = nullptr;
  const eager::Tensor* output = nullptr;
  const eager::Tensor* gradient = nullptr;
};

class RepeatedPasses {
 public:
  RepeatedPasses(eager::Runtime& runtime, int chunks, int micro_batches);

  /// The first micro-batch whose passes may be written down in the first step.
  static constexpr int kFirst = 3;

  /// Patterns are learned anew or confirmed: gradients may be other blocks.
  void begin_step();

  /// Whether both passes of all chunks are written down from now on.
  [[nodiscard]] bool are_learned() const;

  /// Adds what the unit holds of blocks: its tensors', or no allocation where they have none, and
  /// what its forward pass left. @pre its forward pass, if it had one, was written down
  void add_held(const PassUnit& unit, std::vector<AllocationId>& held) const;

  /// The micro-batch is called `later` from here on.
  void rename(const PassUnit& unit, int later);

  /// Whether the pass may be written down. @throws PassesDiffer
  [[nodiscard]] bool may_repeat(Pass pass, const PassUnit& unit) const;

  /// Writes the pass's requests and returns its result. @pre may_repeat()
  eager::Tensor repeat(Pass pass, const PassUnit& unit);

  /// Before and after a pass that is carried out.
  void begin();
  void end(Pass pass, const PassUnit& unit, const eager::Tensor& result);

  /// The unit's output is about to give up its block. If the graph holds it as well, nothing is
  /// repeated.
  void before_release(const PassUnit& unit);

 private:
  /// Where an allocation comes from that an event refers to; its number counts from there.
  enum class Origin : std::uint8_t { pass, forward, input, output, gradient, older };

  struct PatternEvent {
    Event event;
    Origin origin = Origin::older;

    bool operator==(const PatternEvent&) const = default;
  };

  /// What the received tensors' blocks and the output's are for.
  using Labels = std::array<std::optional<Category>, 3>;

  struct Pattern {
    std::vector<PatternEvent> events;
    Labels labels;  ///< after the pass
    std::uint32_t allocations = 0;
    std::optional<std::uint32_t> result;  ///< its allocation, counted from the pass's first

    bool operator==(const Pattern&) const = default;
  };

  /// What is known of the passes of one kind in one chunk.
  struct Known {
    std::optional<Pattern> second;
    std::optional<Pattern> third;
    eager::Tensor result;             ///< without a block: its shape
    std::vector<std::uint32_t> kept;  ///< allocations of the third that it does not free itself

    [[nodiscard]] bool is_pattern() const { return third && second == third; }
  };

  /// The events of one pass.
  struct Span {
    std::size_t begin = 0;
    std::size_t first = 0;  ///< allocation
    std::size_t allocations = 0;
    bool is_written = false;  ///< not carried out: there is no graph
  };

  [[nodiscard]] bool is_middle(int micro_batch) const {
    return micro_batch > 0 && micro_batch + 1 < micro_batches_;
  }

  [[nodiscard]] const Span& forward_of(const PassUnit& unit) const {
    return forwards_[place_of(unit)];
  }

  [[nodiscard]] const Known& known(Pass pass, int chunk) const {
    return known_[static_cast<std::size_t>(pass)][static_cast<std::size_t>(chunk)];
  }

  [[nodiscard]] std::size_t place_of(const PassUnit& unit) const;
  [[nodiscard]] PatternEvent placed(const Event& event, const Span& own,
                                    const PassUnit& unit) const;
  [[nodiscard]] std::size_t start_of(Origin origin, const Span& own, const PassUnit& unit) const;
  [[nodiscard]] Pattern pattern(const PassUnit& unit, const eager::Tensor& result) const;
  [[nodiscard]] static std::vector<std::uint32_t> kept_of(const Pattern& pattern);
  [[nodiscard]] eager::Tensor adopted(const Known& known, const Span& own);
  void write(const Pattern& pattern, const Span& own, const PassUnit& unit);

  eager::Runtime& runtime_;
  int micro_batches_;
  bool is_possible_;
  std::array<std::vector<Known>, 2> known_;    ///< by pass and chunk
  std::array<std::vector<Known>, 2> earlier_;  ///< in the step before
  std::vector<Span> forwards_;                 ///< by chunk and micro-batch
  Span current_;
};

}  // namespace highwater::megatron
