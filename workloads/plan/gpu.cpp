#include "workloads/plan/gpu.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace highwater {
namespace {

using namespace literals;

// What torch.cuda.get_device_properties prints as total_memory is totalGlobalMem in whole MiB, so
// figures from there are exact to 1 MiB. Drivers differ by some 10 MiB between releases.
constexpr std::string_view kPrinted = "total_memory printed by torch.cuda.get_device_properties";
constexpr std::string_view kRecorded =
    "device properties of real cards, as used for the recordings";
constexpr std::string_view kNominal =
    "nominal size (10^9 bytes per GB); torch reports a little less";

constexpr Bytes nominal(std::uint64_t gigabytes) {
  return Bytes{gigabytes * 1000 * 1000 * 1000};
}

constexpr std::array<Gpu, 29> kGpus{{
    {"a100-80", "NVIDIA A100 80GB", 81050_MiB, 8, 0, 108, 2048, kRecorded},
    {"a100-40", "NVIDIA A100 40GB", 42298834944_B, 8, 0, 108, 2048,
     "deviceQuery, github.com/bottlerocket-os/bottlerocket/pull/3873"},
    {"h100-80", "NVIDIA H100 80GB HBM3", 81008_MiB, 9, 0, 132, 2048, kRecorded},
    {"h100-pcie", "NVIDIA H100 PCIe", 81008_MiB, 9, 0, 114, 2048, kPrinted},
    {"h100-nvl", "NVIDIA H100 NVL", 99456909312_B, 9, 0, 132, 2048,
     "total_memory printed by torch 2.5.1 (CUDA 12.4)"},
    {"h100-96", "NVIDIA H100 96GB HBM3", nominal(96), 9, 0, 132, 2048, kNominal},
    {"h200", "NVIDIA H200", 143156_MiB, 9, 0, 132, 2048, kPrinted},
    {"gh200", "NVIDIA GH200 96GB", nominal(96), 9, 0, 132, 2048, kNominal},
    {"b200", "NVIDIA B200", 182631_MiB, 10, 0, 148, 2048, kPrinted},
    {"v100-16", "Tesla V100 16GB", 16160_MiB, 7, 0, 80, 2048, kRecorded},
    {"v100-32", "Tesla V100 32GB", 32510_MiB, 7, 0, 80, 2048, kPrinted},
    {"p100-16", "Tesla P100 16GB", 16280_MiB, 6, 0, 56, 2048, kPrinted},
    {"l40s", "NVIDIA L40S", 45589_MiB, 8, 9, 142, 1536, kPrinted},
    {"l40", "NVIDIA L40", 45465_MiB, 8, 9, 142, 1536,
     "44.40 GiB in torch's out-of-memory message, github.com/NVlabs/Eagle/issues/68"},
    {"l4", "NVIDIA L4", nominal(24), 8, 9, 58, 1536, kNominal},
    {"t4", "Tesla T4", 15102_MiB, 7, 5, 40, 1024, kPrinted},
    {"a40", "NVIDIA A40", 45416_MiB, 8, 6, 84, 1536, kPrinted},
    {"a10g", "NVIDIA A10G", 22587_MiB, 8, 6, 80, 1536, kPrinted},
    {"a10", "NVIDIA A10", nominal(24), 8, 6, 72, 1536, kNominal},
    {"rtx6000-ada", "NVIDIA RTX 6000 Ada Generation", 48622_MiB, 8, 9, 142, 1536, kPrinted},
    {"rtxa6000", "NVIDIA RTX A6000", 48676_MiB, 8, 6, 84, 1536, kPrinted},
    {"rtxa5000", "NVIDIA RTX A5000", 24138_MiB, 8, 6, 64, 1536, kPrinted},
    {"rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell", nominal(96), 12, 0, 188, 1536, kNominal},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 33677180928_B, 12, 0, 170, 1536,
     "deviceQuery, github.com/aikitoria/open-gpu-kernel-modules/issues/1"},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 24207_MiB, 8, 9, 128, 1536,
     "23.64 GiB in torch's out-of-memory message, github.com/ali-vilab/VGen/issues/104"},
    {"rtx4080", "NVIDIA GeForce RTX 4080", nominal(16), 8, 9, 76, 1536, kNominal},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 24268_MiB, 8, 6, 82, 1536,
     "total_memory in Hugging Face's documentation (transformers, DeepSpeed)"},
    {"rtx3060", "NVIDIA GeForce RTX 3060", 12044_MiB, 8, 6, 28, 1536, kPrinted},
    {"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", 11019_MiB, 7, 5, 68, 1024, kPrinted},
}};

/// Other spellings, as normalized() writes them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kSpellings{{
    {"a100", "a100-80"},     {"a100sxm480gb", "a100-80"}, {"a10080gb", "a100-80"},
    {"a10040gb", "a100-40"}, {"h100", "h100-80"},         {"h10080gb", "h100-80"},
    {"h100sxm", "h100-80"},  {"h10094", "h100-nvl"},      {"h10094gb", "h100-nvl"},
    {"h10096gb", "h100-96"}, {"h20080", "h200"},          {"h200141", "h200"},
    {"gh20096", "gh200"},    {"v100", "v100-16"},         {"v10032gb", "v100-32"},
    {"v10016gb", "v100-16"}, {"a6000", "rtxa6000"},       {"6000ada", "rtx6000-ada"},
    {"p100", "p100-16"},
}};

/// Lower case letters and digits only, without the maker: "NVIDIA A100-80GB" -> "a10080gb".
std::string normalized(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      result += static_cast<char>(std::tolower(byte));
    }
  }
  for (const std::string_view maker : {"nvidia", "tesla", "geforce"}) {
    if (result.starts_with(maker)) {
      result.erase(0, maker.size());
    }
  }
  return result;
}

/// A GPU that somebody described by its size, with the texts that it refers to.
struct SizedGpu {
  std::string name;
  std::string description;
  Gpu gpu;
};

void complete(SizedGpu& sized, Bytes size) {
  sized.description = fmt::format("any GPU of {}, computed as {}", sized.name, kGpus.front().name);
  sized.gpu = kGpus.front();
  sized.gpu.name = sized.name;
  sized.gpu.description = sized.description;
  sized.gpu.total_memory = size;
  sized.gpu.source = "the size asked for";
}

/// The same object for the same name; it lives as long as the program.
const Gpu* sized_gpu(std::string_view name, Bytes size) {
  static std::mutex lock;
  static std::list<SizedGpu> sizes;
  const std::lock_guard guard(lock);
  const auto found = std::ranges::find(sizes, name, &SizedGpu::name);
  if (found != sizes.end()) {
    return &found->gpu;
  }
  complete(sizes.emplace_back(SizedGpu{std::string(name), {}, {}}), size);
  return &sizes.back().gpu;
}

/// "24GiB"; digits without a unit are part of a name ("4090").
std::optional<Bytes> size_in(std::string_view name) {
  const bool has_unit = !name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) == 0;
  return has_unit ? parse_bytes(name) : std::nullopt;
}

}  // namespace

std::span<const Gpu> known_gpus() {
  return kGpus;
}

// A size is a spelling, too: the default GPU with that memory.
const Gpu* find_gpu(std::string_view name) {
  const std::string wanted = normalized(name);
  const auto* const spelling = std::ranges::find(
      kSpellings, std::string_view(wanted), &std::pair<std::string_view, std::string_view>::first);
  const std::string meant = spelling == kSpellings.end() ? wanted : normalized(spelling->second);
  const auto* const found = std::ranges::find_if(kGpus, [&](const Gpu& gpu) {
    return normalized(gpu.name) == meant || normalized(gpu.description) == meant;
  });
  if (found != kGpus.end()) {
    return found;
  }
  const std::optional<Bytes> size = size_in(name);
  return size ? sized_gpu(name, *size) : nullptr;
}

const Gpu& default_gpu() {
  return kGpus.front();
}

}  // namespace highwater
