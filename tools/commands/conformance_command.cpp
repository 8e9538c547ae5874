// highwater conformance: every vector of a folder against the model.
#include <algorithm>
#include <filesystem>
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/files/conformance_folder.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

std::size_t failures(const std::vector<VectorOutcome>& outcomes) {
  return static_cast<std::size_t>(std::ranges::count_if(
      outcomes, [](const VectorOutcome& outcome) { return !outcome.difference.empty(); }));
}

void write_text(const std::vector<VectorOutcome>& vectors,
                const std::vector<VectorOutcome>& settings, std::ostream& out) {
  for (const std::vector<VectorOutcome>* outcomes : {&vectors, &settings}) {
    for (const VectorOutcome& outcome : *outcomes) {
      if (!outcome.difference.empty()) {
        const std::string name =
            outcomes == &settings ? "settings '" + outcome.name + "'" : outcome.name;
        out << printable(name + ": " + outcome.difference) << "\n";
      }
    }
  }
  if (!settings.empty()) {
    out << fmt::format("settings: {} agree, {} differ\n", settings.size() - failures(settings),
                       failures(settings));
  }
  out << fmt::format("{} passed, {} failed\n", vectors.size() - failures(vectors),
                     failures(vectors));
}

void write_json(const std::vector<VectorOutcome>& vectors,
                const std::vector<VectorOutcome>& settings, std::ostream& out) {
  const auto list = [](const std::vector<VectorOutcome>& outcomes) {
    boost::json::array array;
    for (const VectorOutcome& outcome : outcomes) {
      boost::json::object entry{{"name", valid_utf8(outcome.name)},
                                {"passed", outcome.difference.empty()}};
      if (!outcome.difference.empty()) {
        entry["difference"] = valid_utf8(outcome.difference);
      }
      array.push_back(std::move(entry));
    }
    return array;
  };
  out << boost::json::object{{"schema", "highwater.conformance/1"},
                             {"passed", vectors.size() - failures(vectors)},
                             {"failed", failures(vectors)},
                             {"settings_agree", settings.size() - failures(settings)},
                             {"settings_differ", failures(settings)},
                             {"vectors", list(vectors)},
                             {"settings", list(settings)}}
      << "\n";
}

fs::path folder_of(const po::variables_map& values) {
  const Arguments folders = values.contains("dir") ? values["dir"].as<Arguments>() : Arguments{};
  if (folders.size() != 1) {
    throw UsageError("conformance takes one DIR of vectors; see highwater conformance --help");
  }
  std::error_code unreadable;  // then it is no folder to work with either
  if (!fs::is_directory(folders.front(), unreadable)) {
    throw InputError(folders.front(), "", "is not a folder",
                     "name a folder with NAME.trace and NAME.expected files");
  }
  return folders.front();
}

}  // namespace

ExitCode run_conformance_command(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("conformance"));
  parser.add()("torch", po::value<std::string>()->default_value("2.6")->value_name("V"),
               "version preset: the release that the vectors were recorded from");
  parser.add_format();
  parser.positional("dir", -1);
  const po::variables_map values = parser.parse(arguments);
  const VersionPreset& version = version_preset(values["torch"].as<std::string>());
  const fs::path folder = folder_of(values);
  const OutputFormat format = output_format(values);
  if (format != OutputFormat::table && format != OutputFormat::json) {
    throw UsageError("conformance supports only --format table and json; use one of them");
  }
  const auto [vectors, settings] = check_conformance_folder(folder, version);
  if (vectors.empty() && settings.empty()) {
    throw InputError(folder.string(), "", "contains no conformance vectors",
                     "name a folder with NAME.trace and NAME.expected files");
  }
  format == OutputFormat::json ? write_json(vectors, settings, out)
                               : write_text(vectors, settings, out);
  return failures(vectors) + failures(settings) == 0 ? ExitCode::ok : ExitCode::exceeded;
}

}  // namespace highwater
