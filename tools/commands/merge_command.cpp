// highwater merge: the parts of a run in shards as the answer of the whole run.
//
// The command of the parts runs once more, and takes the results of its pieces from them. It is
// data that may come from anybody: tools/options/part_words.hpp says what it may ask for, and no
// program is started. A run with --format json or csv keeps all of each piece, so that its parts
// can be printed in any of the formats of a report; tables and JSON lines keep no more than they
// show.
#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/fleet/file_stores.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/fleet/run_identity.hpp"
#include "tools/options/output_option.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kFormat = "--format";
constexpr std::array<std::string_view, 2> kWholeFormats{"json", "csv"};

/// Files of the whole answer.
constexpr std::array kOutputs{"html", "sqlite"};

/// @throws InputError for a command that no part can ask for
void require_allowed(const PartFiles& parts, const Arguments& words) {
  const auto is_allowed = [&](const Command& each) {
    return each.merging == Merging::allowed && each.name == words.front();
  };
  if (words.empty() || std::ranges::none_of(commands(), is_allowed)) {
    throw InputError(
        parts.name(), "command",
        words.empty() ? "is missing"
                      : fmt::format("is '{}', which merge does not run for a part", words.front()),
        "merge parts that --shard wrote");
  }
}

/// That of a command line: the value of its --format.
std::string format_of(const Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == kFormat && i + 1 < arguments.size()) {
      return arguments[i + 1];
    }
    if (arguments[i].starts_with(fmt::format("{}=", kFormat))) {
      return arguments[i].substr(kFormat.size() + 1);
    }
  }
  return "table";
}

/// The command line of the parts with another format.
Arguments in_format(const Arguments& arguments, const std::string& format) {
  const std::string own = format_of(arguments);
  if (format == own) {
    return arguments;
  }
  if (std::ranges::find(kWholeFormats, own) == kWholeFormats.end()) {
    throw UsageError(fmt::format(
        "--format {}: the parts are of a run with --format {}, and may hold no more than that "
        "shows; omit it, or run the shards with --format json",
        format, own));
  }
  Arguments changed = without_options(arguments, {{"format", true}});
  changed.push_back(fmt::format("{}={}", kFormat, format));
  return changed;
}

}  // namespace

ExitCode run_merge(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("merge"));
  parser.add()("format", po::value<std::string>()->value_name("F"),
               "table, json, csv, markdown; of parts that were made with --format json or csv; "
               "default: as they were made");
  for (const char* const output : kOutputs) {
    parser.add()(output, output_value("FILE"), "of a scan: as --help of scan says");
  }
  parser.positional("part", -1);
  const auto values = parser.parse(arguments);
  if (!values.contains("part")) {
    throw UsageError("merge takes the parts of all shards; see highwater merge --help");
  }
  PartFiles parts(values["part"].as<Arguments>());
  if (values.contains("format")) {
    output_format(values);  // one that a report has
    parts.use_for(in_format(parts.run().arguments, values["format"].as<std::string>()));
  }
  Arguments words = parts.run().arguments;
  require_allowed(parts, words);
  for (const char* const output : kOutputs) {
    if (const auto file = output_option(values, output)) {
      parts.add_typed(output);
      words.push_back(fmt::format("--{}={}", output, *file));
    }
  }
  const MergeScope scope(parts);
  return run_command(words, out);
}

}  // namespace highwater
