// What changes with every release of other people's programs and hardware, as data: GPUs, models,
// optimizers, defaults of frameworks, and what the keys of training programs mean. How PyTorch
// behaves is code; what programs are called, sized and defaulted stands in the files beside this
// header, which the build puts into the program (README.md).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "traces/embedded_file.hpp"
#include "workloads/json/json_field.hpp"

namespace highwater {

/// The files of this folder; defined by a source that the build writes.
std::span<const EmbeddedFile> embedded_facts();

/// The content of a file ("gpus.json"); it is parsed once and lives as long as the program.
/// @throws std::out_of_range if there is no such file
JsonField facts(std::string_view path);

/// The files in a folder, by name: {"programs/accelerate.json", ...}.
std::vector<std::string_view> facts_in(std::string_view folder);

}  // namespace highwater
