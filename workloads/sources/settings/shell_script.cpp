#include "workloads/sources/settings/shell_script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/shell_branches.hpp"
#include "workloads/sources/settings/shell_place.hpp"
#include "workloads/sources/settings/shell_variables.hpp"

namespace highwater {
namespace {

bool ends_command(char c) {
  return c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')';
}

bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The name of "NAME=..." and "NAME+=...", or empty.
std::string assigned_name(const std::string& word) {
  std::size_t end = 0;
  while (end < word.size() && is_name_part(word[end])) {
    ++end;
  }
  const bool starts_well = end > 0 && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
  const std::string_view rest = std::string_view(word).substr(end);
  return starts_well && (rest.starts_with("=") || rest.starts_with("+=")) ? word.substr(0, end)
                                                                          : std::string();
}

/// bash(1), SHELL BUILTIN COMMANDS: assignments may follow these as words.
bool declares(std::string_view word) {
  constexpr std::array<std::string_view, 5> kBuiltins{"declare", "export", "local", "readonly",
                                                      "typeset"};
  return std::ranges::find(kBuiltins, word) != kBuiltins.end();
}

/// The length of a backslash at the end of its line, with blanks behind it; 0 for other escapes.
std::size_t length_of_line_end(std::string_view text) {
  const std::size_t end = text.find_first_not_of(" \t\r", 1);
  return text.starts_with('\\') && end != std::string_view::npos && text[end] == '\n' ? end + 1 : 0;
}

class ShellReader {
 public:
  ShellReader(std::string_view script, const std::string& file, const ShellEnvironment& environment,
              std::size_t expanded)
      : place_{script, file, 0}, variables_(place_, environment, expanded) {}

  ShellScript read() {
    refuse_binary();
    while (place_.at < place_.script.size()) {
      read_next();
    }
    end_command();
    return {std::move(commands_), branches_.ambiguous(), std::move(cut_lines_),
            variables_.expanded()};
  }

 private:
  /// Text in UTF-16, and what a broken copy leaves.
  void refuse_binary() const {
    const std::size_t nul = place_.script.find('\0');
    if (nul != std::string_view::npos) {
      ShellPlace{place_.script, place_.file, nul}.fail(
          "a NUL byte, which a shell script cannot contain",
          "save the script as plain text (UTF-8), or give the launch line itself in quotes");
    }
  }

  void read_next() {
    const char c = place_.script[place_.at];
    if (c == '#') {
      read_comment();
    } else if (is_array_start()) {
      read_array();
    } else if (is_arithmetic_start()) {
      read_arithmetic();
    } else if (ends_command(c)) {
      end_piece(c);
      ++place_.at;
      skip_here_documents(c);
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++place_.at;
    } else if (const std::size_t length = length_of_line_end(place_.script.substr(place_.at));
               length > 0) {
      go_on_in_next_line(length);
    } else {
      add_words(read_word());
    }
  }

  /// The shell goes on only where nothing stands behind the backslash; people mean it to.
  void go_on_in_next_line(std::size_t length) {
    if (place_.script.substr(place_.at, length).find_first_of(" \t") != std::string_view::npos) {
      note_cut_line("blanks behind the backslash");
    }
    place_.at += length;
    continued_at_ = place_.at;
  }

  /// Where a comment stands between the lines of one command the shell ends the command; people
  /// mean it to go on if options follow.
  void read_comment() {
    const bool is_inside =
        continued_at_ > 0 &&
        place_.script.substr(continued_at_, place_.at - continued_at_).find_first_not_of(" \t") ==
            std::string_view::npos;
    const std::size_t end = place_.script.find('\n', place_.at);
    const std::size_t next =
        place_.script.find_first_not_of(" \t\r\n", std::min(end, place_.script.size()));
    const bool goes_on = is_inside && next != std::string_view::npos &&
                         (place_.script[next] == '-' || place_.script[next] == '#');
    if (goes_on) {
      note_cut_line("a comment between its lines");
      continued_at_ = end + 1;
    }
    skip_to(goes_on ? end + 1 : end);
  }

  /// The first of each kind.
  void note_cut_line(std::string_view what) {
    const bool is_known = std::ranges::any_of(
        cut_lines_, [&](const std::string& line) { return line.ends_with(what); });
    if (!branches_.skips() && !is_known) {
      cut_lines_.push_back(fmt::format("{}: {}", place_.line(), what));
    }
  }

  void skip_to(std::size_t position) { place_.at = std::min(position, place_.script.size()); }

  /// "NAME=(" was read as the word "NAME=".
  [[nodiscard]] bool is_array_start() const {
    return place_.script[place_.at] == '(' && array_name_.has_value();
  }

  /// "((N = A * B))" as a command or a test.
  [[nodiscard]] bool is_arithmetic_start() const {
    return starts_command() && place_.script.substr(place_.at).starts_with("((") &&
           place_.script.substr(0, after_closing('(', ')')).ends_with("))");
  }

  void read_arithmetic() {
    const std::size_t end = after_closing('(', ')');
    const std::string expression(place_.script.substr(place_.at + 2, end - place_.at - 4));
    place_.at = end;
    if (branches_.is_testing()) {
      const auto value = variables_.value_of(expression);
      branches_.add_test(!value        ? ShellTruth::undecided
                         : *value != 0 ? ShellTruth::yes
                                       : ShellTruth::no,
                         joint_);
    } else if (!branches_.skips()) {
      variables_.assign(expression);
    }
  }

  void read_array() {
    std::vector<std::string> items;
    ++place_.at;
    const std::string name = *std::exchange(array_name_, std::nullopt);
    while (place_.at < place_.script.size() && place_.script[place_.at] != ')') {
      const char c = place_.script[place_.at];
      if (c == '#') {
        skip_to(place_.script.find('\n', place_.at));
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\' || c == ';' ||
                 c == '|' || c == '&' || c == '(') {
        ++place_.at;
      } else {
        const std::vector<std::string> words = variables_.split(read_word());
        items.insert(items.end(), words.begin(), words.end());
      }
    }
    ++place_.at;
    if (!branches_.skips()) {
      branches_.note(name, fmt::format("{}", fmt::join(items, " ")));
      variables_.set_array(name, std::move(items), assignment_);
    }
  }

  /// One word, with quotes kept as marks for the variables: see ShellVariables.
  ShellWord read_word() {
    ShellWord word;
    array_name_.reset();
    while (place_.at < place_.script.size()) {
      const char c = place_.script[place_.at];
      if (c == '\'') {
        word.add_quoted(quoted_until('\''));
      } else if (c == '"') {
        word.add_in_double_quotes(quoted_until('"'));
      } else if (c == '\\' && length_of_line_end(place_.script.substr(place_.at)) > 2) {
        break;
      } else if (c == '\\' && place_.at + 1 < place_.script.size()) {
        read_escape(word);
      } else if (c == '$' || c == '`') {
        word.add_variable(reference());
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || ends_command(c)) {
        break;
      } else {
        word.add_plain(c);
        ++place_.at;
      }
    }
    return word;
  }

  void read_escape(ShellWord& word) {
    const char next = place_.script[place_.at + 1];
    place_.at += 2;
    if (next != '\n') {
      word.add_quoted(std::string(1, next));
    }
  }

  std::string quoted_until(char quote) {
    const std::size_t begin = ++place_.at;
    while (place_.at < place_.script.size() && place_.script[place_.at] != quote) {
      if (quote == '"' && place_.script.substr(place_.at).starts_with("$(")) {
        place_.at = after_closing('(', ')');  // quotes of the command's own
      } else {
        place_.at +=
            place_.script[place_.at] == '\\' && quote == '"' ? std::size_t{2} : std::size_t{1};
      }
    }
    if (place_.at >= place_.script.size()) {
      place_.at = begin - 1;
      throw InputError(place_.file, fmt::format("{}, byte {}", place_.line(), place_.at),
                       "a quote that is never closed", "give a launch line or a shell script");
    }
    return std::string(place_.script.substr(begin, place_.at++ - begin));
  }

  /// "$NAME", "${NAME:-x}", "$((1 + 2))", "$(command)", "`command`" whole.
  std::string reference() {
    const std::size_t begin = place_.at;
    if (place_.script[place_.at] == '`') {
      place_.at = std::min(place_.script.find('`', place_.at + 1), place_.script.size() - 1) + 1;
    } else if (place_.script.substr(place_.at).starts_with("${")) {
      place_.at = after_closing('{', '}');
    } else if (place_.script.substr(place_.at).starts_with("$(")) {
      place_.at = after_closing('(', ')');
    } else {
      ++place_.at;
      while (place_.at < place_.script.size() && is_name_part(place_.script[place_.at])) {
        ++place_.at;
      }
    }
    return std::string(place_.script.substr(begin, place_.at - begin));
  }

  [[nodiscard]] std::size_t after_closing(char open, char close) const {
    int depth = 0;
    for (std::size_t i = place_.at; i < place_.script.size(); ++i) {
      depth += place_.script[i] == open ? 1 : place_.script[i] == close ? -1 : 0;
      if (depth == 0 && place_.script[i] == close) {
        return i + 1;
      }
    }
    return place_.script.size();
  }

  void add_words(const ShellWord& word) {
    if (!word.is_quoted() && starts_command() && read_keyword(word.written())) {
      return;
    }
    if (!branches_.skips()) {
      variables_.set_unset(word);
    }
    const bool may_assign = command_.words.empty() || declares(command_.words.front());
    const std::string name = may_assign ? assigned_name(word.written()) : "";
    if (!name.empty()) {
      assign(name, word);
      return;
    }
    if (!word.is_quoted() && skip_redirection(word.written())) {
      return;
    }
    for (std::string& text : variables_.split(word)) {
      note_here_document(text);
      command_.words.push_back(std::move(text));
    }
  }

  /// "> file", "2>file" and "2>" of "2>&1": where output goes. POSIX.1-2017, 2.7.
  bool skip_redirection(const std::string& word) {
    if (std::exchange(skips_target_, false)) {
      return true;
    }
    const std::size_t mark = word.find_first_not_of("0123456789");
    if (mark == std::string::npos || word[mark] != '>') {
      return false;
    }
    skips_target_ = word.find_first_not_of('>', mark) == std::string::npos;
    return true;
  }

  void assign(const std::string& name, const ShellWord& word) {
    const std::string whole = variables_.joined(word);
    const bool appends = whole.substr(name.size()).starts_with("+=");
    assignment_ = appends ? Assignment::appends : Assignment::replaces;
    const std::string value = whole.substr(name.size() + (appends ? 2 : 1));
    if (value.empty() && place_.at < place_.script.size() && place_.script[place_.at] == '(') {
      array_name_ = name;
      return;
    }
    set(name, value);
    command_.environment.emplace_back(name, value);
  }

  void set(const std::string& name, const std::string& value) {
    if (!branches_.skips()) {
      branches_.note(name, value);
      variables_.set(name, value, assignment_);
    }
  }

  void note_here_document(const std::string& word) {
    const std::size_t mark = word.find("<<");
    if (mark != std::string::npos && word.size() > mark + 2 && word[mark + 2] != '<') {
      const std::size_t name = word.find_first_not_of("<-'\"", mark);
      here_document_ = name == std::string::npos ? "" : word.substr(name);
    } else if (mark != std::string::npos && word.size() == mark + 2) {
      awaits_mark_ = true;
    } else if (std::exchange(awaits_mark_, false)) {
      here_document_ = word;
    }
  }

  /// The text between "<< EOF" and its end is data.
  void skip_here_documents(char ended_by) {
    if (ended_by != '\n' || here_document_.empty()) {
      return;
    }
    const std::string end = std::exchange(here_document_, {});
    while (place_.at < place_.script.size()) {
      const std::size_t line_end =
          std::min(place_.script.find('\n', place_.at), place_.script.size());
      const std::string_view line = place_.script.substr(place_.at, line_end - place_.at);
      skip_to(line_end + 1);
      if (line.substr(std::min(line.find_first_not_of("\t "), line.size())) == end) {
        return;
      }
    }
  }

  [[nodiscard]] bool starts_command() const {
    return command_.words.empty() && command_.environment.empty();
  }

  /// Whether `word` is one of the shell's own; what stands behind it is a command.
  bool read_keyword(const std::string& word) {
    if (word == "if") {
      branches_.begin_if();
    } else if (word == "elif") {
      branches_.begin_elif();
    } else if (word == "then") {
      branches_.begin_then();
    } else if (word == "else") {
      branches_.begin_else();
    } else if (word == "fi" || word == "esac") {
      branches_.end();
    } else if (word == "case") {
      names_case_ = true;
    } else {
      return word == "do" || word == "{";
    }
    return true;
  }

  /// What `ended_by` ends: a command, a test or a pattern.
  void end_piece(char ended_by) {
    if (names_case_ && !command_.words.empty()) {
      begin_case();
    }
    if (branches_.awaits_pattern()) {
      end_pattern(ended_by);
      return;
    }
    if (branches_.is_testing() && !command_.words.empty()) {
      branches_.add_test(truth_of(command_.words), joint_);
      if (command_.words.front().starts_with('[')) {
        command_ = {};
      }
    }
    end_command();
    const char next = place_.at + 1 < place_.script.size() ? place_.script[place_.at + 1] : ' ';
    const char before = place_.at > 0 ? place_.script[place_.at - 1] : ' ';
    if (ended_by == ';' && next == ';') {
      branches_.end_body();
    } else if (ended_by == '&' || ended_by == '|') {
      joint_ = next != ended_by && before != ended_by ? ShellBranches::Joint::next
               : ended_by == '&'                      ? ShellBranches::Joint::both
                                                      : ShellBranches::Joint::either;
    } else {
      joint_ = ShellBranches::Joint::next;
    }
  }

  /// "case WORD in", with its first pattern perhaps.
  void begin_case() {
    names_case_ = false;
    branches_.begin_case(command_.words.front());
    const auto begin = command_.words.begin();
    const auto count = std::min<std::ptrdiff_t>(2, std::ssize(command_.words));
    command_.words.erase(begin, begin + count);
  }

  /// "a|b)"; lines in between are empty.
  void end_pattern(char ended_by) {
    if (!command_.words.empty()) {
      branches_.add_pattern(command_.words.back());
      if (ended_by == ')') {
        branches_.begin_body();
      }
    }
    command_ = {};
  }

  void end_command() {
    skips_target_ = false;
    const bool is_empty = command_.words.empty() && command_.environment.empty();
    ShellCommand command = std::exchange(command_, {});
    if (is_empty || branches_.skips()) {
      return;
    }
    if (!command.words.empty() && command.words.front() == "let") {
      for (std::size_t i = 1; i < command.words.size(); ++i) {
        variables_.assign(command.words[i]);
      }
    }
    commands_.push_back(std::move(command));
  }

  ShellPlace place_;
  ShellVariables variables_;
  ShellBranches branches_;
  ShellBranches::Joint joint_ = ShellBranches::Joint::next;
  bool names_case_ = false;
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::optional<std::string> array_name_;
  Assignment assignment_ = Assignment::replaces;
  std::vector<std::string> cut_lines_;
  std::size_t continued_at_ = 0;  ///< behind the last line that goes on; 0: none
  std::string here_document_;
  bool awaits_mark_ = false;
  bool skips_target_ = false;
};

}  // namespace

ShellScript read_shell_script(std::string_view script, const std::string& file,
                              const ShellEnvironment& environment, std::size_t expanded) {
  return ShellReader(script, file, environment, expanded).read();
}

}  // namespace highwater
