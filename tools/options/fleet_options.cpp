#include "tools/options/fleet_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/fleet/run_identity.hpp"
#include "tools/options/output_option.hpp"
#include "tools/options/part_words.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

/// All but --resume have a value.
std::vector<FleetOptionName> names_of_places() {
  std::vector<FleetOptionName> names;
  for (const std::string_view name : options_of_place()) {
    names.push_back({name, name != "resume"});
  }
  return names;
}

/// What an option's value is for.
enum class ValueUse { said, written };

Shard read_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto index = parse_number<std::uint64_t>(std::string_view(text).substr(0, slash));
  const auto count = slash == std::string::npos
                         ? std::nullopt
                         : parse_number<std::uint64_t>(std::string_view(text).substr(slash + 1));
  if (!index || !count || !is_possible({*index, *count})) {
    throw UsageError(fmt::format(
        "--shard {}: not a part of the work; use i/N with i from 1 to N, such as 1/4", text));
  }
  return {*index, *count};
}

void check_together(const po::variables_map& values, const Arguments& arguments) {
  if (values.contains("shard") != values.contains("output")) {
    throw UsageError(values.contains("shard")
                         ? "--shard needs --output PART, the file for its results; add it"
                         : "--output is the file of a shard's results; add --shard i/N, or "
                           "redirect standard output");
  }
  if (values.contains("resume") && !values.contains("journal")) {
    throw UsageError("--resume needs --journal FILE, which the interrupted run wrote; add it");
  }
  const bool is_kept = values.contains("shard") || values.contains("journal");
  if (is_kept && std::ranges::find(arguments, "-") != arguments.end()) {
    throw UsageError(
        "-: a run in parts reads its input more than once, and standard input comes once; "
        "use a file");
  }
}

double read_stall_limit(const po::variables_map& values) {
  const auto text = text_option(values, "stall-after");
  const auto seconds = text ? parse_number<double>(*text) : 0;
  if (!seconds || (text && !(*seconds > 0))) {
    throw UsageError(
        fmt::format("--stall-after {}: not a number of seconds; use 60, for example", *text));
  }
  return *seconds;
}

}  // namespace

void add_fleet_options(OptionParser& parser) {
  struct Row {
    const char* name;
    const char* value;  ///< nullptr: none
    const char* help;
    ValueUse use = ValueUse::said;
  };

  using enum ValueUse;
  constexpr std::array<Row, 6> kRows{{
      {"shard", "i/N",
       "carry out part i of N of the work, and write its results to --output for highwater merge"},
      {"output,o", "PART", "with --shard: the file of its results", written},
      {"journal", "FILE", "keep each result in FILE as soon as it is there", written},
      {"resume", nullptr, "go on from --journal FILE, if it exists"},
      {"stall-after", "SECONDS",
       "under mpirun: hand out again what a rank has held for so long without a result; default "
       "300, and at least ten times as long as the slowest piece"},
      {"piece-times", "FILE",
       "write how long each piece took, and what handing them out took, one JSON object per line",
       written},
  }};
  for (const Row& row : kRows) {
    if (row.value == nullptr) {
      parser.add()(row.name, row.help);
    } else if (row.use == written) {
      parser.add()(row.name, output_value(row.value), row.help);
    } else {
      parser.add()(row.name, po::value<std::string>()->value_name(row.value), row.help);
    }
    const std::string_view words = row.name;  // "output,o": the letter is short for it
    parser.describe(std::string(words.substr(0, words.find(','))), {.use = OptionUse::rare});
  }
}

FleetRequest read_fleet_options(const po::variables_map& values, std::string_view command,
                                const Arguments& arguments) {
  check_together(values, arguments);
  FleetRequest request;
  request.part = output_option(values, "output").value_or("");
  request.journal = output_option(values, "journal").value_or("");
  request.resume = values.contains("resume") ? Resume::yes : Resume::no;
  request.stall_seconds = read_stall_limit(values);
  request.times = output_option(values, "piece-times").value_or("");
  if (const auto shard = text_option(values, "shard")) {
    request.run.shard = read_shard(*shard);
  }
  request.run.version = HIGHWATER_VERSION;
  request.run.arguments = without_options(arguments, names_of_places());
  if (values.contains("shard") || values.contains("journal") || merged_parts() != nullptr) {
    request.run.inputs =
        check_of_inputs(without_options(request.run.arguments, {{"format", true}}));
  }
  request.run.arguments.insert(request.run.arguments.begin(), std::string(command));
  return request;
}

}  // namespace highwater
