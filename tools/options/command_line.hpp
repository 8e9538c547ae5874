// The command line's shared parts: option types, usage errors, output formats.
//
// Every command parses its options into a plain struct and works on that struct alone, so tests
// can call it without a process.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>

#include "tools/text/output_format.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"
#include "traces/units.hpp"

namespace highwater {

using Arguments = std::vector<std::string>;

/// Exit codes of the program (design, section 5).
enum class ExitCode : int { ok = 0, exceeded = 1, usage = 2, bad_input = 3, internal = 4 };

/// One command: `highwater NAME ...`.
struct Command {
  std::string_view name;
  std::string_view arguments;    ///< after the name, for the usage line
  std::string_view description;  ///< one line
  std::string_view example;
  ExitCode (*run)(const Arguments& arguments, std::ostream& out);
};

/// Thrown for --help: not an error, the text goes to standard output.
struct HelpRequested {
  std::string text;
};

/// The options of one command and how they are read.
class OptionParser {
 public:
  explicit OptionParser(const Command& command);

  boost::program_options::options_description_easy_init add() { return options_.add_options(); }

  /// Arguments without a dash, by name; `max` -1 = any number.
  void positional(const char* name, int max);

  /// Lines of their own below what --help says about `option`: its default and where that is from.
  void note(const std::string& option, std::vector<std::string> lines) {
    notes_[option] = std::move(lines);
  }

  /// Names of all options, without dashes, in the order of --help.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Adds --format.
  void add_format();

  /// @throws UsageError naming option and value; HelpRequested for --help.
  boost::program_options::variables_map parse(const Arguments& arguments) const;

  /// Every option but the positional ones, without dashes.
  [[nodiscard]] std::vector<std::string> option_names() const;

 private:
  [[nodiscard]] std::string help() const;

  const Command* command_;
  boost::program_options::options_description options_;
  boost::program_options::options_description hidden_;
  std::map<std::string, std::vector<std::string>> notes_;
  boost::program_options::positional_options_description positional_;
};

OutputFormat output_format(const boost::program_options::variables_map& values);

/// The size given for `option`, if it was given. @throws UsageError when it is no size.
std::optional<Bytes> size_option(const boost::program_options::variables_map& values,
                                 const std::string& option);

/// The text given for `option`, if it was given.
std::optional<std::string> text_option(const boost::program_options::variables_map& values,
                                       const std::string& option);

/// The word of `known` that `word` was probably meant to be.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

}  // namespace highwater
