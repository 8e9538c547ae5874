#include "tools/options/plan_source_option.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/options/command_line.hpp"
#include "tools/options/plan_source_file.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/shell_word.hpp"
#include "tools/text/table.hpp"
#include "traces/parse_text.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/published_run.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

std::string argument_text(const po::option& option) {
  std::string text = " --" + option.string_key;
  for (const std::string& value : option.value) {
    text += value == "true" ? "" : value == "false" ? "=false" : " " + shell_word(printable(value));
  }
  return text;
}

bool is_of_source(const po::option& option) {
  return option.string_key == "from" || option.string_key == "print-options";
}

std::string line_of(std::string_view command, const po::parsed_options& found,
                    const po::parsed_options& given) {
  std::string line = fmt::format("highwater {}", command);
  for (const po::parsed_options* options : {&found, &given}) {
    for (const po::option& option : options->options) {
      line += is_of_source(option) ? "" : argument_text(option);
    }
  }
  return line;
}

/// The line above the table has the whole.
std::string shortened(const std::string& option, std::size_t widest = 60) {
  return option.size() <= widest ? option : option.substr(0, widest - 3) + "...";
}

/// Of keys and values, each as wide as its column: one of a megabyte would widen every row.
constexpr std::size_t kWidestCell = 1000;

Table keys_table(const PlanSource& source) {
  using enum Align;
  static const Columns<SourceKey> kColumns{
      {"key", "key", left, [](const SourceKey& row) { return shortened(row.key, kWidestCell); }},
      {"value", "value", left,
       [](const SourceKey& row) { return shortened(row.value, kWidestCell); }},
      {"fate", "became", left,
       [](const SourceKey& row) {
         return row.fate == KeyFate::used ? shortened(row.meaning)
                                          : std::string(to_string(row.fate));
       }},
      {"meaning", "why", left, [](const SourceKey& row) {
         return row.fate == KeyFate::used ? std::string() : shortened(row.meaning, kWidestCell);
       }}};
  return tabulate(fmt::format("Keys of the plan in {}", source.file), kColumns, source.keys);
}

std::string sentence_about(const PlanSource& source, const SourceKey& key) {
  return printable(fmt::format("{}: {} {}: not supported: {}", source.file,
                               shortened(key.key, kWidestCell), shortened(key.value, kWidestCell),
                               shortened(key.meaning, kWidestCell)));
}

/// A key whose option does not go with the rest of the plan.
void leave_out(SourceKey& key) {
  key.fate = key.sign == MemorySign::little ? KeyFate::no_effect : KeyFate::not_supported;
  key.meaning = fmt::format("--{} is not simulated with the rest of this plan", key.lacks);
}

/// What a file lacks and someone else gives is no longer missing; what it has may be dropped.
template <class IsGiven>
PlanSource settled(PlanSource source, const IsGiven& is_given) {
  for (SourceKey& key : source.keys) {
    if (key.fate == KeyFate::not_supported && !key.lacks.empty() && is_given(key.lacks)) {
      key.fate = KeyFate::no_effect;
      key.meaning = fmt::format("--{} is given", key.lacks);
    } else if (key.fate == KeyFate::used && !key.lacks.empty() && !is_given(key.lacks)) {
      leave_out(key);
    }
  }
  return source;
}

bool counts_gpus(const PlanSource& source) {
  return std::ranges::any_of(std::array{"gpus", "dp"}, [&](std::string_view option) {
    return find_word(source.words, option) != nullptr ||
           find_word(source.defaults, option) != nullptr;
  });
}

/// The sources, less what the options beside them give. A launcher that starts one process gives no
/// --dp, and leaves the number of GPUs open no more than one that starts eight.
std::vector<PlanSource> settled_sources(const po::variables_map& values) {
  std::vector<PlanSource> sources = plan_sources(values);
  const bool are_counted = std::ranges::any_of(sources, counts_gpus);
  for (PlanSource& source : sources) {
    source = settled(std::move(source), [&](const std::string& option) {
      return values.contains(option) || (option == "dp" && are_counted);
    });
  }
  return sources;
}

bool has_option(const po::parsed_options& options, const std::string& name) {
  return std::ranges::find(options.options, name, &po::option::string_key) != options.options.end();
}

/// A step of the plan and one of the source may differ where the degrees do.
void note_global_batch(const PlanSource& source, const po::variables_map& values,
                       std::vector<std::string>& notes) {
  const std::string* const wanted = find_word(source.words, kGlobalBatch);
  if (wanted == nullptr || !values.contains("model")) {
    return;
  }
  std::int64_t sequences = 1;
  for (const char* option : {"batch", "dp", "grad-accum"}) {
    sequences *= parse_number<std::int64_t>(text_option(values, option).value_or("1")).value_or(1);
  }
  if (std::to_string(sequences) != *wanted) {
    notes.push_back(printable(
        fmt::format("{}: a step has {} sequences there, and {} here (batch * dp * grad-accum)",
                    source.file, *wanted, sequences)));
  }
}

/// The GPUs that a source counts are not those of its plan where the other degrees do not divide
/// them.
void note_ranks(const PlanSource& source, const po::variables_map& values,
                std::vector<std::string>& notes) {
  const std::string* const gpus = find_word(source.words, "gpus");
  if (gpus == nullptr || values.contains("dp")) {
    return;
  }
  std::int64_t others = 1;
  std::string degrees;
  for (const char* option : {"tp", "pp", "cp"}) {
    const std::string degree = text_option(values, option).value_or("1");
    others *= std::max<std::int64_t>(parse_number<std::int64_t>(degree).value_or(1), 1);
    degrees += fmt::format("{}{} {}", degrees.empty() ? "" : " * ", option, degree);
  }
  if (parse_number<std::int64_t>(*gpus).value_or(0) % others != 0) {
    notes.push_back(printable(
        fmt::format("{}: {} GPUs there are no multiple of {}; one data-parallel rank is simulated; "
                    "give --dp",
                    source.file, *gpus, degrees)));
  }
}

}  // namespace

void validate(boost::any& value, const std::vector<std::string>& texts, NamedSources*, int) {
  const std::string& text = po::validators::get_single_string(texts);
  value = names_python_configuration(text) ? NamedSources{{}, text}
                                           : NamedSources{read_plan_sources(text)};
}

namespace {

std::vector<std::string> help_of_from() {
  return {
      "the plan of your own configuration file, launch script or launch line (in quotes), of a "
      "recording of highwater record, or of a published run, by its name; can be given several "
      "times, options given beside it win, and what has no option is listed among the notes",
      "files and lines of: " + names_of_programs(), "published runs: " + published_run_names()};
}

std::vector<std::string> help_of_print_options() {
  return {
      "with --from: print the command line that it stands for, and what became of each key of "
      "the plan, and stop"};
}

}  // namespace

void add_plan_source(OptionParser& parser) {
  parser.add(OptionGroup::model)(
      "from", po::value<std::vector<NamedSources>>()->composing()->value_name("SOURCE"),
      "the plan of your configuration, launch line or recording")(
      "print-options", "with --from: print the command line that it stands for, and stop");
  parser.describe("from", {OptionUse::common, help_of_from});
  parser.describe("print-options", {OptionUse::rare, help_of_print_options});
}

void read_python_configurations(po::variables_map& values) {
  if (!values.contains("from")) {
    return;
  }
  const std::string python = text_option(values, "python").value_or(kDefaultPython);
  for (NamedSources& named : values.at("from").as<std::vector<NamedSources>>()) {
    if (!named.python_configuration.empty()) {
      named.sources = read_python_configuration(named.python_configuration, python);
    }
  }
}

std::vector<PlanSource> plan_sources(const po::variables_map& values) {
  std::vector<PlanSource> all;
  if (values.contains("from")) {
    for (const NamedSources& named : values["from"].as<std::vector<NamedSources>>()) {
      all.insert(all.end(), named.sources.begin(), named.sources.end());
    }
  }
  return all;
}

std::vector<std::string> source_notes(const PlanSource& source) {
  std::vector<std::string> notes;
  for (const SourceKey& key : source.keys) {
    if (key.fate == KeyFate::not_supported) {
      notes.push_back(sentence_about(source, key));
    }
  }
  return notes;
}

std::vector<std::string> source_notes(const po::variables_map& values) {
  std::vector<std::string> notes;
  for (const PlanSource& source : settled_sources(values)) {
    std::ranges::move(source_notes(source), std::back_inserter(notes));
    note_global_batch(source, values, notes);
    note_ranks(source, values, notes);
  }
  return notes;
}

std::optional<RecordedPlan> recorded_plan(const po::variables_map& values,
                                          const OptionWords& given) {
  const std::vector<PlanSource> sources = plan_sources(values);
  const auto source = std::ranges::find_if(
      sources, [](const PlanSource& each) { return each.recording != nullptr; });
  if (source == sources.end()) {
    return std::nullopt;
  }
  const auto completes = [&](const OptionWord& word) {
    return word.first == "engine" || word.first == "python" ||
           std::ranges::find(source->keys, word.first, &SourceKey::lacks) != source->keys.end();
  };
  OptionWords added;
  std::ranges::copy_if(given, std::back_inserter(added), completes);
  return RecordedPlan{source->file, source->recording, with_words(source->words, added)};
}

std::vector<LeftOutKey> left_out_keys(const po::variables_map& values) {
  std::vector<LeftOutKey> keys;
  for (const PlanSource& source : settled_sources(values)) {
    for (const SourceKey& key : source.keys) {
      if (key.fate == KeyFate::not_supported) {
        keys.push_back({printable(key.key), key.sign});
      }
    }
  }
  return keys;
}

std::vector<std::string> source_releases(const po::variables_map& values) {
  std::vector<std::string> releases;
  for (const PlanSource& source : plan_sources(values)) {
    const std::string* const torch = find_word(source.defaults, "torch");
    const bool is_taken = torch != nullptr && text_option(values, "torch") == *torch;
    if (is_taken && !source.releases.empty()) {
      releases.push_back(printable(fmt::format("{}: read as {}", source.file, source.releases)));
    }
  }
  return releases;
}

std::optional<EarlierRun> earlier_run(const std::vector<PlanSource>& sources,
                                      const OptionWords& given) {
  std::vector<PlanSource> earlier = sources;
  std::string releases;
  for (PlanSource& source : earlier) {
    if (source.earlier) {
      source.words = source.earlier->words;
      source.defaults = source.earlier->defaults;
      releases += (releases.empty() ? "" : ", ") + source.earlier->releases;
    }
  }
  OptionWords words = with_words(combined_words(earlier, given), given);
  const bool is_same = words == with_words(combined_words(sources, given), given);
  std::erase_if(words, [](const OptionWord& word) { return find_option(word.first) == nullptr; });
  return is_same ? std::nullopt : std::optional(EarlierRun{std::move(releases), std::move(words)});
}

namespace {

constexpr const char* kEarlierRun = "(earlier run)";

}  // namespace

void keep_earlier_run(const std::optional<EarlierRun>& run, po::variables_map& values) {
  if (run) {
    values.insert({kEarlierRun, po::variable_value(boost::any(*run), false)});
  }
}

std::optional<EarlierRun> kept_earlier_run(const po::variables_map& values) {
  return values.contains(kEarlierRun) ? std::optional(values[kEarlierRun].as<EarlierRun>())
                                      : std::nullopt;
}

std::optional<std::string> why_no_model(const po::variables_map& values) {
  const std::vector<PlanSource> sources = plan_sources(values);
  if (values.contains("model") || sources.empty()) {
    return std::nullopt;
  }
  for (const PlanSource& source : sources) {
    const auto key = std::ranges::find(source.keys, "model", &SourceKey::lacks);
    if (key != source.keys.end()) {
      return sentence_about(source, *key);
    }
  }
  return printable(fmt::format("{}: names no model; give --model", sources.back().file));
}

namespace {

/// "ResNet; batch.tensors {"0":[64,3,224,224]}; steps.count 3".
std::string program_words(const PlanSource& source) {
  constexpr std::array<std::string_view, 4> kTold{"model.class", "model.config", "batch.tensors",
                                                  "batch.shapes"};
  std::string words;
  for (const std::string_view told : kTold) {
    const auto key = std::ranges::find_if(
        source.keys, [&](const SourceKey& each) { return each.key.starts_with(told); });
    if (key != source.keys.end()) {
      words += (words.empty() ? "" : ", ") + shortened(key->value);
    }
  }
  if (const std::string* const steps = find_word(source.words, "steps")) {
    words += (words.empty() ? "" : ", ") + *steps + " steps";
  }
  return printable(words);
}

/// Options that say on what a program runs, and by what it is looked at.
bool is_about_the_machine(const std::string& option) {
  constexpr std::array<std::string_view, 4> kOptions{"gpu", "torch", "engine", "python"};
  return std::ranges::find(kOptions, option) != kOptions.end();
}

}  // namespace

std::optional<SingleRecording> single_recording(const po::variables_map& values,
                                                const OptionWords& given) {
  const std::vector<PlanSource> sources = plan_sources(values);
  if (sources.size() != 1 || sources.front().recording == nullptr) {
    return std::nullopt;
  }
  const PlanSource& source = sources.front();
  SingleRecording single{source.file, source.recording, program_words(source), source.words, {}};
  for (const OptionWord& word : given) {
    const std::string* const recorded = find_word(source.words, word.first);
    if (!is_about_the_machine(word.first) && (recorded == nullptr || *recorded != word.second)) {
      single.changed.push_back(word.first);
    }
  }
  return single;
}

namespace {

/// Whether `option` stands as a word in what comes before the first colon: "eval-batch with loss
/// fused: ..." is about eval-batch and loss.
bool is_about(std::string_view problem, std::string_view option) {
  const std::string head = fmt::format(" {} ", problem.substr(0, problem.find(':')));
  return head.find(fmt::format(" {} ", option)) != std::string::npos;
}

/// "--attention sdpa-flash" is of the option "attention".
std::string_view option_in(std::string_view meaning) {
  constexpr std::string_view kDashes = "--";
  return meaning.starts_with(kDashes)
             ? meaning.substr(kDashes.size(), meaning.find(' ') - kDashes.size())
             : std::string_view{};
}

bool is_source_of(const SourceKey& key, std::string_view problem) {
  const std::string_view option = option_in(key.meaning);
  return key.fate == KeyFate::used && !key.key.starts_with('(') && !option.empty() &&
         is_about(problem, option);
}

}  // namespace

std::string with_its_keys(std::string problem, const po::variables_map& values) {
  for (const PlanSource& source : plan_sources(values)) {
    std::string keys;
    for (const SourceKey& key : source.keys) {
      if (is_source_of(key, problem)) {
        keys += fmt::format("{}{} {} is {}", keys.empty() ? "" : ", ", key.key,
                            shortened(key.value), shortened(key.meaning));
      }
    }
    if (!keys.empty()) {
      problem += printable(fmt::format("; in {}: {}", source.file, keys));
    }
  }
  return problem;
}

std::optional<std::string> why_left_open(const po::variables_map& values) {
  const auto leaves_open = [&](const SourceKey& key) {
    return (key.is_decisive || key.lacks == "dp-kind") && key.fate == KeyFate::not_supported &&
           !values.contains(key.lacks);
  };
  for (const PlanSource& source : plan_sources(values)) {
    const auto key = std::ranges::find_if(source.keys, leaves_open);
    if (key != source.keys.end()) {
      return sentence_about(source, *key);
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_no_ranks(const po::variables_map& values) {
  const std::vector<PlanSource> sources = plan_sources(values);
  if (values.contains("dp") || values.contains("gpus") ||
      std::ranges::any_of(sources, counts_gpus)) {
    return std::nullopt;
  }
  for (const PlanSource& source : sources) {
    const auto key = std::ranges::find_if(source.keys, [](const SourceKey& each) {
      return each.fate == KeyFate::not_supported && each.lacks == "dp";
    });
    if (key != source.keys.end()) {
      const std::string value = shortened(key->value, kWidestCell);
      return printable(
          key->key.starts_with('(')
              ? fmt::format("{}: the number of GPUs is {}; give --dp N", source.file, value)
              : fmt::format("{}: {} {} leaves the number of GPUs open; give --dp N", source.file,
                            shortened(key->key, kWidestCell), value));
    }
  }
  return std::nullopt;
}

std::string source_text(const std::vector<PlanSource>& sources, std::string_view command,
                        const po::parsed_options& found, const po::parsed_options& given) {
  const auto is_given = [&](const std::string& option) {
    return has_option(found, option) || has_option(given, option);
  };
  std::string text = line_of(command, found, given) + "\n";
  for (const PlanSource& source : sources) {
    text += "\n" + format_aligned(keys_table(settled(source, is_given)));
  }
  return text;
}

}  // namespace highwater
