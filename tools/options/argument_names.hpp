// Arguments in the names of the option table, whatever program's names they were written in:
// --per_device_train_batch_size=2 is --batch=2, and --bf16 is --precision=amp-bf16.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace highwater {

/// What another name stands for.
struct ArgumentMeaning {
  std::string option;  ///< without dashes
  std::string value;   ///< the name is a flag that means this value; empty: it takes a value itself
};

using ArgumentAliases = std::map<std::string, ArgumentMeaning>;

/// Up to "--", behind which is another program's command line. Underscores stand for dashes, and an
/// alias that is a flag may say true or false, in an argument of its own as well.
/// @throws UsageError for a flag that says something else, and for two names of one option
std::vector<std::string> in_own_names(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& names,
                                      const ArgumentAliases& aliases);

}  // namespace highwater
