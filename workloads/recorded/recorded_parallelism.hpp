// How a recorded case was spread over ranks: its fields `dist`, `no_sync` and `rig`.
//
// Each kind of `dist` has its own fields; an unknown field makes the case unsupported, since it
// could change what the allocator sees. Recordings of Megatron-Core are read elsewhere.
#pragma once

#include "workloads/json/json_field.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::recorded {

/// @throws Unsupported
Parallelism read_parallelism(const JsonField& fields);

}  // namespace highwater::recorded
