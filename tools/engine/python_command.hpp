// How this program starts a Python: the only place that makes a command line or an environment for
// one.
//
// Nothing is imported from the working folder, which may be a repository that somebody else wrote
// and have a csv.py or a traceback.py. PYTHONSAFEPATH sees to that from Python 3.11 on; the code
// itself for 3.9 and 3.10, where `-c` puts the working folder first on sys.path as an empty word,
// before anything is imported from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/record/record_environment.hpp"

namespace highwater {

/// `python` (searched for in PATH) runs `code`, one line, with `words` as sys.argv[1:].
std::vector<std::string> python_command(const std::string& python, std::string_view code,
                                        const std::vector<std::string>& words = {});

/// `base` for a Python of this program's: of the folders on PYTHONPATH only the absolute ones,
/// since the others, and an empty word, stand for the working folder.
Environment python_environment(Environment base);

}  // namespace highwater
