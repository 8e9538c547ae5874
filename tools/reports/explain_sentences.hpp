// The sentences of `explain`: verdict, evidence, counterfactuals, growth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/studies/explanation/explain_run.hpp"

namespace highwater {

/// "settings", "more_memory", "freed_blocks", ...: the words of JSON.
std::string_view to_string(Counterfactual::Kind kind);

/// One sentence: out of memory or not, and why.
std::string explain_verdict(const Explanation& explanation);

/// "would have succeeded with expandable_segments:True, ..."
std::string counterfactual_text(const Explanation& explanation, const Counterfactual& trial);

/// Where it happened, and the sum of what was there against what was asked.
std::vector<std::string> oom_evidence(const Explanation& explanation);

/// What a snapshot without history shows: segments, live blocks, and free memory by what keeps it.
std::vector<std::string> state_lines(const Explanation& explanation);

/// Growth from step to step, forecast, leaks and pending frees; `top` of each.
std::vector<std::string> growth_lines(const Explanation& explanation, std::size_t top);

/// The blocks of a counterfactual by place, largest first.
std::vector<PlaceHolder> freed_sites(const Workload& workload, const FreedBlocks& freed);

}  // namespace highwater
