#include "workloads/estimates/forms/deepspeed_host.hpp"

namespace highwater {

double deepspeed_pinned_host(double parameters, bool offload_param, bool accumulates) {
  const double bytes_each = !offload_param ? 4 : accumulates ? 6 + 2 : 6;
  return bytes_each * parameters;
}

double deepspeed_checkpoint_parameters(double file_bytes) {
  return file_bytes / 4;
}

}  // namespace highwater
