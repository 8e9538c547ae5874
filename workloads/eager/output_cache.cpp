#include "workloads/eager/output_cache.hpp"

#include <algorithm>
#include <string_view>

#include "workloads/eager/ops.hpp"

namespace highwater::eager {

OutputCache::~OutputCache() {
  for (auto& entries : entries_) {
    release_list(entries.outputs);
  }
}

OutputCache::Entries& OutputCache::entries_of(const char* op) {
  const auto found = std::ranges::find_if(
      entries_, [op](const Entries& entries) { return std::string_view(entries.op) == op; });
  return found != entries_.end() ? *found : entries_.emplace_back(Entries{op, {}});
}

void OutputCache::store(const char* op, const TensorList& outputs) {
  TensorList detached;
  for (const auto& output : outputs) {
    detached.push_back(detach(output));
    output.runtime().categorize_transient(output, Category::activation);
  }
  entries_of(op).outputs.push_back(std::move(detached));
}

TensorList OutputCache::take(const char* op) {
  Entries& entries = entries_of(op);
  return std::move(entries.outputs.at(entries.taken++));
}

}  // namespace highwater::eager
