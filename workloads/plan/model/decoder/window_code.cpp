#include "workloads/plan/model/decoder/window_code.hpp"

namespace highwater {

bool has_switch(WindowedLayers windows) {
  return windows == WindowedLayers::listed || windows == WindowedLayers::unrotated ||
         windows == WindowedLayers::switched || windows == WindowedLayers::early_alternate;
}

}  // namespace highwater
