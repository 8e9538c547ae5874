// The command line's shared parts: option types, usage errors, output formats.
//
// Every command parses its options into a plain struct and works on that struct alone, so tests
// can call it without a process.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>

#include "tools/options/argument_names.hpp"
#include "tools/text/help_text.hpp"
#include "tools/text/output_format.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "traces/units.hpp"
#include "workloads/plan/options/option.hpp"

namespace highwater {

using Arguments = std::vector<std::string>;

/// Exit codes of the program.
enum class ExitCode : int { ok = 0, exceeded = 1, usage = 2, bad_input = 3, internal = 4 };

/// Whether `merge` may carry out a command that the parts of a run name.
enum class Merging : bool { refused, allowed };

/// The headings of `highwater --help`, in its order.
enum class CommandGroup { plans, recordings, either, files, checks };

/// One command: `highwater NAME ...`.
struct Command {
  std::string_view name;
  std::string_view arguments;    ///< after the name, for the usage line
  std::string_view description;  ///< one line
  std::string_view example;
  ExitCode (*run)(const Arguments& arguments, std::ostream& out);
  CommandGroup group = CommandGroup::checks;
  Merging merging = Merging::refused;
};

/// An option of a command, for completions, the manual page, and tests that try all of them.
struct OptionSummary {
  std::string name;
  std::string value = {};  ///< what --help calls it; empty: takes none
  std::string help = {};   ///< one line
  bool has_value = false;
  bool is_output = false;  ///< its value is a file to write (output_option.hpp)
};

/// Thrown for --help: not an error, the text goes to standard output.
struct HelpRequested {
  std::string text;
  std::vector<OptionSummary> options = {};
};

/// What --help says about an option beside its name.
struct OptionHelp {
  OptionUse use = OptionUse::common;
  /// What --help-all says instead, in paragraphs; empty: the same. Made only for --help-all, as
  /// some of it takes longer than most commands.
  std::function<std::vector<std::string>()> full = {};
};

/// The options of one command and how they are read.
class OptionParser {
 public:
  explicit OptionParser(const Command& command);

  /// The options that follow stand under `group`'s heading, if --help has headings.
  boost::program_options::options_description_easy_init add(
      OptionGroup group = OptionGroup::output);

  /// Arguments without a dash, by name; `max` -1 = any number.
  void positional(const char* name, int max);

  /// `name` is another name of an option.
  void alias(std::string_view name, ArgumentMeaning meaning) {
    aliases_.emplace(name, std::move(meaning));
  }

  /// Paragraphs of their own below what --help says about `option`.
  void note(const std::string& option, std::vector<std::string> paragraphs) {
    notes_[option] = std::move(paragraphs);
  }

  /// What --help and --help-all say about `option`, where its description is not all.
  void describe(const std::string& option, OptionHelp help) { help_[option] = std::move(help); }

  /// Adds --help-all, which says everything; --help then has headings and leaves out rare options,
  /// sources and aliases.
  void add_help_all();

  /// Adds --format.
  void add_format();

  /// --from does not set `options`, which the command chooses itself; with a `trigger`, only if
  /// that option is given.
  void choose(const std::string& trigger, const std::vector<std::string>& options) {
    for (const std::string& option : options) {
      chosen_.emplace(trigger, option);
    }
  }

  /// @throws UsageError naming option and value; HelpRequested for --help.
  boost::program_options::variables_map parse(const Arguments& arguments) const;

  /// Every option but the positional ones, without dashes.
  [[nodiscard]] std::vector<std::string> option_names() const;

 private:
  enum class HelpDetail { common, all };

  struct GroupStart {
    std::size_t first = 0;  ///< position among the options
    OptionGroup group = OptionGroup::output;
  };

  [[nodiscard]] std::string help(HelpDetail detail) const;
  [[nodiscard]] std::vector<OptionSummary> summaries() const;
  [[nodiscard]] std::string grouped_help(HelpDetail detail) const;
  [[nodiscard]] std::string group_help(OptionGroup group, HelpDetail detail) const;
  [[nodiscard]] OptionGroup group_of(std::size_t position) const;
  [[nodiscard]] bool is_rare(const boost::program_options::option_description& option) const;

  /// Adds what --from has found to what was given.
  void add_source(const boost::program_options::parsed_options& given,
                  boost::program_options::variables_map& values) const;
  /// Adds what the user's own defaults say beside all that.
  void add_defaults(boost::program_options::variables_map& values) const;
  [[nodiscard]] bool takes_from_source(const std::string& option,
                                       const boost::program_options::variables_map& values) const;

  /// Of an option that the command does not have.
  [[nodiscard]] std::string complaint_about(const std::string& text) const;
  [[nodiscard]] std::string rest_of_help() const;
  [[nodiscard]] HelpEntry entry_of(const boost::program_options::option_description& option,
                                   HelpDetail detail) const;

  const Command* command_;
  boost::program_options::options_description options_;
  boost::program_options::options_description hidden_;
  std::vector<GroupStart> groups_;
  bool has_help_all_ = false;
  ArgumentAliases aliases_;
  std::map<std::string, OptionHelp> help_;
  std::map<std::string, std::vector<std::string>> notes_;
  std::multimap<std::string, std::string> chosen_;  ///< trigger, or empty, and option
  boost::program_options::positional_options_description positional_;
};

OutputFormat output_format(const boost::program_options::variables_map& values);

/// The size given for `option`, if it was given. @throws UsageError for what is not a size.
std::optional<Bytes> size_option(const boost::program_options::variables_map& values,
                                 const std::string& option);

/// The text given for `option`, if it was given.
std::optional<std::string> text_option(const boost::program_options::variables_map& values,
                                       const std::string& option);

}  // namespace highwater
