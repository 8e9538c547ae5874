// The releases whose behaviour is imitated.
#pragma once

#include <string>

#include "traces/release.hpp"

namespace highwater {

/// Versions whose behaviour the generator imitates. A later one is taken as the newest known.
struct Versions {
  std::string torch{kNewestTorch};
  std::string transformers{kNewestTransformers};
  std::string deepspeed = "0.19";
  std::string transformer_engine = "2.20";
  std::string torchtitan = "0.0";  ///< the published code; --framework torchtitan: 0.3
};

}  // namespace highwater
