// The words of the command line as data: every command with its options and their values, from the
// same tables that --help prints. Completions and the manual page are made from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace highwater {

struct OptionWordsOf {
  std::string name;                ///< without dashes
  std::string value;               ///< what --help calls the value; empty: takes none
  std::string help;                ///< one line
  std::vector<std::string> words;  ///< that the value may be; empty: any, or a file
};

struct CommandWords {
  std::string_view name;
  std::string_view arguments;  ///< after the name, for the usage line
  std::string_view description;
  std::string_view example;
  std::vector<OptionWordsOf> options;
};

/// The words that the value of an option may be: those of a plan's option, the names of models and
/// GPUs, output formats. Empty where others are possible, too.
std::vector<std::string> value_words(std::string_view option);

}  // namespace highwater
