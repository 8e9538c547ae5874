// A torchtitan job whose configuration is Python (0.3): only its own code can evaluate that, so the
// Python of --python does, and tells it as JSON (highwater_engine/torchtitan_config.py).
#pragma once

#include <string>
#include <vector>

namespace highwater {

/// `words` are those of torchtitan's launch line ("--module", "llama3", ...), or FILE.py:function.
/// @throws InputError with what torchtitan says, if it makes no job of them
std::string titan_job(const std::string& python, const std::vector<std::string>& words);

}  // namespace highwater
