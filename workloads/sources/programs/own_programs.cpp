#include "workloads/sources/programs/own_programs.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "traces/error.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/sources/configuration_file.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/megatron/megatron_readers.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemedy = "see workloads/facts/README.md for what a file of facts holds";

/// What programs refer to: it lives as long as they do, which is as long as the program.
struct OwnFile {
  std::string name;
  boost::json::value content;
};

const OwnFile& keep(const fs::path& path) {
  static std::mutex mutex;
  static std::deque<OwnFile> files;
  std::string name = path.string();
  boost::json::value content =
      parse_json_document(configuration_text(name).value_or(""), name, kRemedy);
  const std::scoped_lock lock(mutex);
  return files.emplace_back(std::move(name), std::move(content));
}

fs::path folder_in(const char* variable, std::string_view below) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? fs::path() : fs::path(value) / below;
}

fs::path folder_of_programs() {
  for (const fs::path& folder :
       {folder_in("HIGHWATER_PROGRAMS", ""), folder_in("XDG_CONFIG_HOME", "highwater/programs")}) {
    if (!folder.empty()) {
      return folder;
    }
  }
  return folder_in("HOME", ".config/highwater/programs");
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<const Program*> pointers_to(const std::vector<Program>& programs) {
  std::vector<const Program*> pointers;
  std::ranges::transform(programs, std::back_inserter(pointers),
                         [](const Program& program) { return &program; });
  return pointers;
}

}  // namespace

std::vector<Program> programs_in(const fs::path& folder) {
  const Readers readers{program_table::hugging_face_readers(),
                        program_table::megatron_keys::megatron_readers()};
  std::vector<Program> programs;
  for (const fs::path& path : files_in(folder)) {
    const OwnFile& file = keep(path);
    programs.push_back(program_of_facts(JsonField(file.content, "", file.name, kRemedy), readers));
  }
  return programs;
}

std::span<const Program* const> own_programs() {
  static const std::vector<Program> kPrograms = programs_in(folder_of_programs());
  static const std::vector<const Program*> kPointers = pointers_to(kPrograms);
  return kPointers;
}

}  // namespace highwater
