// The environment variables under which a command's PyTorch finds the fake device and is recorded.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tools/record/record_request.hpp"

namespace highwater {

/// What the fake device leaves to the allocator: a GPU's memory minus what a process uses outside
/// the allocator (outside_memory.hpp), or the requested capacity.
Bytes memory_for_allocator(const RecordRequest& request);

/// What a process takes on a real GPU beside what the allocator reserves, with the sources of the
/// figures. `communicators`: the ranks of each of NCCL's.
std::string outside_text(const RecordRequest& request, const std::string& torch,
                         const std::vector<int>& communicators);

using Environment = std::map<std::string, std::string>;

/// This process's own environment.
Environment current_environment();

/// `base` with what the fake device (tools/record/fakecuda) and the recorder
/// (tools/python/recorder) read, and without variables that would hide the device. `files` is where
/// both were unpacked; the recorder appends its progress to `status`.
Environment record_environment(const RecordRequest& request, const std::filesystem::path& files,
                               const std::filesystem::path& status, Environment base);

}  // namespace highwater
