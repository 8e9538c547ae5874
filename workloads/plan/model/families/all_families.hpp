// The records of all model families.
#pragma once

#include <span>

#include "workloads/plan/model/family.hpp"

namespace highwater {

/// In the order of the table (families.hpp).
std::span<const Family* const> all_families();

}  // namespace highwater
