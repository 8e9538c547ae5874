#include "tools/record/record_environment.hpp"

#include <algorithm>
#include <string_view>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/record/gpu_clocks.hpp"
#include "tools/record/user_cache.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

constexpr const char* kKeptAnswers = "highwater-cudnn";

// The most GPUs per node here; a larger world spreads over several nodes.
constexpr std::uint32_t kGpusPerNode = 8;

std::string gpu_text(const Gpu& gpu) {
  std::string text =
      fmt::format("name={};major={};minor={};multiprocessors={};threads={};memory={}",
                  gpu.description, gpu.major, gpu.minor, gpu.multiprocessors,
                  gpu.max_threads_per_multiprocessor, gpu.total_memory.count());
  if (const auto clocks = clocks_of(gpu)) {
    text += fmt::format(";clock={};memory_clock={}", clocks->multiprocessors, clocks->memory);
  }
  return text;
}

/// Used for whatever release the command runs: newer ones need about as much.
Bytes context_of(const Gpu& gpu) {
  return outside_memory(gpu, "").context;
}

/// A group of that many ranks, whatever its axis: reductions and gathers go around a ring.
Bytes ring_of(int ranks) {
  Parallelism group;
  group.dp = ranks;
  const std::vector<dist::Communicator> rings = dist::communicators(group);
  return rings.empty() ? Bytes{} : rings.front().memory;
}

void describe_device(const RecordRequest& request, Environment& environment) {
  environment["FAKE_CUDA_GPU"] = gpu_text(request.gpu);
  environment["FAKE_CUDA_DEVICES"] =
      std::to_string(std::clamp<std::uint32_t>(request.world, 1, kGpusPerNode));
  if (request.capacity) {
    environment["FAKE_CUDA_CAPACITY"] = std::to_string(request.capacity->count());
  } else {
    environment["FAKE_CUDA_CONTEXT"] = std::to_string(context_of(request.gpu).count());
  }
  if (request.event_lag != 0) {
    environment["FAKE_CUDA_EVENT_LAG"] = std::to_string(request.event_lag);
  }
  // Set by users who want to hide the GPUs; here one is wanted.
  environment.erase("CUDA_VISIBLE_DEVICES");
}

void describe_ranks(const RecordRequest& request, Environment& environment) {
  if (request.world == 0) {
    return;
  }
  const std::uint32_t on_node = std::min(request.world, kGpusPerNode);
  environment["WORLD_SIZE"] = std::to_string(request.world);
  environment["RANK"] = std::to_string(request.rank);
  environment["LOCAL_RANK"] = std::to_string(request.rank % on_node);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(on_node);
  environment.try_emplace("MASTER_ADDR", "127.0.0.1");
  environment.try_emplace("MASTER_PORT", "29500");
  environment["HIGHWATER_RECORD_WORLD_SIZE"] = std::to_string(request.world);
  environment["HIGHWATER_RECORD_RANK"] = std::to_string(request.rank);
}

std::string description(const RecordRequest& request) {
  boost::json::object text;
  text["gpu"] = request.gpu.name;
  text["capacity_bytes"] =
      request.capacity ? request.capacity->count() : request.gpu.total_memory.count();
  text["world_size"] = request.world;
  text["rank"] = request.rank;
  return boost::json::serialize(text);
}

void prepend(Environment& environment, const std::string& name, const std::string& folder) {
  std::string& value = environment[name];
  value = value.empty() ? folder : folder + ":" + value;
}

}  // namespace

Bytes memory_for_allocator(const RecordRequest& request) {
  return request.capacity.value_or(request.gpu.total_memory - context_of(request.gpu));
}

std::string outside_text(const RecordRequest& request, const std::string& torch,
                         const std::vector<int>& communicators) {
  const OutsideMemory outside = outside_memory(request.gpu, torch);
  std::string text = fmt::format(
      "not in these figures, since it lies outside the allocator: CUDA context and kernels, about "
      "{} ({}){}",
      to_iec(outside.context), outside.source,
      request.capacity ? "" : ", which the limit of the GPU leaves out");
  for (const int ranks : communicators) {
    text += ranks < 2 ? ""
                      : fmt::format(
                            "; NCCL's communicator of {} ranks, about {} (a ring, measured on "
                            "A100s with NVLink, github.com/NVIDIA/nccl/issues/964; other "
                            "topologies, releases and all-to-all differ), which no limit "
                            "leaves out",
                            ranks, to_iec(ring_of(ranks)));
  }
  return text;
}

Environment current_environment() {
  Environment result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      result.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return result;
}

Environment record_environment(const RecordRequest& request, const std::filesystem::path& files,
                               const std::filesystem::path& status, Environment base) {
  describe_device(request, base);
  describe_ranks(request, base);
  prepend(base, "PYTHONPATH", (files / "python").string());
  base["HIGHWATER_RECORD_STATUS"] = status.string();
  base["HIGHWATER_RECORD_OUTPUT"] = std::filesystem::absolute(request.output).string();
  base["HIGHWATER_RECORD_LIBRARIES"] = (files / "fakecuda").string();
  base["HIGHWATER_RECORD_STEPS"] = std::to_string(request.steps);
  base["HIGHWATER_RECORD_FINISH_STEP"] = request.finish_step ? "1" : "";
  base["HIGHWATER_RECORD_STACKS"] = request.stacks;
  base["HIGHWATER_RECORD_CUDNN"] =
      request.cudnn.empty() ? "" : std::filesystem::absolute(request.cudnn).string();
  base["HIGHWATER_RECORD_CUDNN_CACHE"] = user_cache_folder(kKeptAnswers).string();
  base["HIGHWATER_RECORD_ANSWERS"] = request.answers;
  base["HIGHWATER_RECORD_MOE_LOAD"] = request.moe_load;
  base["HIGHWATER_RECORD_DESCRIBED"] = description(request);
  return base;
}

}  // namespace highwater
