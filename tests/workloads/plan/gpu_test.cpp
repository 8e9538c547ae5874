// GPUs: the figures of the recordings exactly, and names as people write them.
#include "workloads/plan/gpu.hpp"

#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "workloads/plan/parallelism.hpp"
#include "workloads/training/outside_memory.hpp"

using namespace highwater;
using namespace highwater::literals;

TEST_CASE("gpu: the recordings' cards have the recorded properties", "[gpu]") {
  CHECK(default_gpu().name == "a100-80");
  CHECK(default_gpu().total_memory == Bytes{84987084800});
  CHECK(find_gpu("h100-80")->total_memory == 81008_MiB);
  CHECK(find_gpu("v100-16")->total_memory == 16160_MiB);
  CHECK(find_gpu("h100-80")->multiprocessors == 132);
  CHECK(find_gpu("v100-16")->major == 7);
}

TEST_CASE("gpu: names in any case, with or without maker and dashes", "[gpu]") {
  for (const auto* const name : {"A100", "a100-80GB", "NVIDIA A100 80GB", "a100_80"}) {
    REQUIRE(find_gpu(name) != nullptr);
    CHECK(find_gpu(name)->name == "a100-80");
  }
  CHECK(find_gpu("RTX 4090")->name == "rtx4090");
  CHECK(find_gpu("nvidia-h200")->name == "h200");
  CHECK(find_gpu("banana") == nullptr);
  CHECK(find_gpu("") == nullptr);
}

TEST_CASE("gpu: a size is a GPU of that size", "[gpu]") {
  const Gpu* const gpu = find_gpu("24GiB");
  REQUIRE(gpu != nullptr);
  CHECK(gpu->name == "24GiB");
  CHECK(gpu->total_memory == 24_GiB);
  CHECK(gpu->multiprocessors == default_gpu().multiprocessors);
  CHECK(find_gpu("24GiB") == gpu);
  CHECK(find_gpu("24.5GB")->total_memory == Bytes{24'500'000'000});
  CHECK(find_gpu("3080") == nullptr);
  CHECK(find_gpu("24") == nullptr);
}

TEST_CASE("gpu: GB are those of the shop", "[gpu]") {
  CHECK(find_gpu("80GB")->total_memory == find_gpu("a100-80")->total_memory);
  CHECK(find_gpu("80 gb")->total_memory == find_gpu("a100-80")->total_memory);
  CHECK(find_gpu("24GB")->total_memory == find_gpu("rtx3090")->total_memory);
  CHECK(find_gpu("24G")->total_memory == find_gpu("rtx3090")->total_memory);
  CHECK(find_gpu("24GB")->description ==
        "any GPU of 24GB as sold (22.06 GiB to 23.70 GiB, by model), computed as a100-80");
  CHECK(find_gpu("40GB")->description ==
        "any GPU of 40GB as sold (39.39 GiB), computed as a100-80");
  CHECK(find_gpu("20GB")->total_memory == Bytes{(20ULL << 30) / 1000 * 985});  // no known GPU
  CHECK(find_gpu("99999999999999999999GB") == nullptr);
}

TEST_CASE("gpu: H100s of all sizes", "[gpu]") {
  CHECK(find_gpu("h100-96")->total_memory == Bytes{96'000'000'000});
  CHECK(find_gpu("H100 94GB")->name == "h100-nvl");
}

TEST_CASE("gpu: every entry is complete and unique", "[gpu]") {
  std::set<std::string_view> names;
  for (const Gpu& gpu : known_gpus()) {
    INFO(gpu.name);
    CHECK(names.insert(gpu.name).second);
    CHECK(find_gpu(gpu.name) == &gpu);
    CHECK(find_gpu(gpu.description) == &gpu);
    CHECK(gpu.total_memory > 8_GiB);
    CHECK(gpu.major >= 6);
    CHECK(gpu.multiprocessors > 0);
    CHECK_FALSE(gpu.source.empty());
  }
}

TEST_CASE("gpu: threads per multiprocessor follow the architecture", "[gpu]") {
  for (const Gpu& gpu : known_gpus()) {
    INFO(gpu.name);
    const bool is_consumer = gpu.major == 12 || (gpu.major == 8 && gpu.minor > 0);
    const int threads = gpu.major == 7 && gpu.minor == 5 ? 1024 : is_consumer ? 1536 : 2048;
    CHECK(gpu.max_threads_per_multiprocessor == threads);
  }
}

TEST_CASE("outside memory: an estimate with its source, larger before lazy loading", "[gpu]") {
  for (const Gpu& gpu : known_gpus()) {
    const OutsideMemory now = outside_memory(gpu, "2.6");
    CHECK(now.context >= 200_MiB);
    CHECK(now.context <= 1_GiB);
    CHECK_FALSE(now.source.empty());
    CHECK(outside_memory(gpu, "1.12.1+cu116").context > now.context);
    CHECK(outside_memory(gpu, "nightly").context == now.context);
    CHECK(outside_memory(gpu, "1.13").context == now.context);
  }
}
