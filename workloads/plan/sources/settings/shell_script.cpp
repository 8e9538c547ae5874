#include "workloads/plan/sources/settings/shell_script.hpp"

#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
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
  ShellReader(std::string_view script, const std::string& file) : script_(script), file_(&file) {}

  std::vector<ShellCommand> read() {
    while (at_ < script_.size()) {
      read_next();
    }
    end_command();
    return std::move(commands_);
  }

 private:
  void read_next() {
    const char c = script_[at_];
    if (c == '#') {
      skip_to(script_.find('\n', at_));
    } else if (is_array_start()) {
      read_array();
    } else if (ends_command(c)) {
      end_command();
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
    variables_.set_array(name, std::move(items), appends_);
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
    variables_.set(name, value, appends_);
    command_.environment.emplace_back(name, value);
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

  void end_command() {
    if (command_.words.size() > 1 && command_.words.front() == "export") {
      export_words();
    }
    if (!command_.words.empty() || !command_.environment.empty()) {
      commands_.push_back(std::exchange(command_, {}));
    }
  }

  void export_words() {
    for (std::size_t i = 1; i < command_.words.size(); ++i) {
      const std::string& word = command_.words[i];
      if (const std::string name = assigned_name(word); !name.empty()) {
        variables_.set(name, word.substr(name.size() + 1), false);
        command_.environment.emplace_back(name, word.substr(name.size() + 1));
      }
    }
    command_.words.clear();
  }

  std::string_view script_;
  const std::string* file_;
  std::size_t at_ = 0;
  ShellVariables variables_;
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::optional<std::string> array_name_;
  bool appends_ = false;
  std::string here_document_;
  bool awaits_mark_ = false;
};

}  // namespace

std::vector<ShellCommand> shell_commands(std::string_view script, const std::string& file) {
  return ShellReader(script, file).read();
}

}  // namespace highwater
