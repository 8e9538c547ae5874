#include "tools/record/fakecuda/cudnn/report.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudnn/real_library.hpp"
#include "tools/record/fakecuda/fakecuda.h"

namespace highwater::fakecuda {
namespace {

/// The plans of one graph that were finalized: cudnn.benchmark chooses among them.
struct Plans {
  std::int64_t count = 0;
  std::int64_t smallest = 0, largest = 0;  ///< workspaces
};

struct Noted {
  std::map<std::string, Plans> graphs;
  std::int64_t unknown = 0;
};

Noted& noted() {
  static auto* const made = new Noted;
  return *made;
}

void add(std::string& lines, const char* key, const std::string& value) {
  lines += std::string(key) + " " + value + "\n";
}

void add_plans(std::string& lines) {
  const auto hold = hold_state();
  const auto& graphs = noted().graphs;
  std::int64_t plans = 0, choices = 0;
  Plans widest;
  for (const auto& [graph, each] : graphs) {
    plans += each.count;
    choices += each.count > 1 ? 1 : 0;
    widest = each.largest - each.smallest > widest.largest - widest.smallest ? each : widest;
  }
  add(lines, "plans", std::to_string(plans));
  add(lines, "graphs", std::to_string(graphs.size()));
  add(lines, "graphs_with_choice", std::to_string(choices));
  add(lines, "widest_choice_smallest", std::to_string(widest.smallest));
  add(lines, "widest_choice_largest", std::to_string(widest.largest));
  add(lines, "plans_not_counted", std::to_string(noted().unknown));
}

}  // namespace

void note_plan(const std::string& graph, std::int64_t workspace) {
  const auto hold = hold_state();
  Plans& plans = noted().graphs[graph];
  plans.smallest = plans.count == 0 ? workspace : std::min(plans.smallest, workspace);
  plans.largest = std::max(plans.largest, workspace);
  ++plans.count;
}

void note_unknown_plan() {
  const auto hold = hold_state();
  ++noted().unknown;
}

std::string cudnn_report() {
  std::string lines;
  add_plans(lines);
  const LibraryState state = library_state();
  if (state.is_named) {
    add(lines, "library", settings().cudnn_library);
    add(lines, "version", std::to_string(state.version));
    add(lines, "compiler", state.compiler);
    add(lines, "problem", state.problem);
  }
  return lines;
}

}  // namespace highwater::fakecuda

FAKECUDA_API std::size_t fakecuda_cudnn(char* text, std::size_t n) {
  const std::string lines = highwater::fakecuda::cudnn_report();
  if (n > 0) {
    const std::size_t taken = std::min(lines.size(), n - 1);
    std::memcpy(text, lines.data(), taken);
    text[taken] = '\0';
  }
  return lines.size();
}
