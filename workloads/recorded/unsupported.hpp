// How the readers of a recorded case give up: the case then says why instead of having a plan.
#pragma once

#include <string>

namespace highwater::recorded {

/// Caught where the case is read.
struct Unsupported {
  std::string reason;
};

}  // namespace highwater::recorded
