#include "tools/options/phases/phases_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <boost/program_options/parsers.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/parse_text.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater {
namespace {

constexpr std::size_t kMostPhases = 1000;

SettingList settings_in(const std::string& file) {
  const std::string text = read_text_file(file);
  const std::string extension = std::filesystem::path(file).extension();
  if (extension == ".yaml" || extension == ".yml") {
    return read_yaml_settings(text, file);
  }
  return extension == ".json" ? read_json_settings(text, file) : read_toml_settings(text, file);
}

/// "phases.2.run": the words between the dots.
std::vector<std::string_view> path_of(const Setting& setting) {
  std::vector<std::string_view> path;
  const std::string_view key = setting.key;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t dot = std::min(key.find('.', begin), key.size());
    path.push_back(key.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return path;
}

class PhasesReader {
 public:
  PhasesReader(const std::string& file, const PlanReader& read_plan)
      : file_(file), read_plan_(read_plan) {
    question_.file = file;
  }

  PhasesQuestion read() {
    const SettingList settings = settings_in(file_);
    if (const auto& repeated = settings.repeated_key()) {
      fail(repeated->line, fmt::format("'{}' stands twice", repeated->key), "keep one of them");
    }
    // Phases name programs, wherever these stand.
    for (const Setting& setting : settings.list()) {
      if (path_of(setting).front() == "programs") {
        read_program(setting);
      }
    }
    for (const Setting& setting : settings.list()) {
      if (path_of(setting).front() != "programs") {
        read_rest(setting);
      }
    }
    require_whole();
    return std::move(question_);
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& problem,
                         const std::string& remedy) const {
    throw InputError(file_, line == 0 ? "" : fmt::format("line {}", line), problem, remedy);
  }

  [[noreturn]] void fail_on_key(const Setting& setting, std::string_view keys) const {
    fail(setting.line, fmt::format("'{}' is no key of this file", setting.key),
         fmt::format("use {}", keys));
  }

  // ---- programs

  void read_program(const Setting& setting) {
    constexpr std::string_view kKeys = "plan, file or blocks = [{name = ..., size = ...}]";
    const std::vector<std::string_view> path = path_of(setting);
    if (path.size() < 3) {
      fail(setting.line, "'programs' lacks the name of one",
           "write [programs.NAME] with plan, file or blocks");
    }
    ProgramSource& program = program_called(std::string(path[1]), setting);
    if (path.size() == 3 && path[2] == "plan") {
      set_source(setting, program, plan_of(setting));
    } else if (path.size() == 3 && path[2] == "file") {
      set_source(setting, program,
                 (std::filesystem::path(file_).parent_path() / setting.value).string());
    } else if (path.size() == 5 && path[2] == "blocks") {
      read_block(setting, path, program);
    } else {
      fail_on_key(setting, kKeys);
    }
  }

  /// The program of that name, new or the last.
  ProgramSource& program_called(const std::string& name, const Setting& setting) {
    std::vector<ProgramSource>& programs = question_.programs;
    const auto known = std::ranges::find(programs, name, &ProgramSource::name);
    if (known != programs.end()) {
      return *known;
    }
    if (name.empty() || name.find(':') != std::string::npos) {
      fail(setting.line, fmt::format("'{}' cannot be the name of a program", name),
           "use letters and digits: a colon follows the name where a part of it sleeps");
    }
    programs.push_back({name, std::vector<NamedBlock>{}});
    return programs.back();
  }

  template <class Source>
  void set_source(const Setting& setting, ProgramSource& program, Source source) {
    const auto* const blocks = std::get_if<std::vector<NamedBlock>>(&program.source);
    if (blocks == nullptr || !blocks->empty()) {
      fail(setting.line, fmt::format("program '{}' has two sources", program.name),
           "give it one of plan, file and blocks");
    }
    program.source = std::move(source);
  }

  std::shared_ptr<const PlannedRun> plan_of(const Setting& setting) const {
    try {
      return read_plan_(boost::program_options::split_unix(setting.value));
    } catch (const UsageError& error) {
      fail(setting.line, fmt::format("plan '{}': {}", setting.value, error.what()),
           "write the options of highwater simulate");
    }
  }

  void read_block(const Setting& setting, const std::vector<std::string_view>& path,
                  ProgramSource& program) {
    auto* const blocks = std::get_if<std::vector<NamedBlock>>(&program.source);
    if (blocks == nullptr) {
      fail(setting.line, fmt::format("program '{}' has two sources", program.name),
           "give it one of plan, file and blocks");
    }
    const std::size_t number = number_in(setting, path[3], blocks->size());
    blocks->resize(std::max(blocks->size(), number + 1));
    NamedBlock& block = (*blocks)[number];
    if (path[4] == "name") {
      block.name = setting.value;
    } else if (path[4] == "size") {
      block.size = size_of(setting);
    } else {
      fail_on_key(setting, "name and size");
    }
  }

  Bytes size_of(const Setting& setting) const {
    const std::optional<Bytes> size = parse_bytes(setting.value);
    if (!size || size->count() == 0) {
      fail(setting.line, fmt::format("'{}' is not a size", setting.value),
           "write one as 512MiB or 30GiB");
    }
    return *size;
  }

  // ---- phases

  void read_rest(const Setting& setting) {
    constexpr std::string_view kKeys = "cycles, [programs.NAME] and [[phases]]";
    const std::vector<std::string_view> path = path_of(setting);
    if (path.size() == 1 && path[0] == "cycles") {
      question_.cycles = whole_of(setting);
    } else if (path.size() == 3 && path[0] == "phases") {
      read_phase(setting, path);
    } else {
      fail_on_key(setting, kKeys);
    }
  }

  void read_phase(const Setting& setting, const std::vector<std::string_view>& path) {
    const std::size_t number = number_in(setting, path[1], kMostPhases);
    question_.phases.resize(std::max(question_.phases.size(), number + 1));
    Phase& phase = question_.phases[number];
    const std::string key = common_key(path[2]);
    if (key == "name") {
      phase.name = setting.value;
    } else if (key == "run") {
      phase.program = program_named(setting, setting.value);
    } else if (key == "steps") {
      phase.parts = whole_of(setting);
    } else if (key == "asleep") {
      for (const std::string& name : setting.items) {
        add_sleeper(setting, name, phase);
      }
    } else if (key == "empty_cache") {
      phase.empties_cache = truth_of(setting);
    } else if (key == "settings") {
      phase.settings = setting.value;
    } else {
      fail_on_key(setting, "name, run, steps, asleep, empty-cache and settings");
    }
  }

  std::size_t program_named(const Setting& setting, std::string_view name) const {
    const auto found = std::ranges::find(question_.programs, name, &ProgramSource::name);
    if (found == question_.programs.end()) {
      std::vector<std::string> names;
      for (const ProgramSource& program : question_.programs) {
        names.push_back(program.name);
      }
      fail(setting.line, fmt::format("there is no program '{}'", name),
           names.empty() ? "add [programs.NAME]" : fmt::format("use {}", fmt::join(names, ", ")));
    }
    return static_cast<std::size_t>(found - question_.programs.begin());
  }

  /// "engine" or "engine:cache".
  void add_sleeper(const Setting& setting, std::string_view text, Phase& phase) const {
    const std::size_t colon = text.find(':');
    const std::size_t program = program_named(setting, text.substr(0, colon));
    const auto known = std::ranges::find(phase.asleep, program, &Sleeper::program);
    Sleeper& sleeper =
        known != phase.asleep.end() ? *known : phase.asleep.emplace_back(Sleeper{program, {}});
    if (colon != std::string_view::npos) {
      const std::string part(text.substr(colon + 1));
      require_part(setting, question_.programs[program], part);
      sleeper.parts.push_back(part);
    }
  }

  void require_part(const Setting& setting, const ProgramSource& program,
                    const std::string& part) const {
    std::vector<std::string> parts;
    if (const auto* const blocks = std::get_if<std::vector<NamedBlock>>(&program.source)) {
      for (const NamedBlock& block : *blocks) {
        parts.push_back(block.name);
      }
    } else {
      for (std::size_t i = 0; i < kCategoryCount; ++i) {
        parts.emplace_back(to_string(static_cast<Category>(i)));
      }
    }
    if (std::ranges::find(parts, part) == parts.end()) {
      fail(setting.line, fmt::format("'{}' has no part '{}'", program.name, part),
           fmt::format("use {}", fmt::join(parts, ", ")));
    }
  }

  // ---- values

  std::size_t number_in(const Setting& setting, std::string_view text, std::size_t most) const {
    const auto number = parse_number<std::size_t>(text);
    if (!number || *number > most) {
      fail(setting.line, fmt::format("'{}' belongs to no entry of a list", setting.key),
           "write [[phases]], and blocks = [{name = ..., size = ...}]");
    }
    return *number;
  }

  std::uint64_t whole_of(const Setting& setting) const {
    const auto number = parse_number<std::uint64_t>(setting.value);
    if (!number || *number == 0 || *number > kMostTurns) {
      fail(setting.line, fmt::format("{} = '{}' is not a whole number", setting.key, setting.value),
           fmt::format("give one from 1 to {}", kMostTurns));
    }
    return *number;
  }

  bool truth_of(const Setting& setting) const {
    if (setting.value != "true" && setting.value != "false") {
      fail(setting.line, fmt::format("{} = '{}'", setting.key, setting.value),
           "write true or false");
    }
    return setting.value == "true";
  }

  void require_whole() {
    if (question_.programs.empty() || question_.phases.empty()) {
      fail(0, question_.programs.empty() ? "there are no programs" : "there are no phases",
           "add [programs.NAME] and [[phases]] (highwater phases --help has an example)");
    }
    for (const ProgramSource& program : question_.programs) {
      require_named(program);
    }
    for (std::size_t i = 0; i < question_.phases.size(); ++i) {
      Phase& phase = question_.phases[i];
      if (phase.name.empty()) {
        phase.name = phase.program ? question_.programs[*phase.program].name
                                   : fmt::format("phase {}", i + 1);
      }
    }
  }

  void require_named(const ProgramSource& program) const {
    const auto* const blocks = std::get_if<std::vector<NamedBlock>>(&program.source);
    for (std::size_t i = 0; blocks != nullptr && i < blocks->size(); ++i) {
      const NamedBlock& block = (*blocks)[i];
      if (block.name.empty() || block.size.count() == 0) {
        fail(0,
             fmt::format("block {} of program '{}' lacks its {}", i + 1, program.name,
                         block.name.empty() ? "name" : "size"),
             "write {name = \"cache\", size = \"30GiB\"}");
      }
    }
    if (blocks != nullptr && blocks->empty()) {
      fail(0, fmt::format("program '{}' asks for nothing", program.name),
           "give it plan, file or blocks");
    }
  }

  const std::string& file_;
  const PlanReader& read_plan_;
  PhasesQuestion question_;
};

}  // namespace

void require_turns(const PhasesQuestion& question) {
  std::uint64_t steps = 0;
  for (const Phase& phase : question.phases) {
    steps += phase.parts;
  }
  if (question.cycles == 0 || question.cycles > kMostTurns / steps) {
    throw UsageError(fmt::format("{} cycles of {} steps: ask for 1 to {} steps in all",
                                 question.cycles, steps, kMostTurns));
  }
}

PhasesQuestion read_phases_file(const std::string& file, const PlanReader& read_plan) {
  return PhasesReader(file, read_plan).read();
}

}  // namespace highwater
