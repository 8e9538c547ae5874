#include "tools/record/fakecuda/core/unmodelled.hpp"

#include <map>
#include <vector>

#include "tools/record/fakecuda/core/lock.hpp"

namespace highwater::fakecuda {
namespace {

std::vector<StubTable>& tables() {
  static auto* const made = new std::vector<StubTable>;
  return *made;
}

}  // namespace

void add_stub_table(StubTable table) {
  const auto hold = hold_state();
  tables().push_back(table);
}

std::string unmodelled_calls() {
  const auto hold = hold_state();
  std::map<std::string, std::uint64_t> called;
  for (const StubTable& table : tables()) {
    for (std::size_t i = 0; i < table.count; ++i) {
      if (table.calls[i] > 0) {
        called[table.names[i]] += table.calls[i];
      }
    }
  }
  std::string lines;
  for (const auto& [name, count] : called) {
    lines += name + " " + std::to_string(count) + "\n";
  }
  return lines;
}

}  // namespace highwater::fakecuda
