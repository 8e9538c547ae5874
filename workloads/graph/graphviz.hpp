// The compute graph as text for Graphviz (`dot -Tsvg`).
#pragma once

#include <string>

#include "workloads/graph/compute_graph.hpp"

namespace highwater {

struct GraphvizOptions {
  OperatorRange range;
  std::string module;  ///< only operators of this module and those below it; empty: all
};

/// Operators as boxes in clusters by module path, blocks as ellipses with their sizes; an edge is
/// dashed where a block is saved for backward. Operators that only create views of blocks are left
/// out.
std::string graphviz(const ComputeGraph& graph, const GraphvizOptions& options);

}  // namespace highwater
