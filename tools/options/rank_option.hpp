// --rank: which of a job's ranks a question is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/plan/parallelism.hpp"

namespace highwater {

/// A number from 0; what else `text` may be is appended to the complaint: ", all or
/// representative".
std::optional<int> read_rank(const std::string& text, std::string_view others,
                             std::vector<std::string>& problems);

/// A problem for a rank that the job does not have.
void check_rank(int rank, const Parallelism& parallel, std::vector<std::string>& problems);

}  // namespace highwater
