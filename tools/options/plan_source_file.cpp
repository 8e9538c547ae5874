#include "tools/options/plan_source_file.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/engine/titan_job.hpp"
#include "tools/files/input.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/peeked_source.hpp"
#include "workloads/sources/configuration_file.hpp"
#include "workloads/sources/observed_run.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/published_run.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

using SettingsReader = SettingList (*)(std::string_view text, const std::string& file);

struct FileKind {
  std::string_view ending;
  SettingsReader read;
};

constexpr std::array kFileKinds{
    FileKind{".yaml", read_yaml_settings},
    FileKind{".yml", read_yaml_settings},
    FileKind{".toml", read_toml_settings},
    FileKind{".json", read_json_settings},
};

constexpr std::array<std::string_view, 6> kScripts{".sh",     ".bash", ".slurm",
                                                   ".sbatch", ".sub",  ".txt"};

SettingsReader reader_of(const std::string& path) {
  const auto* const kind = std::ranges::find_if(
      kFileKinds, [&](const FileKind& row) { return path.ends_with(row.ending); });
  return kind == kFileKinds.end() ? nullptr : kind->read;
}

bool is_script(const std::string& path) {
  return std::ranges::any_of(kScripts,
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

/// Snapshots and profiles of PyTorch as JSON.
bool is_recording(const SettingList& settings) {
  constexpr std::array<std::string_view, 3> kMarks{"segments", "device_traces", "traceEvents"};
  return std::ranges::any_of(settings.list(), [&](const Setting& setting) {
    return std::ranges::any_of(
        kMarks, [&](std::string_view mark) { return setting.key.starts_with(mark); });
  });
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Recordings are known by their content, configurations by their names.
InputError no_recording(const std::string& path, const std::string& name) {
  return path == "-"
             ? InputError(name, "", "is no recording",
                          "give a configuration as a file: its name says what it is (.yaml, "
                          ".yml, .toml, .json, .sh)")
             : InputError(
                   name, "",
                   "is not a recording, and its name does not say that it is a configuration",
                   "name it .yaml, .yml, .toml or .json, or .sh if it is a launch "
                   "script");
}

TraceFile read_recorded_file(const std::string& path) {
  if (is_folder(path)) {
    throw InputError(path, "", "is a directory",
                     "name the configuration, the launch script or the recording in it");
  }
  auto source = std::make_unique<PeekedSource>(open_source(path));
  if (!looks_like_trace_file(source->head())) {
    throw no_recording(path, source->name());
  }
  return is_file(path)
             ? read_trace_file(path, StackMode::keep)
             : read_trace_source(std::move(source), StackMode::keep);  // a pipe comes once
}

PlanSource read_recording(const std::string& path) {
  TraceFile file = read_recorded_file(path);
  auto* const recording = std::get_if<Recording>(&file);
  if (recording == nullptr || recording->plan.empty()) {
    throw InputError(path, "", "carries no plan",
                     fmt::format("record the run with highwater record, which writes one, name a "
                                 "published run ({}), or give --model",
                                 published_run_names()));
  }
  PlanSource source = plan_of_recording(recording->plan, path);
  source.recording = std::make_shared<Recording>(std::move(*recording));
  return source;
}

bool is_small(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return !error && size <= kLargestConfiguration;
}

/// Where a file that `from` names is looked for: as it is written, in the folders that `from` is
/// in (programs are started in one of these), and beside `from`.
std::optional<std::string> find_file(const std::string& path, const fs::path& from) {
  if (is_file(path)) {
    return path;
  }
  std::error_code error;
  const fs::path own = fs::absolute(from, error).parent_path();
  for (fs::path folder = own; !error && folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_file(folder / path)) {
      return (folder / path).string();
    }
  }
  const fs::path beside = from.parent_path() / fs::path(path).filename();
  return is_file(beside) ? std::optional(beside.string()) : std::nullopt;
}

/// Words and data have endings of configurations, too: --vocab-file vocab.json.
bool is_data(std::string_view key) {
  constexpr std::array<std::string_view, 6> kParts{"*vocab*", "*merge*",    "*token*",
                                                   "*data*",  "train_file", "validation_file"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return matches_key(part, key); });
}

bool names_settings(const Setting& setting) {
  return setting.kind == SettingKind::text && reader_of(setting.value) != nullptr &&
         !is_data(setting.key);
}

/// A snapshot may be JSON, too, and is larger.
bool may_be_recording(const std::string& path) {
  return path.ends_with(".json") && !is_small(path);
}

/// Absent for files of another kind. Files that it names are given where they are found.
std::optional<SettingList> read_settings(const std::string& path) {
  const SettingsReader read = may_be_recording(path) ? nullptr : reader_of(path);
  const auto text = read == nullptr ? std::nullopt : configuration_text(path);
  if (!text) {
    return std::nullopt;
  }
  SettingList settings = read(*text, path);
  for (std::size_t i = 0; i < settings.list().size(); ++i) {
    const Setting& setting = settings.list()[i];
    if (names_settings(setting)) {
      settings.replace_value(i, find_file(setting.value, path).value_or(setting.value),
                             setting.kind);
    }
  }
  return is_recording(settings) ? std::nullopt : std::optional(std::move(settings));
}

/// The files of one launch line: those of its program come first in that program's options, since
/// what the line says wins; others are sources of their own.
class LaunchReader {
 public:
  LaunchReader(LaunchLine line, const std::string& file)
      : line_(std::move(line)), file_(&file), program_(find_program(line_)) {}

  std::vector<PlanSource> read() {
    const SettingList own = line_.options;  // follow() adds to them
    for (const Setting& setting : line_.launcher_options.list()) {
      follow(setting, Names::launcher);
    }
    for (std::size_t i = 0; i < own.list().size(); ++i) {
      if (!leave_to_program(own.list()[i], own)) {
        follow(own.list()[i], Names::program);
      }
    }
    sources_.push_back(plan_of_launch(line_, program_, *file_));
    leave_strategy_open(sources_.back());
    return std::move(sources_);
  }

 private:
  enum class Names : std::uint8_t { launcher, program };

  /// A program that reads a file itself, with its own values for what that leaves open, is told
  /// where it is.
  bool leave_to_program(const Setting& setting, const SettingList& all) {
    const auto path = names_settings(setting) ? find_file(setting.value, *file_) : std::nullopt;
    if (program_ == nullptr || !path) {
      return false;
    }
    const KeyRule* const rule = program_->keys.find(setting.key);
    if (rule == nullptr || rule->use != KeyRule::Use::context) {
      return false;
    }
    if (all.find(setting.key) != &setting) {
      return true;  // a later one wins
    }
    for (std::size_t i = 0; i < line_.options.list().size(); ++i) {
      const Setting& own = line_.options.list()[i];
      if (is_same_key(own.key, setting.key)) {
        line_.options.replace_value(i, *path, own.kind);
      }
    }
    return true;
  }

  /// The file of `accelerate config` says how the model is spread, and cannot where it is not
  /// there.
  void leave_strategy_open(PlanSource& source) const {
    const Setting* const file = line_.launcher_options.find("config_file");
    if (line_.launcher != "accelerate" || file == nullptr || find_file(file->value, *file_)) {
      return;
    }
    for (SourceKey& key : source.keys) {
      if (key.key == file->key) {
        key.fate = KeyFate::not_supported;
        key.meaning =
            "not found, and says how the model is spread; give it with a second --from, "
            "or give --dp-kind";
        key.lacks = "dp-kind";
      }
    }
  }

  /// A file that a line names many times is read once. A launcher's says how a script is spread,
  /// and not what the script is.
  void follow(const Setting& setting, Names who) {
    const auto path = names_settings(setting) ? find_file(setting.value, *file_) : std::nullopt;
    const bool is_new = path && followed_.insert(*path).second;
    const auto settings = is_new ? read_settings(*path) : std::nullopt;
    if (!settings || !is_of_some_program(*settings)) {
      return;
    }
    const Program& program = program_of(*settings, *path);
    check_repeated_key(program, *settings, *path);
    const bool is_its_own =
        program_ == nullptr ? who == Names::program : program_->name == program.name;
    if (is_its_own) {
      SettingList all = *settings;
      for (const Setting& own : line_.options.list()) {
        all.add(own);
      }
      line_.options = std::move(all);
      program_ = find_program(line_);
    } else {
      sources_.push_back(plan_of_settings(*settings, *path));
    }
  }

  LaunchLine line_;
  const std::string* file_;
  const Program* program_;  ///< of the line with what was followed; nullptr: not known
  std::set<std::string> followed_;
  std::vector<PlanSource> sources_;
};

/// A quoted line may go on in the next one, with options first.
std::string in_one_line(std::string text) {
  bool goes_on = false;  // from the end: what follows begins with an option
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == '\n' && goes_on) {
      text[i] = ' ';
    }
    if (std::string_view(" \t\r\n").find(text[i]) == std::string_view::npos) {
      goes_on = text[i] == '-';
    }
  }
  return text;
}

/// The name of a launch line in messages.
constexpr const char* kTypedLine = "the launch line";

/// "bash train.sh 7B": the line that the script has when it is called so.
std::optional<LaunchLine> called_script(const std::string& text) {
  const std::optional<ScriptCall> call = read_script_call(text, kTypedLine);
  const auto script = call ? configuration_text(call->script) : std::nullopt;
  return script ? std::optional(read_launch_line(*script, call->script, call->arguments))
                : std::nullopt;
}

/// The file in which `text` has its launch line, for messages and for files beside it.
std::string file_of(const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) {
    return text;
  }
  const std::optional<ScriptCall> call = read_script_call(text, kTypedLine);
  return call && is_file(call->script) ? call->script : kTypedLine;
}

/// The launch line that `text` is, or that the script of that name has.
std::optional<LaunchLine> launch_line_of(const std::string& text) {
  std::error_code error;
  if (!fs::exists(text, error) && text.find(' ') != std::string::npos) {
    if (auto line = called_script(text)) {
      return line;
    }
    return read_launch_line(in_one_line(text), kTypedLine);
  }
  const auto script = is_script(text) ? configuration_text(text) : std::nullopt;
  return script ? std::optional(read_launch_line(*script, text)) : std::nullopt;
}

bool is_python_file(std::string_view text) {
  return text.find(' ') == std::string_view::npos &&
         (text.ends_with(".py") || text.find(".py:") != std::string_view::npos);
}

bool names_titan_module(const LaunchLine& line) {
  const Program* const program = find_program(line);
  return program != nullptr && program->name.starts_with("torchtitan") &&
         line.options.find("module") != nullptr && line.options.find("config") != nullptr;
}

/// The options of a launch line as they were typed. torchtitan takes no other words; one would be a
/// Python file to run, which only --from itself may name.
std::vector<std::string> words_of(const SettingList& options) {
  std::vector<std::string> words;
  for (const Setting& option : options.list()) {
    if (option.key == "argument") {
      continue;
    }
    words.push_back("--" + option.key);
    if (option.kind != SettingKind::boolean) {
      words.push_back(option.value);
    }
  }
  return words;
}

/// Of Python files only torchtitan's configurations can be read.
void refuse_script(const std::string& text) {
  const std::string path = text.substr(0, text.find(".py") + 3);
  const auto script = configuration_text(path);
  if (script && script->find("torchtitan") == std::string::npos) {
    throw InputError(path, "",
                     "a Python script, of which only torchtitan's configurations are read",
                     fmt::format("give its launch line in quotes (--from \"torchrun {} ...\"), or "
                                 "record it (highwater record -- python {})",
                                 path, path));
  }
}

PlanSource plan_of_titan(const std::vector<std::string>& words, const std::string& file,
                         const std::string& python) {
  return plan_of_settings(read_json_settings(titan_job(python, words), file), file);
}

}  // namespace

bool names_python_configuration(const std::string& text) {
  if (is_python_file(text)) {
    return true;
  }
  const std::optional<LaunchLine> line = launch_line_of(text);
  return line && names_titan_module(*line);
}

std::vector<PlanSource> read_python_configuration(const std::string& text,
                                                  const std::string& python) {
  const std::optional<LaunchLine> line = is_python_file(text) ? std::nullopt : launch_line_of(text);
  if (!line) {
    refuse_script(text);
    return {plan_of_titan({text}, text, python)};
  }
  const std::string file = file_of(text);
  std::vector<PlanSource> sources{plan_of_launcher(*line, file)};
  sources.push_back(plan_of_titan(words_of(line->options), file, python));
  return sources;
}

std::vector<PlanSource> read_plan_sources(const std::string& text) {
  if (const PublishedRun* const run = find_published_run(text)) {
    return {plan_of_published(*run)};
  }
  if (auto line = launch_line_of(text)) {
    const std::string file = file_of(text);
    return LaunchReader(std::move(*line), file).read();
  }
  if (const auto settings = read_settings(text)) {
    return {plan_of_settings(*settings, text)};
  }
  return {read_recording(text)};
}

}  // namespace highwater
