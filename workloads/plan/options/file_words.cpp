#include "workloads/plan/options/file_words.hpp"

#include <fmt/format.h>

#include "workloads/plan/model/other_model.hpp"

namespace highwater {

Complaint complaint_about_file_word(const OptionWord& word) {
  const auto& [option, value] = word;
  if (option == "python") {
    return fmt::format(
        "names a program to run ('{}'), which a file is not allowed to do; give --python on the "
        "command line",
        value);
  }
  if (option == "model" && names_python_function(value)) {
    return fmt::format(
        "names Python code to run ('{}'), which a file is not allowed to do; give --model on the "
        "command line",
        value);
  }
  return std::nullopt;
}

}  // namespace highwater
