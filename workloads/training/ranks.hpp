// Which ranks of a job are equivalent.
//
// Ranks differ in what they hold and in what they do: a pipeline stage has its layers, its buffers
// and its number of micro-batches in flight; a shard of parameters whose rows do not divide is
// smaller on the last ranks (shards.hpp). Ranks with the same signature make the same requests, so
// one of each class stands for all of them; ranks_test.cpp compares them, request by request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/plan/parallelism.hpp"

namespace highwater {

struct TrainingPlan;

/// What ranks may differ in, as figures.
struct RankTraits {
  std::int64_t layers = 0;  ///< of its pipeline stage; 0: the job has one stage
  int in_flight = 0;        ///< most forwards of a chunk whose backward has not run, of a pipeline
  bool has_embedding = false;  ///< is the first of several stages
  bool has_head = false;       ///< is the last of them
  double expert_load = 1;      ///< tokens of its experts, in multiples of the mean rank's
  std::int64_t shard = 0;      ///< Shards::held()
};

/// Ranks that make the same requests.
struct RankClass {
  int rank = 0;            ///< the first of them
  std::int64_t ranks = 0;  ///< how many
  RankPlace place;         ///< of the first
  std::int64_t share =
      0;  ///< number of elements that distinguishes shards by size; a larger one takes more memory
  std::string
      what;  ///< "stage 0 of 4, with the embedding", "shard 7 of 8"; "" if there is only one class
  RankTraits traits = {};
};

/// All classes of the job, in order of their first rank. Every rank is in exactly one.
/// @pre plan_problems(plan) is empty
std::vector<RankClass> rank_classes(const TrainingPlan& plan);

/// The same where ranks count as alike that hold equally much, in parts of other sizes: found
/// without making a model, and much fewer in a large job.
std::vector<RankClass> coarse_rank_classes(const TrainingPlan& plan);

/// The first, the last and the largest shard of each pipeline stage: the extremes, since shards can
/// differ in hundreds of ways.
std::vector<RankClass> representative_ranks(const std::vector<RankClass>& classes);

}  // namespace highwater
