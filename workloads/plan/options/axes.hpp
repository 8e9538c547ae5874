// The kinds of axes that options set: flags, whole numbers, numbers, words of a table, and the same
// where a word stands for "absent". Each knows how to read its text and what to complain about.
//
// A member of the plan is named by its path (paths.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "workloads/plan/options/option.hpp"
#include "workloads/plan/options/paths.hpp"
#include "workloads/plan/options/words.hpp"

namespace highwater::axes {

/// Ranks on one axis: far above any real job, low enough that no product of a few overflows.
inline constexpr std::int64_t kMostRanks = 1 << 20;

/// A value that was read, or what is wrong with its text.
template <class Value>
struct Reading {
  std::optional<Value> value;
  Complaint complaint;
};

Reading<std::int64_t> read_whole(std::string_view text, const AllowedValues& range);
Reading<double> read_real(std::string_view text, const AllowedValues& range);
Reading<bool> read_flag(std::string_view text);
/// The position of `text` in the list.
Reading<std::size_t> read_word(std::string_view text, const AllowedValues& list);

/// "did you mean X? (known: ...)", or the list of what there is.
std::string remedy(std::string_view word, std::span<const std::string_view> known);

template <class Value, class Target>
Complaint assign(const Reading<Value>& reading, Target& target) {
  if (reading.value) {
    if constexpr (std::is_arithmetic_v<Target>) {
      target = static_cast<Target>(*reading.value);
    } else {
      target = *reading.value;
    }
  }
  return reading.complaint;
}

template <class Member>
constexpr OptionAxis flag() {
  return {AllowedWords{kWordList<kYesNo>},
          [](const TrainingPlan& plan) -> OptionValue { return Member::in(plan); },
          [](TrainingPlan& plan, std::string_view text, const AllowedValues&) {
            return assign(read_flag(text), Member::in(plan));
          }};
}

template <class Member>
constexpr OptionAxis whole(std::int64_t least, std::int64_t most) {
  return {WholeRange{least, most},
          [](const TrainingPlan& plan) -> OptionValue { return std::int64_t{Member::in(plan)}; },
          [](TrainingPlan& plan, std::string_view text, const AllowedValues& range) {
            return assign(read_whole(text, range), Member::in(plan));
          }};
}

/// `description` completes "give a number ...".
template <class Member>
constexpr OptionAxis real(double least, double most, std::string_view description) {
  return {RealRange{least, most, description},
          [](const TrainingPlan& plan) -> OptionValue { return Member::in(plan); },
          [](TrainingPlan& plan, std::string_view text, const AllowedValues& range) {
            return assign(read_real(text, range), Member::in(plan));
          }};
}

template <class Member, const auto& kWords>
constexpr OptionAxis word() {
  return {AllowedWords{kWordList<kWords>},
          [](const TrainingPlan& plan) -> OptionValue {
            return std::string(word_of(kWords, Member::in(plan)));
          },
          [](TrainingPlan& plan, std::string_view text, const AllowedValues& list) -> Complaint {
            const Reading<std::size_t> position = read_word(text, list);
            if (position.value) {
              Member::in(plan) = kWords.at(*position.value).value;
            }
            return position.complaint;
          }};
}

/// The positions of the words of `text`, which commas part; underscores stand for dashes.
Reading<std::vector<std::size_t>> read_words(std::string_view text, const AllowedValues& list);

/// A set of words of a table.
template <class Member, const auto& kWords>
constexpr OptionAxis words() {
  return {AllowedWords{kWordList<kWords>},
          [](const TrainingPlan& plan) -> OptionValue {
            std::string text;
            for (const auto& row : kWords) {
              if (Member::in(plan).contains(row.value)) {
                text += (text.empty() ? "" : ",") + std::string(row.word);
              }
            }
            return text;
          },
          [](TrainingPlan& plan, std::string_view text, const AllowedValues& list) -> Complaint {
            const auto positions = read_words(text, list);
            if (positions.value) {
              auto& set = Member::in(plan);
              set = {};
              for (const std::size_t position : *positions.value) {
                set.insert(kWords.at(position).value);
              }
            }
            return positions.complaint;
          }};
}

/// How an absent value is written: null in JSON and "none" in words, or a word in both.
enum class Absent : std::uint8_t { null, none, standard };

inline OptionValue absent_value(Absent absent) {
  return absent == Absent::null ? OptionValue(nullptr)
                                : OptionValue(absent == Absent::none ? "none" : "default");
}

/// `kRead` for all texts but the one that stands for an absent value.
template <class Member, Absent kAbsent, auto kRead>
Complaint set_optional(TrainingPlan& plan, std::string_view text, const AllowedValues& range) {
  if (text == option_text(absent_value(kAbsent))) {
    Member::in(plan).reset();
    return std::nullopt;
  }
  return assign(kRead(text, range), Member::in(plan));
}

template <class Member, Absent kAbsent>
OptionValue get_optional(const TrainingPlan& plan) {
  const auto& member = Member::in(plan);
  return member ? OptionValue(*member) : absent_value(kAbsent);
}

template <class Member, Absent kAbsent>
constexpr OptionAxis optional_real(double least, double most, std::string_view description) {
  return {RealRange{least, most, description}, get_optional<Member, kAbsent>,
          set_optional<Member, kAbsent, read_real>};
}

template <class Member, Absent kAbsent>
constexpr OptionAxis optional_whole(std::int64_t least, std::int64_t most) {
  return {WholeRange{least, most}, get_optional<Member, kAbsent>,
          set_optional<Member, kAbsent, read_whole>};
}

inline Reading<bool> read_optional_flag(std::string_view text, const AllowedValues& /*unused*/) {
  return read_flag(text);
}

template <class Member, Absent kAbsent>
constexpr OptionAxis optional_flag() {
  return {AllowedWords{kWordList<kYesNo>}, get_optional<Member, kAbsent>,
          set_optional<Member, kAbsent, read_optional_flag>};
}

}  // namespace highwater::axes
