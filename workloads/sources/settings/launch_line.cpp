#include "workloads/sources/settings/launch_line.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/scalar.hpp"
#include "workloads/sources/settings/settings_list.hpp"
#include "workloads/sources/settings/shell_script.hpp"
#include "workloads/sources/settings/slurm_header.hpp"

namespace highwater {
namespace {

using Words = std::span<const std::string>;

std::string without_folders(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// Tools that take a verb and then their program's own words. Without a verb: the words follow.
struct Tool {
  std::string_view name;
  std::string_view verb;
};

constexpr std::array kTools{
    Tool{"llamafactory-cli", "train"},
    Tool{"axolotl", "train"},
    Tool{"trl", "sft"},
    Tool{"trl", "dpo"},
    Tool{"trl", "grpo"},
    Tool{"trl", "kto"},
    Tool{"trl", "rloo"},
    Tool{"trl", "reward"},
    Tool{"tune", "run"},
    Tool{"lmf", "train"},
    Tool{"colossalai", "run"},
    Tool{"oumi", "train"},
    Tool{"automodel", ""},
    Tool{"swift", "sft"},
    Tool{"swift", "pt"},
    Tool{"swift", "rlhf"},
    Tool{"swift", "infer"},
    Tool{"swift", "export"},
    Tool{"swift", "deploy"},
    Tool{"swift", "rollout"},
    Tool{"swift", "sample"},
    Tool{"swift", "eval"},
    Tool{"swift", "app"},
    Tool{"swift", "merge-lora"},
    Tool{"megatron", "sft"},
    Tool{"megatron", "pt"},
    Tool{"megatron", "rlhf"},
    Tool{"megatron", "export"},
};

bool is_python(std::string_view word) {
  return word == "python" || word == "python3" || word.starts_with("python3.");
}

bool is_launcher(std::string_view word) {
  constexpr std::array<std::string_view, 5> kLaunchers{"torchrun", "accelerate", "deepspeed",
                                                       "srun", "mpirun"};
  return std::ranges::find(kLaunchers, word) != kLaunchers.end();
}

bool is_value(const std::string& word) {
  return !word.starts_with('-') || typed_scalar(word).kind == SettingKind::number;
}

/// "--" ends the values of an option, and names nothing.
bool is_dashes(const std::string& word) {
  return !word.empty() && word.find_first_not_of('-') == std::string::npos;
}

/// "a.b=1": the value of another key, whatever stands before it.
bool is_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && word.find_first_of("/ '\"{[") > equals;
}

/// "$@", "${ARGS[@]}", "$EXTRA_ARGS": words of their own, options perhaps, that the script does not
/// set; behind a flag they are no value of it.
bool is_many_words(const std::string& word) {
  constexpr std::array<std::string_view, 4> kNames{"ARGS", "OPTS", "OPTIONS", "FLAGS"};
  const bool is_named =
      word.starts_with('$') && std::ranges::any_of(kNames, [&](std::string_view name) {
        return word.ends_with(name) || word.ends_with(fmt::format("{}}}", name));
      });
  return is_named || word == "$@" || word == "$*" || word.ends_with("[@]}") ||
         word.ends_with("[*]}");
}

/// Whether `word` is one more value of an option that has `count` of them.
bool goes_on(const std::string& word, std::size_t count) {
  return is_value(word) && !is_many_words(word) &&
         (count == 0 || (!is_assignment(word) && !word.starts_with('$')));
}

/// Where the program's own name stands, and where its words begin.
struct ProgramPlace {
  std::size_t name = 0;
  std::size_t words = 0;
  std::string program;
};

std::optional<ProgramPlace> find_tool(Words words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string name = without_folders(words[i]);
    for (const Tool& tool : kTools) {
      if (name == tool.name && tool.verb.empty()) {
        return ProgramPlace{i, i + 1, name};
      }
      if (name == tool.name && words[i + 1] == tool.verb) {
        return ProgramPlace{i, i + 2, fmt::format("{} {}", tool.name, tool.verb)};
      }
    }
  }
  return std::nullopt;
}

std::optional<ProgramPlace> find_script_from(Words words, std::size_t begin) {
  for (std::size_t i = begin; i < words.size(); ++i) {
    const bool is_module = words[i] == "-m" || words[i] == "--module";
    if (is_module && i + 1 < words.size() && words[i + 1] != "torch.distributed.launch" &&
        words[i + 1] != "torch.distributed.run") {
      return ProgramPlace{i, i + 2, words[i + 1]};
    }
    if (words[i].ends_with(".py") && is_value(words[i])) {
      return ProgramPlace{i, i + 1, without_folders(words[i])};
    }
  }
  return std::nullopt;
}

/// Of "python submit.py ... -- torchrun train.py ..." the last launcher's script trains.
std::optional<ProgramPlace> find_script(Words words) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    last = is_launcher(without_folders(words[i])) ? i : last;
  }
  const std::optional<ProgramPlace> place = find_script_from(words, last);
  return place || last == 0 ? place : find_script_from(words, 0);
}

/// "tune run [options of torchrun] RECIPE --config ...": the recipe is the program.
void step_to_recipe(Words words, ProgramPlace& place) {
  if (place.program != "tune run") {
    return;
  }
  std::size_t at = place.words;
  while (at < words.size() && words[at].starts_with('-')) {
    at += words[at].find('=') != std::string::npos ? std::size_t{1} : std::size_t{2};
  }
  if (at < words.size()) {
    place.name = at;
    place.program = "tune run " + without_folders(words[at]);
    place.words = at + 1;
  }
}

std::optional<ProgramPlace> find_program(Words words) {
  const bool starts = !words.empty() && (is_python(without_folders(words[0])) ||
                                         is_launcher(without_folders(words[0])) ||
                                         words[0].ends_with(".py") || words.size() > 1);
  std::optional<ProgramPlace> place = starts ? find_tool(words) : std::nullopt;
  if (!place && starts) {
    place = find_script(words);
  }
  if (place) {
    step_to_recipe(words, *place);
  }
  return place;
}

/// "--a 1", "--a=1", "--a 1 2", "--flag", "a.b=1" (Hydra, OmegaConf; "+" and "++" in front as
/// well), and words of their own.
class OptionWordsReader {
 public:
  OptionWordsReader(Words words, const std::string& file) : words_(words), file_(&file) {}

  SettingList read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_];
      if (is_dashes(word)) {
        ++at_;
      } else if (!is_value(word)) {
        read_option(word.substr(word.find_first_not_of('-')));
      } else {
        read_argument(word);
      }
    }
    return std::move(settings_);
  }

 private:
  void read_option(const std::string& name) {
    ++at_;
    const std::size_t equals = name.find('=');
    if (equals != std::string::npos) {
      add(name.substr(0, equals), {name.substr(equals + 1)});
      return;
    }
    std::vector<std::string> values;
    while (at_ < words_.size() && goes_on(words_[at_], values.size())) {
      values.push_back(words_[at_++]);
    }
    add(name, std::move(values));
  }

  void read_argument(const std::string& word) {
    ++at_;
    const std::size_t equals = word.find('=');
    if (!is_assignment(word)) {
      add("argument", {word});
    } else {
      const std::size_t begin = std::min(word.find_first_not_of('+'), equals);
      add(word.substr(begin, equals - begin), {word.substr(equals + 1)});
    }
  }

  void add(std::string key, std::vector<std::string> values) {
    Setting setting{std::move(key), "true", SettingKind::boolean};
    if (values.size() == 1) {
      const Setting typed = typed_scalar(values.front());
      setting.value = typed.value;
      setting.kind = typed.kind;
    } else if (values.size() > 1) {
      setting.value = detail::listed(values);
      setting.kind = SettingKind::list;
      setting.items = std::move(values);
    }
    detail::check_count(settings_.list().size(), *file_, setting.key.substr(0, 60));
    settings_.add(std::move(setting));
  }

  Words words_;
  const std::string* file_;
  std::size_t at_ = 0;
  SettingList settings_;
};

/// torchrun behind a name that nothing here sets (${TORCHRUN_CMD}) is known by its option: where
/// its options begin. The end where it is none.
std::size_t unnamed_torchrun(Words words) {
  const auto counts = [](const std::string& word) { return word.starts_with("--nproc"); };
  if (std::ranges::none_of(words, counts)) {
    return words.size();
  }
  const auto first =
      std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  return static_cast<std::size_t>(first - words.begin());
}

/// The launcher nearest to the program: of "srun torchrun x.py" torchrun's options count, and
/// srun's before them.
void read_launcher(Words words, const std::string& file, LaunchLine& line) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = without_folders(words[i]);
    if (is_launcher(name) || name == "torch.distributed.launch" ||
        name == "torch.distributed.run") {
      line.launcher = is_launcher(name) ? name : "torchrun";
      begin = i + 1;
    }
  }
  if (line.launcher == "accelerate" && begin < words.size() && words[begin] == "launch") {
    ++begin;
  }
  if (line.launcher.empty()) {
    begin = unnamed_torchrun(words);
    line.launcher = begin < words.size() ? "torchrun" : "";
  }
  if (line.launcher.empty()) {
    return;
  }
  const bool ends_in_python = words.size() > begin && is_python(without_folders(words.back()));
  line.launcher_options =
      OptionWordsReader(words.subspan(begin, words.size() - begin - (ends_in_python ? 1 : 0)), file)
          .read();
}

LaunchLine take_apart(Words words, const ProgramPlace& place, const std::string& file) {
  LaunchLine line;
  line.program = place.program;
  line.options = OptionWordsReader(words.subspan(place.words), file).read();
  read_launcher(words.first(place.name), file, line);
  if (place.program.starts_with("tune run")) {
    line.launcher = "torchrun";
    const Words before = words.first(place.name);  // "tune run", and torchrun's options
    line.launcher_options =
        OptionWordsReader(before.subspan(std::min<std::size_t>(2, before.size())), file).read();
  }
  return line;
}

void add_environment(const std::vector<ShellCommand>& commands, const std::string& file,
                     SettingList& environment) {
  for (const ShellCommand& command : commands) {
    for (const auto& [name, value] : command.environment) {
      Setting setting = typed_scalar(value);
      setting.key = name;
      detail::check_count(environment.list().size(), file, name.substr(0, 60));
      environment.add(std::move(setting));
    }
  }
}

/// `swift` starts torchrun by variables, which stand below ENV in its YAML files.
void add_swift_variables(LaunchLine& line) {
  if (!line.program.starts_with("swift ")) {
    return;
  }
  SettingList options;
  for (Setting variable : line.environment.list()) {
    variable.key = "ENV." + variable.key;
    options.add(std::move(variable));
  }
  for (const Setting& own : line.options.list()) {
    options.add(own);
  }
  line.options = std::move(options);
}

bool is_shell(const std::string& word) {
  const std::string name = without_folders(word);
  return name == "sh" || name == "bash";
}

/// "-c" and flags that go with it ("-lc", "-ec").
bool takes_text(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && word[1] != '-' && word.ends_with('c');
}

/// What "sh -c TEXT" runs is a script of its own, which finds set what the outer one has set.
void add_inner_commands(const std::string& file, ShellScript& script) {
  std::vector<ShellCommand> inner;
  ShellEnvironment environment;
  for (const ShellCommand& command : script.commands) {
    for (const auto& [name, value] : command.environment) {
      environment[name] = value;
    }
    for (std::size_t i = 1; i + 1 < command.words.size(); ++i) {
      if (takes_text(command.words[i]) && is_shell(command.words[i - 1])) {
        ShellScript read =
            read_shell_script(command.words[i + 1], file, environment, script.expanded);
        script.expanded = read.expanded;
        std::ranges::move(read.commands, std::back_inserter(inner));
      }
    }
  }
  std::ranges::move(inner, std::back_inserter(script.commands));
}

bool is_shell_script(const std::string& word) {
  return word.ends_with(".sh") || word.ends_with(".slurm") || word.ends_with(".sbatch");
}

ScriptCall call_of(const ShellCommand& command, std::size_t at) {
  ScriptCall call{.script = command.words[at], .arguments = {}};
  for (const auto& [name, value] : command.environment) {
    call.arguments[name] = value;
  }
  for (std::size_t i = at + 1; i < command.words.size(); ++i) {
    call.arguments[std::to_string(i - at)] = command.words[i];
  }
  return call;
}

}  // namespace

std::optional<ScriptCall> read_script_call(std::string_view line, const std::string& file) {
  for (const ShellCommand& command : read_shell_script(line, file).commands) {
    const std::size_t at = !command.words.empty() && (is_shell(command.words.front()) ||
                                                      command.words.front() == "sbatch")
                               ? 1
                               : 0;
    if (at < command.words.size() && is_shell_script(command.words[at])) {
      return call_of(command, at);
    }
  }
  return std::nullopt;
}

LaunchLine read_launch_line(std::string_view script, const std::string& file,
                            const ShellEnvironment& environment) {
  ShellEnvironment found_set = environment;
  found_set.merge(slurm_variables(script));
  ShellScript read = read_shell_script(script, file, found_set);
  add_inner_commands(file, read);
  const ShellCommand* best = nullptr;
  std::optional<ProgramPlace> place;
  for (const ShellCommand& command : read.commands) {
    const auto found = find_program(command.words);
    if (found && (best == nullptr || command.words.size() > best->words.size())) {
      best = &command;
      place = found;
    }
  }
  if (best == nullptr) {
    throw InputError(file, "",
                     "no launch line: no command runs a Python script or a trainer's tool",
                     "give the line that starts the training, as in \"torchrun train.py ...\"");
  }
  LaunchLine line = take_apart(best->words, *place, file);
  add_environment(read.commands, file, line.environment);
  add_swift_variables(line);
  line.ambiguous = std::move(read.ambiguous);
  line.cut_lines = std::move(read.cut_lines);
  return line;
}

}  // namespace highwater
