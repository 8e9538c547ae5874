#include "workloads/distributed/communicators.hpp"

#include <algorithm>

#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/tensor_grid.hpp"

namespace highwater::dist {
namespace {

using namespace literals;

/// Ranks per machine; NCCL connects pairs on different machines through proxies on the host.
constexpr int kRanksOfMachine = 8;

constexpr Bytes kOfEachPeer{(4'340'000'000 - 1'060'000'000) / (kRanksOfMachine - 1)};

enum class Pattern : std::uint8_t { ring, all_to_all };

Bytes memory_of(int ranks, Pattern pattern) {
  const Bytes ring = ranks == 2 ? 544_MiB : 688_MiB;
  const auto peers = static_cast<std::uint64_t>(std::min(ranks, kRanksOfMachine) - 1);
  return pattern == Pattern::all_to_all ? ring + kOfEachPeer * peers : ring;
}

struct GridGroup {
  std::string_view axis;
  int ranks;
};

// A grid's layers communicate along its sides, never all at once.
std::vector<GridGroup> tensor_groups(const Parallelism& p) {
  if (!splits_over_grid(p)) {
    return {{"tensor parallel", p.tp}};
  }
  const int side = grid_side(p);
  if (p.tp_kind != TensorParallel::colossalai_3d) {
    return {{"rows of the grid", side}, {"columns of the grid", side}};
  }
  return {{"rows of the cube", side},
          {"columns of the cube", side},
          {"layers of the cube", side},
          {"rows and columns of the cube", side * side},
          {"layers and columns of the cube", side * side}};
}

void add_group(std::vector<Communicator>& list, const Parallelism& parallel, std::string_view axis,
               int ranks, Pattern pattern) {
  if (ranks > 1 && parallel.backend == CommBackend::nccl) {
    list.push_back({axis, ranks, memory_of(ranks, pattern)});
  }
}

}  // namespace

std::vector<Communicator> communicators(const Parallelism& parallel) {
  std::vector<Communicator> list;
  const auto add = [&](std::string_view axis, int ranks, Pattern pattern) {
    add_group(list, parallel, axis, ranks, pattern);
  };
  add("data parallel", parallel.dp * parallel.cp, Pattern::ring);
  for (const GridGroup& group : tensor_groups(parallel)) {
    add(group.axis, group.ranks, Pattern::ring);
  }
  add("second copies of the parameters",
      std::min(parallel.zero.hpz_partition_size, parallel.dp * parallel.cp), Pattern::ring);
  add("pipeline parallel", parallel.pp, Pattern::ring);
  add("context parallel", parallel.cp,
      exchanges_heads(parallel) ? Pattern::all_to_all : Pattern::ring);
  add("expert parallel", parallel.ep, Pattern::all_to_all);
  return list;
}

std::vector<Communicator> gemini_communicators(const Parallelism& parallel) {
  std::vector<Communicator> list;
  const auto add = [&](std::string_view axis, int ranks) {
    add_group(list, parallel, axis, ranks, Pattern::ring);
  };
  add("default group", parallel.dp * parallel.tp);
  add("all ranks, chunks of what every rank has", parallel.dp * parallel.tp);
  if (parallel.dp > 1 && parallel.tp > 1) {  // else one of them is the list of all ranks
    add("data parallel", parallel.dp);
    add("tensor parallel", parallel.tp);
  }
  return list;
}

}  // namespace highwater::dist
