#include "tools/options/command_line.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/options/defaults/default_words.hpp"
#include "tools/options/installed_release.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/part_words.hpp"
#include "tools/options/plan_source_option.hpp"
#include "traces/edit_distance.hpp"
#include "traces/error.hpp"
#include "workloads/plan/options/aliases.hpp"
#include "workloads/plan/options/file_words.hpp"
#include "workloads/sources/combined_words.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

/// The Python package whose release an option names: torch, also of --torch-b.
std::optional<std::string> package_of(const std::string& option) {
  const std::string package = option.substr(0, option.find('-'));
  constexpr std::array<std::string_view, 4> kPackages{"torch", "transformers", "deepspeed",
                                                      "torchtitan"};
  return std::ranges::find(kPackages, package) != kPackages.end() ? std::optional(package)
                                                                  : std::nullopt;
}

/// "F" of "F (=table)", which has the default behind it.
std::string argument_name(const po::value_semantic& value) {
  const std::string name = value.name();
  return name.substr(0, name.find(" ("));
}

/// `auto` is the release that is installed.
void find_installed_releases(po::parsed_options& parsed) {
  for (po::option& option : parsed.options) {
    const auto package = package_of(option.string_key);
    if (package && option.value == std::vector<std::string>{"auto"}) {
      option.value.front() = installed_release(*package, option.string_key);
    }
  }
}

}  // namespace

OptionParser::OptionParser(const Command& command) : command_(&command), options_("Options") {
  add()("help,h", "show this help");
}

po::options_description_easy_init OptionParser::add(OptionGroup group) {
  groups_.push_back({options_.options().size(), group});
  return options_.add_options();
}

void OptionParser::add_help_all() {
  has_help_all_ = true;
  add()("help-all", "show every option, with the source of each default");
}

void OptionParser::positional(const char* name, int max) {
  hidden_.add_options()(name, po::value<Arguments>());
  positional_.add(name, max);
}

void OptionParser::add_format() {
  add()("format", po::value<std::string>()->default_value("table")->value_name("F"),
        "table, json, csv or markdown");
}

HelpEntry OptionParser::entry_of(const po::option_description& option, HelpDetail detail) const {
  const std::string value = option.format_parameter();
  const std::string gap = value.empty() || value.starts_with('[') ? "" : " ";
  HelpEntry entry{option.format_name() + gap + value, {option.description()}};
  const auto more = help_.find(option.long_name());
  if (detail == HelpDetail::all && more != help_.end() && more->second.full) {
    entry.lines = more->second.full();
  }
  if (const auto note = notes_.find(option.long_name()); note != notes_.end()) {
    entry.lines.insert(entry.lines.end(), note->second.begin(), note->second.end());
  }
  return entry;
}

OptionGroup OptionParser::group_of(std::size_t position) const {
  OptionGroup group = OptionGroup::output;
  for (const GroupStart& start : groups_) {
    group = start.first <= position ? start.group : group;
  }
  return group;
}

std::string OptionParser::group_help(OptionGroup group, HelpDetail detail) const {
  std::vector<HelpEntry> entries;
  for (std::size_t i = 0; i < options_.options().size(); ++i) {
    const po::option_description& option = *options_.options()[i];
    if (group_of(i) == group && (detail == HelpDetail::all || !is_rare(option))) {
      entries.push_back(entry_of(option, detail));
    }
  }
  return entries.empty() ? "" : fmt::format("{}:\n{}", to_string(group), help_text(entries));
}

bool OptionParser::is_rare(const po::option_description& option) const {
  const auto more = help_.find(option.long_name());
  return more != help_.end() && more->second.use == OptionUse::rare;
}

std::string OptionParser::rest_of_help() const {
  const auto rare = std::ranges::count_if(options_.options(),
                                          [this](const auto& option) { return is_rare(*option); });
  return fmt::format(
      "\n{} more options, other programs' names for them (--per-device-train-batch-size, ...) and\n"
      "the source of every default: highwater {} --help-all\n",
      rare, command_->name);
}

std::string OptionParser::grouped_help(HelpDetail detail) const {
  std::string text;
  const bool reads_files = command_->group == CommandGroup::either;
  if (reads_files) {  // the options of a plan are for a run without a file
    text += group_help(OptionGroup::output, detail);
  }
  for (const OptionGroup group : kOptionGroups) {
    if (!reads_files || group != OptionGroup::output) {
      text += group_help(group, detail);
    }
  }
  return text + (detail == HelpDetail::common ? rest_of_help() : "");
}

std::string OptionParser::help(HelpDetail detail) const {
  std::vector<HelpEntry> entries;
  for (const auto& option : options_.options()) {
    entries.push_back(entry_of(*option, detail));
  }
  return fmt::format("Usage: highwater {} {}\n\n{}\n\n{}\nExample: {}\n", command_->name,
                     command_->arguments, command_->description,
                     has_help_all_ ? grouped_help(detail) : "Options:\n" + help_text(entries),
                     command_->example);
}

po::variables_map OptionParser::parse(const Arguments& arguments) const {
  po::options_description all;
  all.add(options_).add(hidden_);
  po::variables_map values;
  try {
    namespace style = po::command_line_style;
    po::parsed_options parsed =
        po::command_line_parser(in_own_names(arguments, option_names(), aliases_))
            .options(all)
            .positional(positional_)
            .style(style::default_style & ~style::allow_guessing)
            .run();
    check_part_words(*command_, parsed);
    find_installed_releases(parsed);
    po::store(parsed, values);
    add_source(parsed, values);
    add_defaults(values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    throw UsageError(complaint_about(error.get_option_name()));
  } catch (const po::too_many_positional_options_error&) {
    throw UsageError(fmt::format("an argument that belongs to no option{}; see highwater {} --help",
                                 options_.find_nothrow("from", false) == nullptr
                                     ? ""
                                     : " (a launch line goes in quotes behind --from)",
                                 command_->name));
  } catch (const po::error& error) {
    throw UsageError(fmt::format("{}; see highwater {} --help", error.what(), command_->name));
  }
  if (values.contains("help")) {
    throw HelpRequested{help(HelpDetail::common), summaries()};
  }
  if (values.contains("help-all")) {
    throw HelpRequested{help(HelpDetail::all)};
  }
  return values;
}

bool OptionParser::takes_from_source(const std::string& option,
                                     const po::variables_map& values) const {
  return options_.find_nothrow(option, false) != nullptr && !values.contains(option) &&
         std::ranges::none_of(chosen_, [&](const auto& choice) {
           return choice.second == option &&
                  (choice.first.empty() || values.contains(choice.first));
         });
}

/// Options with one value each.
OptionWords given_words(const po::parsed_options& given) {
  OptionWords words;
  for (const po::option& option : given.options) {
    if (option.value.size() == 1) {
      words.emplace_back(option.string_key, option.value.front());
    }
  }
  return words;
}

/// @throws InputError for a word that none of the files may say
void require_file_word(const OptionWord& word, const std::vector<PlanSource>& sources) {
  if (const Complaint complaint = complaint_about_file_word(word)) {
    const auto says = std::ranges::find_if(sources, [&](const PlanSource& source) {
      return find_word(source.words, word.first) != nullptr;
    });
    throw InputError(says != sources.end() ? says->file : sources.front().file, word.first,
                     *complaint, "");
  }
}

void OptionParser::add_source(const po::parsed_options& given, po::variables_map& values) const {
  read_python_configurations(values);
  const std::vector<PlanSource> sources = plan_sources(values);
  if (sources.empty()) {
    return;
  }
  po::parsed_options found(&options_);
  for (const OptionWord& word : combined_words(sources, given_words(given))) {
    if (takes_from_source(word.first, values)) {
      require_file_word(word, sources);
      found.options.emplace_back(word.first, std::vector<std::string>{word.second});
    }
  }
  if (values.contains("print-options")) {
    throw HelpRequested{source_text(sources, command_->name, found, given)};
  }
  po::store(found, values);
  keep_earlier_run(earlier_run(sources, given_words(given)), values);
}

void OptionParser::add_defaults(po::variables_map& values) const {
  po::parsed_options found(&options_);
  for (const DefaultWord& word : default_words_beside(values, command_->name)) {
    if (!takes_from_source(word.option, values)) {
      continue;
    }
    const bool has_value = options_.find(word.option, false).semantic()->max_tokens() > 0;
    if (has_value || word.values.front() != "false") {
      found.options.emplace_back(word.option, has_value ? word.values : std::vector<std::string>{});
      note_taken(word);
    }
  }
  find_installed_releases(found);
  po::store(found, values);
}

std::string OptionParser::complaint_about(const std::string& text) const {
  const std::string given = text.substr(0, text.find('='));
  const std::string name = given.substr(given.find_first_not_of('-'));
  const auto instead = aliases_.empty() ? std::nullopt : instead_of(name);
  if (instead) {
    return fmt::format("{}: {}", given, *instead);
  }
  std::vector<std::string> known = option_names();
  std::ranges::copy(std::views::keys(aliases_), std::back_inserter(known));
  const auto meant = nearest_word(name, known);
  return fmt::format("{}: unknown option of '{}'; {}", given, command_->name,
                     meant ? "did you mean --" + *meant + "?"
                           : fmt::format("see highwater {} --help", command_->name));
}

std::vector<std::string> OptionParser::option_names() const {
  std::vector<std::string> names;
  for (const auto& option : options_.options()) {
    names.push_back(option->long_name());
  }
  return names;
}

std::vector<OptionSummary> OptionParser::summaries() const {
  std::vector<OptionSummary> all;
  for (const auto& option : options_.options()) {
    const po::value_semantic& value = *option->semantic();
    all.push_back({.name = option->long_name(),
                   .value = value.max_tokens() > 0 ? argument_name(value) : "",
                   .help = option->description(),
                   .has_value = value.max_tokens() > 0,
                   .is_output = names_output(value)});
  }
  return all;
}

OutputFormat output_format(const po::variables_map& values) {
  const auto& name = values["format"].as<std::string>();
  if (name == "table") {
    return OutputFormat::table;
  }
  if (name == "json") {
    return OutputFormat::json;
  }
  if (name == "csv") {
    return OutputFormat::csv;
  }
  if (name == "markdown") {
    return OutputFormat::markdown;
  }
  throw UsageError("--format " + name + ": unknown format; use table, json, csv or markdown");
}

std::optional<std::string> text_option(const po::variables_map& values, const std::string& option) {
  if (!values.contains(option)) {
    return std::nullopt;
  }
  return values[option].as<std::string>();
}

std::optional<Bytes> size_option(const po::variables_map& values, const std::string& option) {
  const std::optional<std::string> text = text_option(values, option);
  if (!text) {
    return std::nullopt;
  }
  const std::optional<Bytes> size = parse_bytes(*text);
  if (!size) {
    throw UsageError(not_a_size(fmt::format("--{} {}", option, *text)));
  }
  return size;
}

}  // namespace highwater
