// One option of a training plan as data: what it is called, what --help says about it, which words
// or numbers it takes, and how it is read from and written into a plan.
//
// A plan's options are rows of this type (option_table.hpp). Everything that names an option walks
// the rows: command lines, --help, JSON, grids, sweeps, recordings and frameworks' defaults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace highwater {

struct TrainingPlan;

/// The headings of --help, in its order.
enum class OptionGroup : std::uint8_t {
  model,
  training,
  data_parallel,
  model_parallel,
  memory,
  output
};

inline constexpr std::array kOptionGroups{OptionGroup::model,         OptionGroup::training,
                                          OptionGroup::data_parallel, OptionGroup::model_parallel,
                                          OptionGroup::memory,        OptionGroup::output};

/// "Model and batches", "Data parallel", ...
std::string_view to_string(OptionGroup group);

/// Whether --help describes an option, or leaves that to --help-all.
enum class OptionUse : std::uint8_t { common, rare };

/// What a plan says on one axis. Absent (null) is "none" in words.
using OptionValue = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string,
                                 std::vector<std::int64_t>>;

/// As it is written on a command line.
std::string option_text(const OptionValue& value);

/// Which values an option takes: one of some words, ...
struct AllowedWords {
  std::span<const std::string_view> list;
};

/// ... a whole number, both ends included, ...
struct WholeRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// ... a number, both ends included, ...
struct RealRange {
  double least = 0;
  double most = 0;
  std::string_view description;  ///< "from 0 to 1"
};

/// ... or what its reader knows.
using AllowedValues = std::variant<std::monostate, AllowedWords, WholeRange, RealRange>;

/// What is wrong with a value, and what to write instead; absent if nothing is.
using Complaint = std::optional<std::string>;

/// Where a plan keeps an option's value.
struct OptionAxis {
  AllowedValues allowed;
  OptionValue (*get)(const TrainingPlan& plan) = nullptr;
  /// Leaves the plan as it was where it complains.
  Complaint (*set)(TrainingPlan& plan, std::string_view text,
                   const AllowedValues& allowed) = nullptr;
};

struct Option {
  std::string_view name;  ///< without dashes
  std::string_view
      value;  ///< what --help calls the value; empty: a flag, "true" if it stands alone
  OptionGroup group;
  OptionUse use;
  std::string_view help;    ///< one line
  std::string_view source;  ///< of the default: release, file, name
  OptionAxis axis;
  std::string_view more = {};          ///< further sentences of --help-all
  std::string_view default_text = {};  ///< where the value of a new plan says too little
  bool can_stand_alone = false;        ///< without a value it means "true", as a flag does

  [[nodiscard]] constexpr bool is_flag() const { return value.empty(); }

  /// The value in `plan`; empty if the plan leaves it to the model (--lora-targets).
  [[nodiscard]] std::string text(const TrainingPlan& plan) const {
    return option_text(axis.get(plan));
  }

  /// @throws InputError when a model's file cannot be read
  [[nodiscard]] Complaint set(TrainingPlan& plan, std::string_view text) const {
    return axis.set(plan, text, axis.allowed);
  }

  /// The same row with more to say.
  [[nodiscard]] constexpr Option and_more(std::string_view sentences) const {
    Option row = *this;
    row.more = sentences;
    return row;
  }

  /// The same row, which means "true" when it stands alone.
  [[nodiscard]] constexpr Option or_alone() const {
    Option row = *this;
    row.can_stand_alone = true;
    return row;
  }

  [[nodiscard]] constexpr Option with_default(std::string_view text) const {
    Option row = *this;
    row.default_text = text;
    return row;
  }
};

}  // namespace highwater
