#include "workloads/strategy/bucket_use.hpp"

#include <fmt/format.h>

namespace highwater {

std::string describe_empty(const BucketUse& use) {
  const std::string wasted =
      fmt::format("the optimizer's {} buckets of {} MiB keep {} of gradients and states empty",
                  use.chosen.buckets, use.chosen.mb, to_iec(use.empty(use.chosen)));
  return use.right ? fmt::format("{}; --apex-bucket-mb {} keeps {} empty", wasted, use.right->mb,
                                 to_iec(use.empty(*use.right)))
                   : wasted;
}

}  // namespace highwater
