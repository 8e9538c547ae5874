// What training gives up to fit: the tiers by which `plan` orders rows before it looks at time.
//
// A kind of training is a row of a table: a new one (8-bit states, 4-bit weights) is a new row at
// the place in the order that belongs to it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace highwater {

struct TrainingPlan;

/// Who keeps fp32 values of 16-bit parameters for a strategy.
enum class WideStates : std::uint8_t {
  autocast,  ///< the parameters are fp32, operators cast them
  sharded,   ///< the shards are fp32, gathered in 16 bits
  engine     ///< the program's optimizer has copies, whatever is asked
};

struct TrainingKind {
  std::string_view word;      ///< of --allow
  std::string_view states;    ///< as the table says
  std::string_view gives_up;  ///< for people; empty: nothing
  /// Whether it is another kind than those before it, for this plan and strategy.
  bool (*applies)(const TrainingPlan& plan, WideStates states);
  void (*apply)(TrainingPlan& plan, WideStates states);
};

/// From what gives up nothing on.
std::span<const TrainingKind> training_kinds();

/// Index of the kind that --allow names; absent if there is none.
std::optional<std::size_t> find_training_kind(std::string_view word);

/// LoRA's rank of the kind that trains adapters: the paper's experiments use 1 to 64, and PEFT's
/// examples 16.
inline constexpr int kAdapterRank = 16;

}  // namespace highwater
