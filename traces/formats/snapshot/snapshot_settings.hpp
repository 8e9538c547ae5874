// The small parts of a snapshot: allocator_settings and external_annotations.
#pragma once

#include <vector>

#include "traces/formats/snapshot/snapshot_assembly.hpp"
#include "traces/recording.hpp"

namespace highwater::detail {

/// Adds the keys of `settings` to `keys`. @throws FieldProblem, PathProblem
RecordedSettings assemble_settings(SnapshotStore& store, PickleValue settings, KeySet& keys);

/// @throws FieldProblem, PathProblem
std::vector<Annotation> assemble_annotations(SnapshotStore& store, PickleValue annotations,
                                             ExpansionBudget& budget);

}  // namespace highwater::detail
