#include "workloads/step_time/assumptions.hpp"

namespace highwater {

std::string_view to_string(TensorSums sums) {
  return sums == TensorSums::beside_products ? "overlapped with matrix products" : "not overlapped";
}

}  // namespace highwater
