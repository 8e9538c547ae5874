// Training runs whose layout was published, as options: a start to vary, and a check of what fits.
//
// Each row cites its source. What the source does not say is left to the defaults.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/sources/plan_source.hpp"

namespace highwater {

/// "model-parallel GPUs", 8, became --tp 8.
struct PublishedFact {
  std::string said;
  std::string value;
  std::string option;
  std::string word;
};

/// What no option says.
struct PublishedGap {
  std::string said;
  std::string value;
  std::string why;
  MemorySign sign = MemorySign::either;
};

struct PublishedRun {
  std::string name;
  std::string source;
  std::vector<PublishedFact> facts;
  std::vector<PublishedGap> gaps = {};
};

std::span<const PublishedRun> published_runs();

/// In any case; nullptr if there is none of that name.
const PublishedRun* find_published_run(std::string_view name);

PlanSource plan_of_published(const PublishedRun& run);

/// "bloom-176b, megatron-gpt2-1.2b, ..."
std::string published_run_names();

}  // namespace highwater
