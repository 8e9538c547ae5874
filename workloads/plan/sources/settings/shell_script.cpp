#include "workloads/plan/sources/settings/shell_script.hpp"

#include <cctype>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/plan/sources/settings/shell_branches.hpp"
#include "workloads/plan/sources/settings/shell_variables.hpp"

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

class ShellReader {
 public:
  ShellReader(std::string_view script, const std::string& file, const ShellEnvironment& environment)
      : script_(script), file_(&file) {
    for (const auto& [name, value] : environment) {
      variables_.set(name, value, false);
    }
  }

  ShellScript read() {
    while (at_ < script_.size()) {
      read_next();
    }
    end_command();
    return {std::move(commands_), branches_.ambiguous()};
  }

 private:
  void read_next() {
    const char c = script_[at_];
    if (c == '#') {
      skip_to(script_.find('\n', at_));
    } else if (is_array_start()) {
      read_array();
    } else if (ends_command(c)) {
      end_piece(c);
      ++at_;
      skip_here_documents(c);
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (script_.substr(at_).starts_with("\\\n")) {
      at_ += 2;
    } else if (script_.substr(at_).starts_with("\\\r\n")) {
      at_ += 3;
    } else {
      add_words(read_word());
    }
  }

  void skip_to(std::size_t position) { at_ = std::min(position, script_.size()); }

  /// "NAME=(" was read as the word "NAME=".
  [[nodiscard]] bool is_array_start() const {
    return script_[at_] == '(' && array_name_.has_value();
  }

  void read_array() {
    std::vector<std::string> items;
    ++at_;
    const std::string name = *std::exchange(array_name_, std::nullopt);
    while (at_ < script_.size() && script_[at_] != ')') {
      const char c = script_[at_];
      if (c == '#') {
        skip_to(script_.find('\n', at_));
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\' || c == ';' ||
                 c == '|' || c == '&' || c == '(') {
        ++at_;
      } else {
        const std::vector<std::string> words = variables_.split(read_word());
        items.insert(items.end(), words.begin(), words.end());
      }
    }
    ++at_;
    if (!branches_.skips()) {
      branches_.note(name, fmt::format("{}", fmt::join(items, " ")));
      variables_.set_array(name, std::move(items), appends_);
    }
  }

  /// One word, with quotes kept as marks for the variables: see ShellVariables.
  ShellWord read_word() {
    ShellWord word;
    array_name_.reset();
    while (at_ < script_.size()) {
      const char c = script_[at_];
      if (c == '\'') {
        word.add_quoted(quoted_until('\''));
      } else if (c == '"') {
        word.add_in_double_quotes(quoted_until('"'));
      } else if (c == '\\' && at_ + 1 < script_.size()) {
        read_escape(word);
      } else if (c == '$' || c == '`') {
        word.add_variable(reference());
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || ends_command(c)) {
        break;
      } else {
        word.add_plain(c);
        ++at_;
      }
    }
    return word;
  }

  void read_escape(ShellWord& word) {
    const char next = script_[at_ + 1];
    at_ += 2;
    if (next != '\n') {
      word.add_quoted(std::string(1, next));
    }
  }

  std::string quoted_until(char quote) {
    const std::size_t begin = ++at_;
    while (at_ < script_.size() && script_[at_] != quote) {
      at_ += script_[at_] == '\\' && quote == '"' ? std::size_t{2} : std::size_t{1};
    }
    if (at_ >= script_.size()) {
      throw InputError(*file_, fmt::format("byte {}", begin - 1), "a quote that is never closed",
                       "give a launch line or a shell script");
    }
    return std::string(script_.substr(begin, at_++ - begin));
  }

  /// "$NAME", "${NAME:-x}", "$((1 + 2))", "$(command)", "`command`" whole.
  std::string reference() {
    const std::size_t begin = at_;
    if (script_[at_] == '`') {
      at_ = std::min(script_.find('`', at_ + 1), script_.size() - 1) + 1;
    } else if (script_.substr(at_).starts_with("${")) {
      at_ = after_closing('{', '}');
    } else if (script_.substr(at_).starts_with("$(")) {
      at_ = after_closing('(', ')');
    } else {
      ++at_;
      while (at_ < script_.size() && is_name_part(script_[at_])) {
        ++at_;
      }
    }
    return std::string(script_.substr(begin, at_ - begin));
  }

  [[nodiscard]] std::size_t after_closing(char open, char close) const {
    int depth = 0;
    for (std::size_t i = at_; i < script_.size(); ++i) {
      depth += script_[i] == open ? 1 : script_[i] == close ? -1 : 0;
      if (depth == 0 && script_[i] == close) {
        return i + 1;
      }
    }
    return script_.size();
  }

  void add_words(const ShellWord& word) {
    if (!word.is_quoted() && starts_command() && read_keyword(word.written())) {
      return;
    }
    const std::string name = command_.words.empty() ? assigned_name(word.written()) : "";
    if (!name.empty()) {
      assign(name, word);
      return;
    }
    for (std::string& text : variables_.split(word)) {
      note_here_document(text);
      command_.words.push_back(std::move(text));
    }
  }

  void assign(const std::string& name, const ShellWord& word) {
    const std::string whole = variables_.joined(word);
    appends_ = whole.substr(name.size()).starts_with("+=");
    const std::string value = whole.substr(name.size() + (appends_ ? 2 : 1));
    if (value.empty() && at_ < script_.size() && script_[at_] == '(') {
      array_name_ = name;
      return;
    }
    set(name, value);
    command_.environment.emplace_back(name, value);
  }

  void set(const std::string& name, const std::string& value) {
    if (!branches_.skips()) {
      branches_.note(name, value);
      variables_.set(name, value, appends_);
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
    while (at_ < script_.size()) {
      const std::size_t line_end = std::min(script_.find('\n', at_), script_.size());
      const std::string_view line = script_.substr(at_, line_end - at_);
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
    const char next = at_ + 1 < script_.size() ? script_[at_ + 1] : ' ';
    const char before = at_ > 0 ? script_[at_ - 1] : ' ';
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
    if (command_.words.size() > 1 && command_.words.front() == "export") {
      export_words();
    }
    const bool is_empty = command_.words.empty() && command_.environment.empty();
    ShellCommand command = std::exchange(command_, {});
    if (!is_empty && !branches_.skips()) {
      commands_.push_back(std::move(command));
    }
  }

  void export_words() {
    for (std::size_t i = 1; i < command_.words.size(); ++i) {
      const std::string& word = command_.words[i];
      if (const std::string name = assigned_name(word); !name.empty()) {
        appends_ = false;
        set(name, word.substr(name.size() + 1));
        command_.environment.emplace_back(name, word.substr(name.size() + 1));
      }
    }
    command_.words.clear();
  }

  std::string_view script_;
  const std::string* file_;
  std::size_t at_ = 0;
  ShellVariables variables_;
  ShellBranches branches_;
  ShellBranches::Joint joint_ = ShellBranches::Joint::next;
  bool names_case_ = false;
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::optional<std::string> array_name_;
  bool appends_ = false;
  std::string here_document_;
  bool awaits_mark_ = false;
};

}  // namespace

ShellScript read_shell_script(std::string_view script, const std::string& file,
                              const ShellEnvironment& environment) {
  return ShellReader(script, file, environment).read();
}

}  // namespace highwater
