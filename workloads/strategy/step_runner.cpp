#include "workloads/strategy/step_runner.hpp"

namespace highwater {

std::optional<SdpaBackend> forced_backend(Attention attention) {
  switch (attention) {
    case Attention::sdpa_flash:
      return SdpaBackend::flash;
    case Attention::sdpa_efficient:
      return SdpaBackend::efficient;
    case Attention::sdpa_math:
      return SdpaBackend::math;
    case Attention::sdpa_cudnn:
      return SdpaBackend::cudnn;
    case Attention::eager:
    case Attention::sdpa:
    case Attention::flex:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace highwater
