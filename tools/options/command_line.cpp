#include "tools/options/command_line.hpp"

#include <boost/program_options/parsers.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/text/help_text.hpp"
#include "traces/edit_distance.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  std::size_t best = word.size() / 3 + 2;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

OptionParser::OptionParser(const Command& command) : command_(&command), options_("Options") {
  options_.add_options()("help,h", "show this help");
}

void OptionParser::positional(const char* name, int max) {
  hidden_.add_options()(name, po::value<Arguments>());
  positional_.add(name, max);
}

void OptionParser::add_format() {
  options_.add_options()("format",
                         po::value<std::string>()->default_value("table")->value_name("F"),
                         "table, json, csv or markdown");
}

std::string OptionParser::help() const {
  std::vector<HelpEntry> entries;
  for (const auto& option : options_.options()) {
    const std::string value = option->format_parameter();
    const std::string gap = value.empty() || value.starts_with('[') ? "" : " ";
    HelpEntry& entry = entries.emplace_back();
    entry.name = option->format_name() + gap + value;
    entry.lines.push_back(option->description());
    if (const auto note = notes_.find(option->long_name()); note != notes_.end()) {
      entry.lines.insert(entry.lines.end(), note->second.begin(), note->second.end());
    }
  }
  return fmt::format("Usage: highwater {} {}\n\n{}\n\nOptions:\n{}\nExample: {}\n", command_->name,
                     command_->arguments, command_->description, help_text(entries),
                     command_->example);
}

std::vector<std::string> OptionParser::names() const {
  std::vector<std::string> names;
  for (const auto& option : options_.options()) {
    names.push_back(option->long_name());
  }
  return names;
}

po::variables_map OptionParser::parse(const Arguments& arguments) const {
  po::options_description all;
  all.add(options_).add(hidden_);
  po::variables_map values;
  try {
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(arguments)
                  .options(all)
                  .positional(positional_)
                  .style(style::default_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> known;
    for (const std::string& name : option_names()) {
      known.push_back("--" + name);
    }
    const auto meant = nearest_word(error.get_option_name(), known);
    throw UsageError(fmt::format("{}: no such option of '{}'; {}", error.get_option_name(),
                                 command_->name,
                                 meant ? "did you mean " + *meant + "?"
                                       : fmt::format("see highwater {} --help", command_->name)));
  } catch (const po::error& error) {
    throw UsageError(fmt::format("{}; see highwater {} --help", error.what(), command_->name));
  }
  if (values.contains("help")) {
    throw HelpRequested{help()};
  }
  return values;
}

std::vector<std::string> OptionParser::option_names() const {
  std::vector<std::string> names;
  for (const auto& option : options_.options()) {
    names.push_back(option->long_name());
  }
  return names;
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
    throw UsageError(fmt::format(
        "--{} {}: not a size below 16 EiB; write bytes or 80GiB, 80GB, 512M (units K to T)", option,
        *text));
  }
  return size;
}

}  // namespace highwater
