// What users of other programs call a plan's options and values, as data: names of options, words
// for values, and options and values that they know but that are not modelled.
//
// Aliases exist only in what users write: reports, JSON and plans in words have the table's own.
// Names and words are kept with dashes; underscores stand for dashes in what is looked up.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "workloads/plan/options/option_table.hpp"

namespace highwater {

/// Another name of an option.
struct OptionAlias {
  std::string_view name;        ///< without leading dashes
  std::string_view option;      ///< the row of the option table
  std::string_view value = {};  ///< the alias is a flag that means this value (--bf16)
};

/// Another word for a value of `option`, which may say something about a second option, too.
struct ValueAlias {
  std::string_view option;
  std::string_view text;
  std::string_view word;
  std::string_view second_option = {};
  std::string_view second_word = {};
};

std::span<const OptionAlias> option_aliases();
std::span<const ValueAlias> value_aliases();

/// Underscores as dashes, letters in lower case.
std::string alias_key(std::string_view text);

/// The alias called `name`, or nullptr.
const OptionAlias* find_alias(std::string_view name);

/// What to do in the place of the option `name` of another program, which plans do not have.
std::optional<std::string_view> instead_of(std::string_view name);

/// `given` in the table's own words. What a word says about a second option does not replace what
/// is given for it.
OptionWords in_own_words(const OptionWords& given);

/// "known, but not modelled yet; ..." if `text` is a value of `option` in other programs.
std::optional<std::string> not_modelled(std::string_view option, std::string_view text);

}  // namespace highwater
