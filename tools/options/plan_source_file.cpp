#include "tools/options/plan_source_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/engine/titan_job.hpp"
#include "tools/files/input.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "workloads/plan/sources/observed_run.hpp"
#include "workloads/plan/sources/programs/program.hpp"
#include "workloads/plan/sources/published_run.hpp"
#include "workloads/plan/sources/settings/read_settings.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

/// Configuration files are far smaller; snapshots as JSON are larger.
constexpr std::uintmax_t kLargestConfiguration = 4 << 20;

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

PlanSource read_recording(const std::string& path) {
  const TraceFile file = read_trace_file(path, StackMode::skip);
  const auto* recording = std::get_if<Recording>(&file);
  if (recording == nullptr || recording->plan.empty()) {
    throw InputError(path, "", "carries no plan",
                     fmt::format("record the run with highwater record, which writes one, name a "
                                 "published run ({}), or give --model",
                                 published_run_names()));
  }
  return plan_of_recording(recording->plan, path);
}

bool is_small(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return !error && size <= kLargestConfiguration;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
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

/// Absent for files of another kind. Files that it names are given where they are found.
std::optional<SettingList> read_settings(const std::string& path) {
  const SettingsReader read = is_small(path) ? reader_of(path) : nullptr;
  if (read == nullptr) {
    return std::nullopt;
  }
  SettingList settings = read(read_text_file(path), path);
  for (Setting& setting : settings.list()) {
    if (names_settings(setting)) {
      setting.value = find_file(setting.value, path).value_or(setting.value);
    }
  }
  return is_recording(settings) ? std::nullopt : std::optional(std::move(settings));
}

/// The files of one launch line: those of its program come first in that program's options, since
/// what the line says wins; others are sources of their own.
class LaunchReader {
 public:
  LaunchReader(LaunchLine line, const std::string& file) : line_(std::move(line)), file_(&file) {}

  std::vector<PlanSource> read() {
    const SettingList own = line_.options;  // follow() adds to them
    const auto follow_one = [this](const Setting& setting) { follow(setting); };
    std::ranges::for_each(line_.launcher_options.list(), follow_one);
    for (const Setting& setting : own.list()) {
      if (!leave_to_program(setting)) {
        follow(setting);
      }
    }
    sources_.push_back(plan_of_launch(line_, *file_));
    return std::move(sources_);
  }

 private:
  /// A program that reads a file itself, with its own values for what that leaves open, is told
  /// where it is.
  bool leave_to_program(const Setting& setting) {
    const Program* const program = find_program(line_);
    const auto path = names_settings(setting) ? find_file(setting.value, *file_) : std::nullopt;
    if (program == nullptr || !path) {
      return false;
    }
    const auto rule = std::ranges::find_if(
        program->rules, [&](const KeyRule& row) { return matches_key(row.key, setting.key); });
    if (rule == program->rules.end() || rule->use != KeyRule::Use::context) {
      return false;
    }
    for (Setting& own : line_.options.list()) {
      own.value = own.key == setting.key ? *path : own.value;
    }
    return true;
  }

  void follow(const Setting& setting) {
    const auto path = names_settings(setting) ? find_file(setting.value, *file_) : std::nullopt;
    const auto settings = path ? read_settings(*path) : std::nullopt;
    if (!settings || !is_of_some_program(*settings)) {
      return;
    }
    if (is_of_program(*settings, *path)) {
      SettingList all = *settings;
      for (const Setting& own : line_.options.list()) {
        all.add(own);
      }
      line_.options = std::move(all);
    } else {
      sources_.push_back(plan_of_settings(*settings, *path));
    }
  }

  [[nodiscard]] bool is_of_program(const SettingList& settings, const std::string& path) const {
    const Program* const own = find_program(line_);
    return own == nullptr || own->name == program_of(settings, path).name;
  }

  LaunchLine line_;
  const std::string* file_;
  std::vector<PlanSource> sources_;
};

/// A quoted line may go on in the next one, with options first.
std::string in_one_line(std::string text) {
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       end = text.find('\n', end + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", end);
    if (next != std::string::npos && text[next] == '-') {
      text[end] = ' ';
    }
  }
  return text;
}

/// The name of a launch line in messages.
constexpr const char* kTypedLine = "the launch line";

/// "bash train.sh 7B": the line that the script has when it is called so.
std::optional<LaunchLine> called_script(const std::string& text) {
  const std::optional<ScriptCall> call = read_script_call(text, kTypedLine);
  if (!call || !is_small(call->script)) {
    return std::nullopt;
  }
  return read_launch_line(read_text_file(call->script), call->script, call->arguments);
}

/// The file in which `text` has its launch line, for messages and for files beside it.
std::string file_of(const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) {
    return text;
  }
  const std::optional<ScriptCall> call = read_script_call(text, kTypedLine);
  return call && is_small(call->script) ? call->script : kTypedLine;
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
  if (is_script(text) && is_small(text)) {
    return read_launch_line(read_text_file(text), text);
  }
  return std::nullopt;
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

/// The options of a launch line as they were typed.
std::vector<std::string> words_of(const SettingList& options) {
  std::vector<std::string> words;
  for (const Setting& option : options.list()) {
    if (option.key != "argument") {
      words.push_back("--" + option.key);
    }
    if (option.kind != SettingKind::boolean) {
      words.push_back(option.value);
    }
  }
  return words;
}

/// Of Python files only torchtitan's configurations can be read.
void refuse_script(const std::string& text) {
  const std::string path = text.substr(0, text.find(".py") + 3);
  if (is_small(path) && read_text_file(path).find("torchtitan") == std::string::npos) {
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
