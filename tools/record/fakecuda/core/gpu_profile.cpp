#include "tools/record/fakecuda/core/gpu_profile.hpp"

#include <array>
#include <limits>
#include <optional>

#include "tools/record/fakecuda/core/environment.hpp"

namespace highwater::fakecuda {
namespace {

constexpr std::string_view kVariable = "FAKE_CUDA_GPU";

/// A row of "capabilities" in workloads/facts/gpus.json, which says where the numbers come from.
struct CapabilityLimits {
  std::string_view capability;
  int threads, blocks;                    ///< resident on one multiprocessor
  int shared_kibibytes, block_kibibytes;  ///< of a multiprocessor; of a block that opts in
  int l2_mebibytes;
};

constexpr std::array kLimits = {
#include FAKECUDA_CAPABILITIES
};

int to_int(std::string_view text, std::string_view value) {
  const std::optional<std::uint64_t> number = parse_size(value);
  if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    reject_environment(kVariable, text, "'" + std::string(value) + "' is not a number");
  }
  return static_cast<int>(*number);
}

std::uint64_t to_bytes(std::string_view text, std::string_view value) {
  const std::optional<std::uint64_t> number = parse_size(value);
  if (!number || *number == 0) {
    reject_environment(kVariable, text, "'" + std::string(value) + "' is not a size in bytes");
  }
  return *number;
}

void set_field(GpuProfile& gpu, std::string_view text, std::string_view key,
               std::string_view value) {
  if (key == "name") {
    gpu.name = value;
  } else if (key == "major") {
    gpu.major = to_int(text, value);
  } else if (key == "minor") {
    gpu.minor = to_int(text, value);
  } else if (key == "multiprocessors") {
    gpu.multiprocessors = to_int(text, value);
  } else if (key == "memory") {
    gpu.memory = to_bytes(text, value);
  } else if (key == "clock") {
    gpu.clock_megahertz = to_int(text, value);
  } else if (key == "memory_clock") {
    gpu.memory_clock_megahertz = to_int(text, value);
  } else if (key == "threads") {
    gpu.threads_per_multiprocessor = to_int(text, value);
  } else if (key == "blocks") {
    gpu.blocks_per_multiprocessor = to_int(text, value);
  } else if (key == "l2") {
    gpu.l2_bytes = to_bytes(text, value);
  } else if (key == "shared_sm") {
    gpu.shared_per_multiprocessor = to_bytes(text, value);
  } else if (key == "shared_block") {
    gpu.shared_per_block = to_bytes(text, value);
  } else {
    reject_environment(kVariable, text,
                       "unknown key '" + std::string(key) +
                           "'; known are name, major, minor, multiprocessors, memory, clock, "
                           "memory_clock, threads, blocks, l2, shared_sm, shared_block");
  }
}

void set_fields(GpuProfile& gpu, std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find(';'));
    rest.remove_prefix(field.size() + (field.size() < rest.size() ? 1 : 0));
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) {
      reject_environment(kVariable, text, "'" + std::string(field) + "' is not key=value");
    }
    set_field(gpu, text, field.substr(0, equals), field.substr(equals + 1));
  }
}

const CapabilityLimits& limits_of(const GpuProfile& gpu, std::string_view text) {
  const std::string capability = std::to_string(gpu.major) + "." + std::to_string(gpu.minor);
  for (const CapabilityLimits& limits : kLimits) {
    if (limits.capability == capability) {
      return limits;
    }
  }
  reject_environment(kVariable, text, "no limits are known for compute capability " + capability);
}

template <class T>
void complete(T& field, T limit) {
  if (field == 0) {
    field = limit;
  }
}

}  // namespace

GpuProfile gpu_profile(std::string_view text) {
  GpuProfile gpu;
  set_fields(gpu, text);
  if (gpu.multiprocessors == 0) {
    reject_environment(kVariable, text, "a GPU has at least one multiprocessor");
  }
  const CapabilityLimits& limits = limits_of(gpu, text);
  complete(gpu.threads_per_multiprocessor, limits.threads);
  complete(gpu.blocks_per_multiprocessor, limits.blocks);
  complete(gpu.l2_bytes, static_cast<std::uint64_t>(limits.l2_mebibytes) << 20);
  complete(gpu.shared_per_multiprocessor, static_cast<std::uint64_t>(limits.shared_kibibytes)
                                              << 10);
  complete(gpu.shared_per_block, static_cast<std::uint64_t>(limits.block_kibibytes) << 10);
  return gpu;
}

}  // namespace highwater::fakecuda
