// A file of this repository that the build puts into the program (tools/build/embed.cmake).
#pragma once

#include <string_view>

namespace highwater {

struct EmbeddedFile {
  std::string_view path;  ///< below its folder: "python/sitecustomize.py", "programs/trl.json"
  std::string_view content;
};

}  // namespace highwater
