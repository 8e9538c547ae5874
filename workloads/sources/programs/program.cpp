#include "workloads/sources/programs/program.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/sources/programs/own_settings.hpp"
#include "workloads/sources/programs/recognition.hpp"
#include "workloads/sources/programs/release_reading.hpp"
#include "workloads/sources/rules/plain_key.hpp"

namespace highwater {
namespace {

/// Values that a wrapper holds are written by Python's str(): None and [] are texts.
void read_python_text(Setting& setting) {
  if (setting.kind == SettingKind::text && setting.value == "None") {
    setting.kind = SettingKind::null;
  } else if (setting.kind == SettingKind::text && setting.value == "[]") {
    setting.kind = SettingKind::list;
    setting.value.clear();
  }
}

/// The keys of a file as its program's rules call them.
SettingList in_plain_keys(const Program& program, const SettingList& settings) {
  SettingList own;
  for (Setting setting : settings.list()) {
    setting.key = plain_key(program, setting.key);
    if (!program.wrapper.empty()) {
      read_python_text(setting);
    }
    own.add(std::move(setting));
  }
  return own;
}

/// Whoever reads the list looks for the keys of the file.
void name_as_file(const Program& program, const SettingList& settings, PlanSource& source) {
  std::unordered_map<std::string, std::string> names;
  for (const Setting& setting : settings.list()) {
    std::string plain = plain_key(program, setting.key);
    if (plain != setting.key) {
      names.emplace(std::move(plain), setting.key);
    }
  }
  for (SourceKey& key : source.keys) {
    const auto found = names.find(key.key);
    key.key = found == names.end() ? key.key : found->second;
  }
}

struct DecisiveOption {
  Decisive what;
  std::string_view option;
  std::string_view named;  ///< in a sentence
};

constexpr std::array kDecisiveOptions{
    DecisiveOption{Decisive::model, "model", "a model"},
    DecisiveOption{Decisive::batch, "batch", "a batch"},
    DecisiveOption{Decisive::length, "seq", "a length"},
};

/// What the file says by a key that the program does not have is not replaced by the program's
/// default.
void leave_open(const Program& program, const SettingList& settings, const DecisiveOption& row,
                PlanSource& source) {
  const Setting* const named = unread_key(program, settings, row.what);
  if (named == nullptr || find_word(source.words, row.option) != nullptr) {
    return;
  }
  std::erase_if(source.defaults, [&](const OptionWord& word) { return word.first == row.option; });
  std::erase_if(source.keys, [&](const SourceKey& key) {
    return key.key == named->key && key.fate == KeyFate::not_supported;
  });
  source.keys.push_back(
      {.key = named->key,
       .value = named->value,
       .fate = KeyFate::not_supported,
       .meaning = fmt::format("names {} by a key that {} does not have; give --{}", row.named,
                              program.name, row.option),
       .lacks = std::string(row.option),
       .is_decisive = true});
}

PlanSource read_with(const Program& program, const SettingList& settings, const std::string& file) {
  PlanSource source = read_by_releases(program, in_plain_keys(program, settings), file);
  name_as_file(program, settings, source);
  for (const DecisiveOption& row : kDecisiveOptions) {
    leave_open(program, settings, row, source);
  }
  return source;
}

const Program* launcher_called(std::string_view name) {
  const auto found = std::ranges::find(launchers(), name, &Program::name);
  return found == launchers().end() ? nullptr : *found;
}

const Program* started_by(std::string_view script) {
  const auto found = std::ranges::find_if(programs(), [&](const Program* program) {
    return std::ranges::any_of(
        program->scripts, [&](std::string_view pattern) { return matches_key(pattern, script); });
  });
  return found == programs().end() ? nullptr : *found;
}

/// Scripts beside the one that trains may read its files: "generate.py --config train.toml".
bool trains_nothing_by_name(std::string_view program) {
  constexpr std::array<std::string_view, 15> kOthers{
      "generat", "inference", "infer_", "evaluat",  "eval_",      "predict", "serve", "convert",
      "export",  "merge",     "upload", "download", "preprocess", "prepare", "analy"};
  constexpr std::array<std::string_view, 3> kTraining{"train", "tune", "sft"};
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  return std::ranges::any_of(kOthers, has) && std::ranges::none_of(kTraining, has);
}

OptionWords joined(OptionWords words, const OptionWords& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void append(PlanSource part, PlanSource& whole) {
  if (part.earlier) {
    whole.earlier = EarlierReading{part.earlier->releases, joined(whole.words, part.earlier->words),
                                   joined(whole.defaults, part.earlier->defaults)};
  }
  std::ranges::move(part.words, std::back_inserter(whole.words));
  std::ranges::move(part.defaults, std::back_inserter(whole.defaults));
  std::ranges::move(part.keys, std::back_inserter(whole.keys));
  if (!part.releases.empty()) {
    whole.releases = std::move(part.releases);
  }
}

/// Variables that no rule knows are the script's own.
SettingList known_variables(const SettingList& environment, const Program& rules) {
  SettingList known;
  for (const Setting& variable : environment.list()) {
    if (rules.keys.find(variable.key) != nullptr) {
      known.add(variable);
    }
  }
  return known;
}

/// Why a file is nobody's: what the nearest program knows of it.
std::string why_of_nobody(const SettingList& settings) {
  const KnownShare best = best_share(settings, SettingsOf::file);
  if (best.program == nullptr || best.first_unknown == nullptr) {
    return "none of its keys is one that a training program has";
  }
  if (2 * best.known < best.all) {
    return fmt::format(
        "no file of a known program: {}, the nearest, knows {} of its {} keys, and {} is not among "
        "them",
        best.program->name, best.known, best.all, best.first_unknown->key);
  }
  if (!knows_half(best)) {
    return fmt::format(
        "no file of a known program: {}, the nearest, knows {} of its {} sections, and {} is not "
        "among its keys",
        best.program->name, best.known_sections, best.sections, best.first_unknown->key);
  }
  if (best.unread_adapter != nullptr) {
    return fmt::format(
        "no file of a known program: {}, the nearest, has no key {}, which says that adapters are "
        "trained",
        best.program->name, best.unread_adapter->key);
  }
  return "none of its keys says how a training program trains";
}

/// Words without dashes ("batch_size=1") are the program's where its facts say so.
OwnSettings own_settings(const LaunchLine& line, const Program& program, const std::string& file) {
  using Kind = ProgramForm::Kind;
  const auto read = [line, &program, file](const SettingList& other) {
    LaunchLine changed = line;
    changed.options = other;
    return plan_of_launch(changed, &program, file);
  };
  return {.program = &program,
          .settings = line.options,
          .form = program.form.kind == Kind::assignments ? Kind::assignments : Kind::line,
          .place = file,
          .read = read};
}

}  // namespace

std::string names_of_programs() {
  std::vector<std::string_view> names;
  for (const Program* const program : programs()) {
    if (!program->keys.rules().empty()) {  // the others are known to be refused
      names.push_back(program->name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_of_some_program(const SettingList& settings) {
  return program_of_file(settings) != nullptr;
}

const Program& program_of(const SettingList& settings, const std::string& file) {
  const Program* const program = program_of_file(settings);
  if (program == nullptr) {
    throw InputError(
        file, "", why_of_nobody(settings),
        "give --model and what the file sets (--batch, --seq, ...), or a configuration "
        "or launch line of " +
            names_of_programs());
  }
  return *program;
}

/// A tool or a module is one program's; train.py and main.py are many's, so the options tell there:
/// another program knows far more of them, or the one of that name knows less than half.
const Program* find_program(const LaunchLine& line) {
  const Program* const started = started_by(line.program);
  const KnownShare best = best_share(line.options, SettingsOf::launch_line);
  if (started == nullptr) {
    return is_recognised(best) && !trains_nothing_by_name(line.program) ? best.program : nullptr;
  }
  // A script without rules of its own is one of a trainer that is refused.
  if (started->keys.rules().empty() || !line.program.ends_with(".py")) {
    return started;
  }
  constexpr std::size_t kFarMore = 10;
  const KnownShare own = known_share(*started, line.options);
  const bool is_other = best.known > kFarMore + own.known || !knows_half(own);
  return !is_other ? started : is_recognised(best) ? best.program : nullptr;
}

void check_repeated_key(const Program& program, const SettingList& settings,
                        const std::string& file) {
  const std::optional<RepeatedKey>& repeated = settings.repeated_key();
  if (!repeated || program.refuses_repeated_keys.empty()) {
    return;
  }
  throw InputError(file,
                   repeated->line == 0 ? repeated->key
                                       : fmt::format("line {}: {}", repeated->line, repeated->key),
                   fmt::format("this key stands twice, and {} refuses the file ({})", program.name,
                               program.refuses_repeated_keys),
                   "leave one of them out");
}

PlanSource plan_of_program(const Program& program, const SettingList& settings,
                           const std::string& file) {
  PlanSource source = read_with(program, settings, file);
  source.own = std::make_shared<const OwnSettings>(
      OwnSettings{.program = &program,
                  .settings = settings,
                  .place = file,
                  .read = [&program, file](const SettingList& other) {
                    return read_with(program, other, file);
                  }});
  return source;
}

PlanSource plan_of_settings(const SettingList& settings, const std::string& file) {
  const Program& program = program_of(settings, file);
  check_repeated_key(program, settings, file);
  return plan_of_program(program, settings, file);
}

std::string why_of_no_program(const LaunchLine& line) {
  if (trains_nothing_by_name(line.program)) {
    return line.program + " is no script that trains, by its name";
  }
  const KnownShare best = best_share(line.options, SettingsOf::launch_line);
  if (best.known == 0 || knows_half(best)) {
    return line.program + " has no option that says how a known training program trains";
  }
  return fmt::format(
      "{} is no known script, and {}, the nearest program, knows {} of its {} "
      "options",
      line.program, best.program->name, best.known, best.all);
}

/// Variables that the script sets in several branches, none of which it decides itself, and lines
/// that the shell would not read as they are meant.
PlanSource note_script(const LaunchLine& line) {
  SourceKeys keys;
  for (const std::string& name : line.ambiguous) {
    const Setting* const last = line.environment.find(name);
    keys.add_not_supported("$" + name, last == nullptr ? "" : last->value,
                           "the script sets it in several branches, and what decides is not known; "
                           "the last one is read");
  }
  for (const std::string& where : line.cut_lines) {
    keys.add_not_supported("(line)", where,
                           "the shell ends the command there; read as if it went on");
  }
  return keys.finish();
}

PlanSource plan_of_launcher(const LaunchLine& line, const std::string& file) {
  PlanSource whole;
  whole.file = file;
  append(note_script(line), whole);
  if (const Program* const variables = launcher_called("environment")) {
    append(read_with(*variables, known_variables(line.environment, *variables), file), whole);
  }
  if (const Program* const launcher = launcher_called(line.launcher)) {
    append(read_with(*launcher, line.launcher_options, file), whole);
  }
  return whole;
}

PlanSource plan_of_launch(const LaunchLine& line, const Program* program, const std::string& file) {
  PlanSource whole = plan_of_launcher(line, file);
  if (program == nullptr) {
    throw InputError(file, "", why_of_no_program(line),
                     "give --model and what the script sets, or record it (highwater record -- "
                     "python SCRIPT)");
  }
  append(read_with(*program, line.options, file), whole);
  whole.own = std::make_shared<const OwnSettings>(own_settings(line, *program, file));
  return whole;
}

PlanSource plan_of_launch(const LaunchLine& line, const std::string& file) {
  return plan_of_launch(line, find_program(line), file);
}

}  // namespace highwater
