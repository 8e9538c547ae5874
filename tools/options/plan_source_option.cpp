#include "tools/options/plan_source_option.hpp"

#include <algorithm>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/files/input.hpp"
#include "tools/options/command_line.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/shell_word.hpp"
#include "tools/text/table.hpp"
#include "workloads/plan/sources/observed_run.hpp"
#include "workloads/plan/sources/published_run.hpp"

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
std::string shortened(const std::string& option) {
  constexpr std::size_t kWidest = 60;
  return option.size() <= kWidest ? option : option.substr(0, kWidest - 3) + "...";
}

Table keys_table(const PlanSource& source) {
  using enum Align;
  static const Columns<SourceKey> kColumns{
      {"key", "key", left, [](const SourceKey& row) { return row.key; }},
      {"value", "value", left, [](const SourceKey& row) { return row.value; }},
      {"fate", "became", left,
       [](const SourceKey& row) {
         return row.fate == KeyFate::used ? shortened(row.meaning)
                                          : std::string(to_string(row.fate));
       }},
      {"meaning", "why", left, [](const SourceKey& row) {
         return row.fate == KeyFate::used ? std::string() : row.meaning;
       }}};
  return tabulate(fmt::format("Keys of the plan in {}", source.file), kColumns, source.keys);
}

}  // namespace

void validate(boost::any& value, const std::vector<std::string>& texts, PlanSource*, int) {
  po::validators::check_first_occurrence(value);
  value = read_plan_source(po::validators::get_single_string(texts));
}

PlanSource read_plan_source(const std::string& path) {
  if (const PublishedRun* run = find_published_run(path)) {
    return plan_of_published(*run);
  }
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

void add_plan_source(OptionParser& parser) {
  parser.add(OptionGroup::model)("from", po::value<PlanSource>()->value_name("FILE|NAME"),
                                 "take the plan from a recording, or that of a published run")(
      "print-options", "with --from: print the command line that it stands for, and stop");
  parser.describe("from", {OptionUse::common,
                           {fmt::format("take the plan from a recording of highwater record, or "
                                        "the one of a published run by its NAME ({}); options "
                                        "given beside it win, and what has no option is listed "
                                        "among the notes",
                                        published_run_names())}});
  parser.describe("print-options",
                  {OptionUse::rare,
                   {"with --from: print the command line that it stands for, and what became of "
                    "each key of the plan, and stop"}});
}

const PlanSource* plan_source(const po::variables_map& values) {
  return values.contains("from") ? &values["from"].as<PlanSource>() : nullptr;
}

std::vector<std::string> source_notes(const PlanSource& source) {
  std::vector<std::string> notes;
  for (const SourceKey& key : source.keys) {
    if (key.fate == KeyFate::not_supported) {
      notes.push_back(printable(fmt::format("{}: {} {}: not supported: {}", source.file, key.key,
                                            key.value, key.meaning)));
    }
  }
  return notes;
}

std::vector<std::string> source_notes(const po::variables_map& values) {
  const PlanSource* const source = plan_source(values);
  return source == nullptr ? std::vector<std::string>{} : source_notes(*source);
}

std::string source_text(const PlanSource& source, std::string_view command,
                        const po::parsed_options& found, const po::parsed_options& given) {
  return line_of(command, found, given) + "\n\n" + format_aligned(keys_table(source));
}

}  // namespace highwater
