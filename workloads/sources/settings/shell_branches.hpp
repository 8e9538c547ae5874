// Which branch of a script's if and case runs, as far as the script itself decides it.
//
// A test over values that the script does not set ("$1", a file that is there) is undecided: all
// its branches are read, as they stand in the text, and what they set in different ways is noted.
//
// Source: POSIX.1-2017, Shell Command Language, sections 2.9.4.3 (case), 2.9.4.4 (if), and test;
// bash(1), Conditional Expressions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace highwater {

enum class ShellTruth : std::uint8_t { no, yes, undecided };

/// What the words of one command say as a test: "[ a = b ]", "test -z x", "[[ 1 -gt 0 ]]".
ShellTruth truth_of(std::span<const std::string> words);

/// Whether `word` is one that a pattern of case matches, "7b" or "*"; several are tried in turn.
ShellTruth matches_pattern(const std::string& word, const std::string& pattern);

class ShellBranches {
 public:
  enum class Joint : std::uint8_t { next, both, either };

  /// Commands and assignments here are not carried out.
  [[nodiscard]] bool skips() const { return skipped_ > 0; }

  /// Between "if" and "then": commands are tests.
  [[nodiscard]] bool is_testing() const { return !open_.empty() && open_.back().is_testing; }

  /// Between "case" and its first pattern, or behind ";;".
  [[nodiscard]] bool awaits_pattern() const {
    return !open_.empty() && open_.back().awaits_pattern;
  }

  void begin_if();
  void begin_elif();
  void begin_then();
  void begin_else();
  void begin_case(std::string subject);
  void add_pattern(const std::string& pattern);
  void begin_body();
  void end_body();
  void end();

  void add_test(ShellTruth truth, Joint joint);

  /// Notes what an undecided branch sets.
  void note(const std::string& name, const std::string& value);

  /// Names that undecided branches set to different values.
  [[nodiscard]] const std::vector<std::string>& ambiguous() const { return ambiguous_; }

 private:
  struct Open {
    bool is_testing = false;
    bool awaits_pattern = false;
    bool is_case = false;
    ShellTruth test = ShellTruth::undecided;    ///< of what is tested now
    ShellTruth current = ShellTruth::yes;       ///< of the branch that is read now
    ShellTruth earlier = ShellTruth::no;        ///< whether one before it runs
    bool has_test = false;                      ///< `test` holds one
    std::string subject;                        ///< of case
    std::map<std::string, std::string> values;  ///< set in undecided branches
  };

  void enter(ShellTruth truth);

  void open(Open branch);

  /// Of the innermost branch, the only one that changes.
  void set_current(ShellTruth truth);

  /// What skips() and note() ask of all open branches is kept, since scripts nest them.
  void count_innermost();
  void leave_innermost();

  std::vector<Open> open_;
  std::size_t skipped_ = 0;             ///< branches that do not run
  std::vector<std::size_t> undecided_;  ///< places in open_ of those that may run
  std::vector<std::string> ambiguous_;
  std::unordered_set<std::string> is_ambiguous_;
};

}  // namespace highwater
