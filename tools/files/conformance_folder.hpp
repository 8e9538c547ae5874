// A folder of conformance vectors against the model: which of them come out as recorded.
//
// A folder holds NAME.trace and NAME.expected, maybe NAME.events and conf_cases.tsv, each maybe
// compressed with xz; tests/data/conformance/README.md describes them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allocator/settings/version.hpp"

namespace highwater {

struct VectorOutcome {
  std::string name;
  std::string difference;  ///< empty: passed
};

struct ConformanceOutcomes {
  std::vector<VectorOutcome> vectors;   ///< by name
  std::vector<VectorOutcome> settings;  ///< one per line of conf_cases.tsv
};

/// @throws InputError when the folder cannot be listed
ConformanceOutcomes check_conformance_folder(const std::filesystem::path& folder,
                                             const VersionPreset& version);

}  // namespace highwater
