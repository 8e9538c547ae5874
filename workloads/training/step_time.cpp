#include "workloads/training/step_time.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/plan/model/parameter_count.hpp"

namespace highwater {
namespace {

/// Share of peak throughput that the matrix products of language models reach, according to
/// published training reports: 40 to 50 % (Narayanan et al., arXiv 2104.04473, table 1).
constexpr double kUtilization = 0.45;

/// Nominal boost clocks are within a quarter of it on all architectures.
constexpr double kClock = 1.5e9;

constexpr double kPcieBytesPerSecond = 25e9;
constexpr int kRanksOfMachine = 8;
constexpr double kNetworkBytesPerSecond = 50e9;  ///< 400 Gbit/s for each GPU

// Dense half-precision operations per multiprocessor and clock (NVIDIA's architecture white papers:
// Pascal, Volta, Turing, Ampere, Hopper, Blackwell).
double operations_per_clock(const Gpu& gpu) {
  switch (gpu.major) {
    case 6:
      return 256;
    case 7:
      return 1024;
    case 8:
      return gpu.minor == 0 ? 2048 : 1024;
    case 9:
      return 4096;
    case 10:
      return 8192;
    default:
      return 1024;
  }
}

bool is_half(Precision precision) {
  return precision != Precision::fp32;
}

double operations_per_second(const TrainingPlan& plan) {
  const bool computes_half = is_half(plan.precision) || plan.parallel.fsdp.param_dtype;
  // TF32 runs at half the rate where tensor cores have it; before that fp32 has 128 per clock.
  const double fp32 = plan.gpu.major >= 8 ? operations_per_clock(plan.gpu) / 2 : 128;
  const double rate = computes_half ? operations_per_clock(plan.gpu) : fp32;
  return kUtilization * kClock * plan.gpu.multiprocessors * rate;
}

// NVLink in one direction, of the boards that have it (data sheets of V100, A100, H100, B200).
double link_bytes_per_second(const Gpu& gpu) {
  const bool is_pcie_board = gpu.name.find("pcie") != std::string_view::npos;
  if (is_pcie_board || gpu.minor != 0) {
    return kPcieBytesPerSecond;
  }
  switch (gpu.major) {
    case 6:
      return 80e9;
    case 7:
      return 150e9;
    case 8:
      return 300e9;
    case 9:
      return 450e9;
    case 10:
      return 900e9;
    default:
      return kPcieBytesPerSecond;
  }
}

/// The bandwidth of a group whose ranks are `stride` apart: its traffic leaves the machine if it
/// spans more than one.
double rate_of_group(const Gpu& gpu, int ranks, int stride) {
  const double link = link_bytes_per_second(gpu);
  return ranks * stride > kRanksOfMachine ? std::min(link, kNetworkBytesPerSecond) : link;
}

double through_ring(double bytes, int ranks) {
  return bytes * (ranks - 1) / ranks;
}

double mean_tokens(const TrainingPlan& plan) {
  return static_cast<double>(std::accumulate(plan.seq.begin(), plan.seq.end(), std::int64_t{0})) /
         static_cast<double>(plan.seq.size());
}

double bytes_of_compute(const TrainingPlan& plan) {
  const auto& param = plan.parallel.fsdp.param_dtype;
  return static_cast<double>(param ? item_size(*param) : is_half(plan.precision) ? 2 : 4);
}

bool shards_parameters(const Parallelism& p) {
  return p.dp_kind == DataParallel::zero3 || p.dp_kind == DataParallel::fsdp1 ||
         p.dp_kind == DataParallel::fsdp2;
}

double offloaded_bytes(const TrainingPlan& plan, double parameters) {
  switch (plan.parallel.offload) {
    case Offload::none:
    case Offload::activations:
      return 0;
    case Offload::optimizer:
      return 2 * bytes_of_compute(plan) * parameters /
             plan.parallel.dp;  // gradients out, values in
    case Offload::params:
    case Offload::both:
      return 4 * bytes_of_compute(plan) * parameters / plan.parallel.dp;
  }
  return 0;
}

// The share of blocks whose whole forward runs again. Selective kinds recompute only little.
double recomputed_share(const Checkpoint& checkpoint) {
  switch (checkpoint.kind) {
    case CheckpointKind::full:
      return 1;
    case CheckpointKind::every_n:
      return 1.0 / checkpoint.n;
    case CheckpointKind::none:
    case CheckpointKind::selective_op:
    case CheckpointKind::selective_attention:
      return 0;
  }
  return 0;
}

}  // namespace

double StepTime::total() const {
  const double beside = context_parallel + data_parallel + offload;
  return std::max(compute, beside) + bubble + tensor_parallel;
}

StepTime step_time(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  const ModelShape shape = shape_of(plan.model);
  const auto layers = static_cast<double>(shape.layers + shape.decoder_layers);
  const auto hidden = static_cast<double>(shape.hidden);
  const double parameters = static_cast<double>(parameter_count(plan.model.config).trainable());
  const double tokens = mean_tokens(plan) * static_cast<double>(plan.batch) * plan.grad_accum;
  const double again = recomputed_share(plan.checkpoint);
  const double passes = plan.training ? 1 + again / 3 : 1.0 / 3;
  const double held = parameters / (p.tp * p.pp);  // by this rank, before sharding
  const double element = bytes_of_compute(plan);

  StepTime time;
  const double operations =
      tokens * passes * (6 * parameters + 6 * layers * hidden * mean_tokens(plan));
  time.compute = operations / (p.tp * p.pp * p.cp) / operations_per_second(plan);
  // Without any overlap a stage waits for all others in each micro-batch.
  const int overlapping = p.schedule == PipelineSchedule::naive ? 1 : plan.grad_accum;
  time.bubble = time.compute * (p.pp - 1) / overlapping;
  const double activation = tokens / p.cp * hidden * element;
  const double all_reduces = 4 + 2 * again;
  time.tensor_parallel = all_reduces * layers / p.pp * 2 * through_ring(activation, p.tp) /
                         rate_of_group(plan.gpu, p.tp, 1);
  time.context_parallel =
      3 * layers / p.pp * 2 * through_ring(activation, p.cp) / rate_of_group(plan.gpu, p.cp, p.tp);
  const double gathers = shards_parameters(p) ? 2.0 * plan.grad_accum : 1;
  const int shards = data_group(p).ranks / p.fsdp.replicas;  // HSDP: neighbours
  time.data_parallel =
      (gathers + 1) * through_ring(held * element, shards) / rate_of_group(plan.gpu, shards, p.tp) +
      2 * through_ring(held * element / shards, p.fsdp.replicas) /
          rate_of_group(plan.gpu, p.fsdp.replicas, p.tp * shards);
  time.offload = offloaded_bytes(plan, held) / kPcieBytesPerSecond;
  return time;
}

double sequences_per_second(const TrainingPlan& plan) {
  const double sequences = static_cast<double>(plan.batch) * plan.grad_accum * plan.parallel.dp;
  return sequences / step_time(plan).total();
}

}  // namespace highwater
