// highwater conformance: every vector of a folder against the model.
//
// A folder holds NAME.trace and NAME.expected, maybe NAME.events and conf_cases.tsv, each maybe
// compressed with xz; tests/data/conformance/README.md describes them.
#include <algorithm>
#include <filesystem>
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "allocator/settings/settings_describe.hpp"
#include "sim/recordings/conformance.hpp"
#include "tools/commands/commands.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

struct Outcome {
  std::string name;
  std::string difference;  ///< empty: passed
};

/// `path` or `path`.xz, whichever is there.
std::optional<fs::path> find_file(const fs::path& path) {
  for (const fs::path& candidate : {path, fs::path(path.string() + ".xz")}) {
    std::error_code unreadable;  // counts as not there
    if (fs::exists(candidate, unreadable)) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::vector<std::string> read_lines(const fs::path& path) {
  const auto source = open_source(path);
  std::string text;
  std::vector<std::byte> buffer(1 << 16);
  while (const std::size_t n = source->read(buffer)) {
    text.append(reinterpret_cast<const char*>(buffer.data()), n);
  }
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin && text[begin] != '#') {
      lines.push_back(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> vector_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    for (const std::string_view ending : {".trace", ".trace.xz"}) {
      if (file.ends_with(ending)) {
        names.push_back(file.substr(0, file.size() - ending.size()));
      }
    }
  }
  if (error) {
    throw InputError(folder.string(), "", "cannot be listed: " + error.message(),
                     "check the permissions of the folder");
  }
  std::ranges::sort(names);
  return names;
}

std::string describe(std::string_view what, const LineDifference& difference) {
  return fmt::format("{} line {}: expected '{}', got '{}'", what, difference.line,
                     difference.expected, difference.actual);
}

std::string compare(const fs::path& base, const VersionPreset& version) {
  const auto trace_file = find_file(base.string() + ".trace");
  const auto expected_file = find_file(base.string() + ".expected");
  if (!trace_file || !expected_file) {
    return "there is no " + base.filename().string() + (trace_file ? ".expected" : ".trace");
  }
  const ConformanceOutput output =
      run_conformance(read_text_trace(*open_source(*trace_file)), version);
  if (const auto difference = first_difference(read_lines(*expected_file), output.expected)) {
    return describe("expected", *difference);
  }
  if (const auto events_file = find_file(base.string() + ".events")) {
    const std::vector<std::string> events = read_lines(*events_file);
    if (events != output.events) {
      const auto difference =
          first_difference(normalised_events(events), normalised_events(output.events));
      return difference ? describe("events", *difference) : "";
    }
  }
  return "";
}

Outcome run_vector(const fs::path& folder, const std::string& name, const VersionPreset& version) {
  try {
    return {name, compare(folder / name, version)};
  } catch (const Error& error) {
    return {name, error.what()};
  }
}

/// Whether `actual` is the line `expected`, or says the same in every field that `expected` has: a
/// release does not tell all that it made of a string.
bool agrees(const std::string& expected, const std::string& actual) {
  const std::size_t values = expected.find("\tok\t");
  if (values == std::string::npos || actual.find("\tok\t") != values) {
    return expected == actual;
  }
  const std::string fields = ";" + actual.substr(values + 4) + ";";
  std::size_t begin = values + 4;
  while (begin < expected.size()) {
    const std::size_t end = std::min(expected.find(';', begin), expected.size());
    if (fields.find(";" + expected.substr(begin, end - begin) + ";") == std::string::npos) {
      return false;
    }
    begin = end + 1;
  }
  return true;
}

/// One outcome per line of conf_cases.tsv.
std::vector<Outcome> run_settings_cases(const fs::path& folder, const VersionPreset& version) {
  std::vector<Outcome> outcomes;
  const auto file = find_file(folder / "conf_cases.tsv");
  for (const std::string& line : file ? read_lines(*file) : std::vector<std::string>{}) {
    const std::string conf = line.substr(0, line.find('\t'));
    const std::string actual = conf_case_line(conf, version);
    outcomes.push_back(
        {conf, agrees(line, actual) ? "" : fmt::format("expected '{}', got '{}'", line, actual)});
  }
  return outcomes;
}

std::size_t failures(const std::vector<Outcome>& outcomes) {
  return static_cast<std::size_t>(std::ranges::count_if(
      outcomes, [](const Outcome& outcome) { return !outcome.difference.empty(); }));
}

void write_text(const std::vector<Outcome>& vectors, const std::vector<Outcome>& settings,
                std::ostream& out) {
  for (const std::vector<Outcome>* outcomes : {&vectors, &settings}) {
    for (const Outcome& outcome : *outcomes) {
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

void write_json(const std::vector<Outcome>& vectors, const std::vector<Outcome>& settings,
                std::ostream& out) {
  const auto list = [](const std::vector<Outcome>& outcomes) {
    boost::json::array array;
    for (const Outcome& outcome : outcomes) {
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
    throw UsageError("conformance takes one DIR with vectors; see highwater conformance --help");
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
    throw UsageError("conformance has --format table and json only");
  }
  std::vector<Outcome> vectors;
  for (const std::string& name : vector_names(folder)) {
    vectors.push_back(run_vector(folder, name, version));
  }
  const std::vector<Outcome> settings = run_settings_cases(folder, version);
  if (vectors.empty() && settings.empty()) {
    throw InputError(folder.string(), "", "holds no conformance vectors",
                     "name a folder with NAME.trace and NAME.expected files");
  }
  format == OutputFormat::json ? write_json(vectors, settings, out)
                               : write_text(vectors, settings, out);
  return failures(vectors) + failures(settings) == 0 ? ExitCode::ok : ExitCode::exceeded;
}

}  // namespace highwater
