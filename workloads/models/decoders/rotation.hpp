// apply_rotary_pos_emb as the decoders' modelling files write it.
#pragma once

#include "workloads/models/rotary.hpp"
#include "workloads/plan/model/decoder/position_code.hpp"

namespace highwater::models {

/// The variables of an attention's frame that rotations bind.
struct HeadStates {
  Tensor fused;  ///< what queries, keys and values were cut from, where it has a name
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor turned_query;  ///< the turned columns, where the attention itself joins them
  Tensor turned_key;
  Tensor rest_query;  ///< the other columns, views of what was projected
  Tensor rest_key;
  Tensor gate;               ///< what opens the output
  Tensor opened;             ///< the output behind it
  eager::TensorList locals;  ///< what the family's own attention leaves bound
};

/// Turns query and key; the old ones die when both results exist.
void rotate(HeadStates& states, const CosSin& positions, Rotation rotation);

}  // namespace highwater::models
