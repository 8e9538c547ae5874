// The recorded operators of a symbolic PyTorch run: a flat log in the order in which operators
// finished. ComputeGraph turns it into a graph.
//
// Blocks are named by their allocation: views of one storage are one block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/ids.hpp"

namespace highwater {

using OpId = Id<struct OpTag>;  ///< an operator; ids count in schedule order

enum class OperatorKind : std::uint8_t {
  source,     ///< an allocation outside of any operator: parameters, inputs, the optimizer
  forward,    ///< an operator that the model's code called
  recompute,  ///< the same, called again by checkpointing
  backward,   ///< one autograd node at work, or a sum of gradients between nodes
};

/// How an operator uses a block.
enum class BlockRole : std::uint8_t {
  input,   ///< reads it, or writes into it in place
  output,  ///< created it and left it alive
  saved,   ///< its autograd node keeps it for backward
};

struct GraphBlock {
  AllocationId block;
  BlockRole role = BlockRole::input;
};

/// One operator; its blocks are a range of GraphRecording::blocks.
struct RecordedOperator {
  const char* name = "";  ///< a literal; of a forward operator its node's, "AddmmBackward0"
  OperatorKind kind = OperatorKind::forward;
  std::uint32_t module = 0;       ///< index into GraphRecording::modules
  std::uint64_t begin = 0;        ///< events of the trace before the operator began
  std::uint64_t end = 0;          ///< events of the trace when it had ended
  std::uint64_t sequence_nr = 0;  ///< autograd's number of the node, if there is one
  OpId forward;                   ///< of backward operators: whose gradient they compute
  std::uint32_t first_block = 0;
  std::uint32_t block_count = 0;
};

struct GraphRecording {
  std::vector<RecordedOperator> operators;  ///< by OpId
  std::vector<GraphBlock> blocks;
  std::vector<std::string> modules;
};

}  // namespace highwater
