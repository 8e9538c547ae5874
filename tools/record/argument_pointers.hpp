// Arguments and variables of a new process, as the system calls want them.
#pragma once

#include <string>
#include <vector>

namespace highwater {

/// A null-terminated array of pointers into `texts`, valid as long as these are unchanged.
inline std::vector<char*> argument_pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

}  // namespace highwater
