#include "workloads/plan/gpu.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "traces/parse_text.hpp"
#include "workloads/facts/facts.hpp"

namespace highwater {
namespace {

/// "8.9" as its two numbers.
std::pair<int, int> capability_of(const JsonField& row) {
  const std::vector<std::string> parts = split(row.text(), '.');
  const auto major = parse_number<int>(parts.front());
  const auto minor = parse_number<int>(parts.back());
  if (parts.size() != 2 || !major || !minor) {
    row.fail("expected a compute capability such as 8.0");
  }
  return {*major, *minor};
}

/// The row of CUDA's limits for the GPU's capability.
JsonField limits_of(const JsonField& row) {
  const std::string_view capability = row.at("capability").view();
  for (const JsonField& limits : facts("gpus.json").at("capabilities").elements()) {
    if (limits.at("capability").view() == capability) {
      return limits;
    }
  }
  row.at("capability").fail("add its limits to 'capabilities'");
}

Gpu gpu_of(const JsonField& row) {
  const auto [major, minor] = capability_of(row.at("capability"));
  return {.name = row.at("name").view(),
          .description = row.at("description").view(),
          .total_memory = Bytes{row.at("total_memory_bytes").count()},
          .major = major,
          .minor = minor,
          .multiprocessors = row.at("multiprocessors").small_count(),
          .max_threads_per_multiprocessor = limits_of(row).at("threads").small_count(),
          .source = row.at("source").view()};
}

std::vector<Gpu> read_gpus() {
  std::vector<Gpu> gpus;
  std::ranges::transform(facts("gpus.json").at("gpus").elements(), std::back_inserter(gpus),
                         gpu_of);
  return gpus;
}

/// What other spellings, written as normalized() does, mean.
std::unordered_map<std::string, std::string> read_spellings() {
  std::unordered_map<std::string, std::string> spellings;
  for (const JsonField& row : facts("gpus.json").at("gpus").elements()) {
    if (const auto others = row.find("spellings")) {
      for (const JsonField& spelling : others->elements()) {
        spellings.emplace(spelling.text(), row.at("name").text());
      }
    }
  }
  return spellings;
}

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

/// What a size means: the memory to compute with, and a remark about it.
struct GpuSize {
  Bytes memory;
  std::string remark;
};

void complete(SizedGpu& sized, const GpuSize& size) {
  sized.description =
      fmt::format("any GPU of {}{}, computed as {}", sized.name, size.remark, default_gpu().name);
  sized.gpu = default_gpu();
  sized.gpu.name = sized.name;
  sized.gpu.description = sized.description;
  sized.gpu.total_memory = size.memory;
  sized.gpu.source = "the size asked for";
}

/// The same object for the same name; it lives as long as the program.
const Gpu* sized_gpu(std::string_view name, const GpuSize& size) {
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

/// The memory of the known GPUs that are sold with so many GB, ascending.
std::vector<Bytes> memory_of_gpus_sold_with(std::uint64_t gigabytes) {
  std::vector<Bytes> sizes;
  for (const JsonField& row : facts("gpus.json").at("gpus").elements()) {
    if (row.at("sold_gb").count() == gigabytes) {
      sizes.emplace_back(row.at("total_memory_bytes").count());
    }
  }
  std::ranges::sort(sizes);
  return sizes;
}

/// A GPU sold with "24GB" has neither 24 GiB nor 24 * 10^9 bytes: its maker counts in GiB, and
/// keeps a part back. Known ones show how much is left; of others, the share that most of them
/// have.
GpuSize sold_with(std::uint64_t gigabytes) {
  constexpr std::uint64_t kPerMilleLeft = 985;  // the median of the rows of gpus.json
  const std::vector<Bytes> sizes = memory_of_gpus_sold_with(gigabytes);
  if (sizes.empty()) {
    return {Bytes{(gigabytes << 30U) / 1000 * kPerMilleLeft}, " as sold, less 1.5 %"};
  }
  const std::string range =
      sizes.front() == sizes.back()
          ? to_iec(sizes.back())
          : fmt::format("{} to {}, by model", to_iec(sizes.front()), to_iec(sizes.back()));
  return {sizes.back(), fmt::format(" as sold ({})", range)};
}

/// The number of "24GB" and "24 G".
std::optional<std::uint64_t> gigabytes_in(std::string_view name) {
  constexpr std::uint64_t kMost = 1U << 20U;
  const std::string plain = normalized(name);
  const std::string_view number =
      std::string_view(plain).substr(0, plain.find_first_not_of("0123456789"));
  const std::string_view unit = std::string_view(plain).substr(number.size());
  const auto count = parse_number<std::uint64_t>(number);
  const bool is_whole = name.find('.') == std::string_view::npos;
  return is_whole && count && *count <= kMost && (unit == "gb" || unit == "g") ? count
                                                                               : std::nullopt;
}

/// "24GB", "24GiB"; digits without a unit are part of a name ("4090").
std::optional<GpuSize> size_in(std::string_view name) {
  if (const auto gigabytes = gigabytes_in(name)) {
    return sold_with(*gigabytes);
  }
  const bool has_unit = !name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) == 0;
  const auto size = has_unit ? parse_bytes(name) : std::nullopt;
  return size ? std::optional(GpuSize{*size, ""}) : std::nullopt;
}

}  // namespace

std::span<const Gpu> known_gpus() {
  static const std::vector<Gpu> kGpus = read_gpus();
  return kGpus;
}

// A size is a spelling, too: the default GPU with that memory.
const Gpu* find_gpu(std::string_view name) {
  static const std::unordered_map<std::string, std::string> kSpellings = read_spellings();
  const std::string wanted = normalized(name);
  const auto spelling = kSpellings.find(wanted);
  const std::string meant = spelling == kSpellings.end() ? wanted : normalized(spelling->second);
  const auto found = std::ranges::find_if(known_gpus(), [&](const Gpu& gpu) {
    return normalized(gpu.name) == meant || normalized(gpu.description) == meant;
  });
  if (found != known_gpus().end()) {
    return &*found;
  }
  const std::optional<GpuSize> size = size_in(name);
  return size ? sized_gpu(name, *size) : nullptr;
}

const Gpu& default_gpu() {
  return known_gpus().front();
}

}  // namespace highwater
