// Files and descriptors to write to, without compression; see byte_sink.hpp for the rules.
#pragma once

#include <filesystem>
#include <memory>

#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// What `name` leads to: a file under a temporary name until commit(), or a descriptor.
/// @throws UsageError as open_sink
std::unique_ptr<ByteSink> file_sink(const std::filesystem::path& name, Overwrite overwrite);

/// @throws UsageError if standard output is appended to an input
std::unique_ptr<ByteSink> standard_output_sink(Overwrite overwrite);

}  // namespace highwater
