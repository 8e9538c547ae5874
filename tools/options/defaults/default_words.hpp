// Options that a user's own file gives to every command line: config.toml.
//
//   gpu = "h100-80"          # a run to come is on this GPU unless its command line says another
//   [plan]
//   gpus = 8                 # of highwater plan alone
//
// A word of the file is a default: an option of the command line wins, and so does what --from
// found. A recording was made as it was made, so options of a plan and of memory are for plans;
// `gpu` and the settings of memory below a command's own name are for its files as well. A run in
// parts takes none, since its machines may have other files. The commands as functions (the Python
// module, tests) have none either: scripts say what they mean.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/program_options/variables_map.hpp>

namespace highwater {

/// One line of the file.
struct DefaultWord {
  std::string command;              ///< whose it is; empty: any command's that has the option
  std::string option;               ///< without dashes
  std::vector<std::string> values;  ///< one, or the items of a list
  std::size_t line = 0;
};

struct DefaultWords {
  std::string file;
  std::vector<DefaultWord> words;
};

/// $HIGHWATER_CONFIG, else highwater/config.toml below $XDG_CONFIG_HOME or ~/.config (XDG Base
/// Directory Specification). Empty where HIGHWATER_CONFIG is set and empty, or no home is known.
std::filesystem::path default_words_path();

/// Empty if the file does not exist. @throws InputError with the line
DefaultWords read_default_words(const std::filesystem::path& path);

/// "config.toml: line 3: gpuu: ...". @throws InputError
[[noreturn]] void refuse_default_word(const DefaultWords& defaults, const DefaultWord& word,
                                      const std::string& problem, const std::string& remedy);

/// They count for every command line that is parsed from now on.
void use_default_words(DefaultWords defaults);

/// Those in use that a command line of `command` takes beside `values`, which it was given.
std::vector<DefaultWord> default_words_beside(const boost::program_options::variables_map& values,
                                              std::string_view command);

/// `word` went into a command line.
void note_taken(const DefaultWord& word);

/// "FILE gives --gpu h100-80, --gpus 8", of what was taken and is not told yet; empty: nothing.
std::string untold_default_words();

/// `problem` with "(--gpu h100-8 is from FILE, line 3)" behind it where it is about such a word.
std::string with_its_default(std::string problem);

}  // namespace highwater
