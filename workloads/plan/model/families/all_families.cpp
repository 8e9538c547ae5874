#include "workloads/plan/model/families/all_families.hpp"

#include "workloads/plan/model/families/families.hpp"

namespace highwater {

std::span<const Family* const> all_families() {
  return Families::all;
}

}  // namespace highwater
