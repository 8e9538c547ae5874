// Answers of the real library on disk, so that the next recording of the same program need not ask
// again. A file per version of the library, a line per answer; what is damaged is asked again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/record/fakecuda/cudnn/wire.hpp"

namespace highwater::fakecuda {

class KeptAnswers {
 public:
  KeptAnswers() = default;

  /// Reads `file`, which need not exist. Processes may share it.
  explicit KeptAnswers(std::string file);

  [[nodiscard]] std::optional<wire::Answer> find(std::string_view question) const;

  /// In memory and on disk.
  void keep(std::string_view question, const wire::Answer& answer);

 private:
  std::string file_;                                      ///< empty: nothing is kept on disk
  std::unordered_map<std::string, std::string> answers_;  ///< packed, by the question's digest
};

}  // namespace highwater::fakecuda
