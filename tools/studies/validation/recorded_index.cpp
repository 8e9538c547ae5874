#include "tools/studies/validation/recorded_index.hpp"

#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/json/json_field.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "highwater.recorded-index/1";
constexpr std::string_view kIndexRemedy =
    "the file is damaged or not an index of recordings; bundle the results again";

constexpr std::array<std::pair<std::string_view, CaseHalf>, 3> kHalves{{
    {"tuning", CaseHalf::tuning},
    {"held-out", CaseHalf::held_out},
    {"facts", CaseHalf::facts},
}};

CaseHalf read_half(const JsonField& field) {
  const std::string text = field.text();
  for (const auto& [name, half] : kHalves) {
    if (name == text) {
      return half;
    }
  }
  field.fail("'" + text + "' is not one of tuning, held-out, facts");
}

fs::path without_ending(const std::string& description) {
  const fs::path path(description);
  const std::string name = path.filename().string();
  return path.parent_path() / name.substr(0, name.rfind(".json"));
}

void read_index(const fs::path& path, std::map<std::string, CaseHalf>& halves) {
  const std::string source = path.string();
  const auto document = parse_json_document(read_text_file(source), source, kIndexRemedy);
  const JsonField root(document, "", source, kIndexRemedy);
  if (root.at("schema").text() != kSchema) {
    root.at("schema").fail("'" + std::string(kSchema) + "' was expected");
  }
  for (const JsonField& entry : root.at("cases").elements()) {
    halves[(path.parent_path() / entry.at("id").text()).string()] = read_half(entry.at("half"));
  }
}

}  // namespace

std::string_view to_string(CaseHalf half) {
  for (const auto& [name, value] : kHalves) {
    if (value == half) {
      return name;
    }
  }
  return "unmarked";
}

RecordedIndexes::RecordedIndexes(const std::vector<CaseFiles>& files) {
  std::set<fs::path> folders;
  for (const CaseFiles& each : files) {
    folders.insert(fs::path(each.description).parent_path());
  }
  for (const fs::path& folder : folders) {
    if (const fs::path path = folder / "index.json"; fs::exists(path)) {
      read_index(path, halves_);
    }
  }
}

CaseHalf RecordedIndexes::half_of(const CaseFiles& files) const {
  const auto found = halves_.find(without_ending(files.description).string());
  return found == halves_.end() ? CaseHalf::unmarked : found->second;
}

}  // namespace highwater
