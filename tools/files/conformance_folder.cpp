#include "tools/files/conformance_folder.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "allocator/settings/settings_describe.hpp"
#include "sim/recordings/conformance.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

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

VectorOutcome run_vector(const fs::path& folder, const std::string& name,
                         const VersionPreset& version) {
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

std::vector<VectorOutcome> run_settings_cases(const fs::path& folder,
                                              const VersionPreset& version) {
  std::vector<VectorOutcome> outcomes;
  const auto file = find_file(folder / "conf_cases.tsv");
  for (const std::string& line : file ? read_lines(*file) : std::vector<std::string>{}) {
    const std::string conf = line.substr(0, line.find('\t'));
    const std::string actual = conf_case_line(conf, version);
    outcomes.push_back(
        {conf, agrees(line, actual) ? "" : fmt::format("expected '{}', got '{}'", line, actual)});
  }
  return outcomes;
}

}  // namespace

ConformanceOutcomes check_conformance_folder(const fs::path& folder, const VersionPreset& version) {
  ConformanceOutcomes outcomes;
  for (const std::string& name : vector_names(folder)) {
    outcomes.vectors.push_back(run_vector(folder, name, version));
  }
  outcomes.settings = run_settings_cases(folder, version);
  return outcomes;
}

}  // namespace highwater
