// A request trace as a Python script that makes the same requests of PyTorch.
//
// Each allocation is a torch.empty of bytes, each free a del; the script ends with exit code 0 if
// PyTorch shows the property, and says what it shows. Streams that blocks are used on are kept busy
// by torch.cuda._sleep until the trace says that they are done, as the trace means it.
#pragma once

#include <string>

#include "tools/studies/reduction/reduce_run.hpp"

namespace highwater {

/// The text of the script.
std::string torch_script(const ReducedRun& run);

}  // namespace highwater
