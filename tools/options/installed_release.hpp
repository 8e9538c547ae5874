// The release of a Python package that is installed: what `--torch auto` stands for.
//
// Asked of importlib.metadata in the python3 on the PATH, so the package itself is not imported.
#pragma once

#include <string>

namespace highwater {

/// "2.15" for torch. @throws UsageError that names `option` if there is no Python or no package
std::string installed_release(const std::string& package, const std::string& option);

}  // namespace highwater
