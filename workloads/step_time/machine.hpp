// How fast a machine computes and communicates: the numbers behind the time of a step.
//
// Each is from a data sheet or a published measurement, none is fitted to training runs. Matrix
// products reach a share of the data sheet's rate, links a share of theirs; the shares are those of
// public benchmarks. Rates and their sources are rows of workloads/facts/gpus.json.
#pragma once

#include <string>

#include "workloads/plan/gpu.hpp"
#include "workloads/step_time/assumptions.hpp"

namespace highwater::timing {

/// Per GPU and second.
struct Machine {
  double half_operations = 0;  ///< dense products of 16-bit matrices, as large ones reach them
  double full_operations = 0;  ///< the same of fp32 (TF32 where tensor cores have it)
  double memory = 0;           ///< bytes of the GPU's memory
  double link = 0;             ///< bytes to the machine's other GPUs, in one direction
  double network = 0;          ///< bytes to other machines, in one direction
  double host = 0;             ///< bytes from and to the host
  int multiprocessors = 0;
};

/// GPUs of one machine: those of DGX and HGX.
inline constexpr int kGpusOfMachine = 8;

/// Whether gpus.json has rates for the GPU.
bool has_rates(const Gpu& gpu);

/// "no rates are known for 24GiB; those of a100-80 are assumed", which whoever shows or compares
/// times has to say; empty if the GPU has rates.
std::string assumed_rates(const Gpu& gpu);

/// A machine of eight such GPUs, or of default_gpu() where the GPU has no rates.
Machine machine_of(const Gpu& gpu, const TimeAssumptions& assumed = {});

/// Bytes per GPU and second to other machines, as data sheets have it or as is assumed.
double nominal_network(const Gpu& gpu, const TimeAssumptions& assumed);

}  // namespace highwater::timing
