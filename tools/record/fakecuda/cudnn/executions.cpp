#include "tools/record/fakecuda/cudnn/executions.hpp"

#include <algorithm>
#include <vector>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/cudnn/wire.hpp"
#include "tools/record/fakecuda/fakecuda.h"

namespace highwater::fakecuda {
namespace {

std::vector<fakecuda_workspace>& executions() {
  static auto* const made = new std::vector<fakecuda_workspace>;
  return *made;
}

/// The type (cudnnBackendDescriptorType_t) of the first operation of a graph, 0 if it has none.
int first_operation(const std::string& graph) {
  wire::Reader reader(graph);
  reader.number<char>();
  reader.number<int>();
  for (auto left = reader.number<std::uint32_t>(); left > 0 && reader.is_good(); --left) {
    reader.number<int>();  // its name
    const int type = reader.number<int>();
    const auto count = reader.number<std::int64_t>();
    const std::string_view value = reader.text();
    if (type == wire::kDescriptorType && count > 0) {
      wire::Reader operation(value);
      operation.number<char>();
      return operation.number<int>();
    }
  }
  return 0;
}

}  // namespace

void note_execution(std::uint64_t address, const std::string& graph) {
  const auto hold = hold_state();
  executions().push_back({.address = address, .operation = first_operation(graph)});
}

}  // namespace highwater::fakecuda

FAKECUDA_API std::size_t fakecuda_cudnn_workspaces(fakecuda_workspace* all, std::size_t n) {
  const auto hold = highwater::fakecuda::hold_state();
  const auto& executions = highwater::fakecuda::executions();
  std::copy_n(executions.begin(), std::min(n, executions.size()), all);
  return executions.size();
}
