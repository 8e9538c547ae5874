// Conformance vectors as a judge of mutants: fails with the first folder that differs.
//   conformance_vectors FOLDER RELEASE [FOLDER RELEASE...]
#include <algorithm>
#include <exception>
#include <iostream>
#include <vector>

#include "tools/files/conformance_folder.hpp"

namespace {

bool passes(const highwater::VectorOutcome& outcome) {
  return outcome.difference.empty();
}

bool folder_passes(const char* folder, const char* release) {
  const auto [vectors, settings] =
      highwater::check_conformance_folder(folder, highwater::version_preset(release));
  return !vectors.empty() && std::ranges::all_of(vectors, passes) &&
         std::ranges::all_of(settings, passes);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    for (int i = 1; i + 1 < argc; i += 2) {
      if (!folder_passes(argv[i], argv[i + 1])) {
        return 1;
      }
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
