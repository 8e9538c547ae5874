#include "tools/studies/estimates/reconciliation.hpp"

#include <algorithm>
#include <iterator>

namespace highwater {
namespace {

/// Terms that belong together because they cover parts in common.
struct Group {
  PartSet parts;
  std::vector<std::size_t> terms;
};

std::vector<Group> group_terms(const Estimate& estimate) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < estimate.terms.size(); ++i) {
    Group joined{estimate.terms[i].covers, {i}};
    for (auto group = groups.begin(); group != groups.end();) {
      if (!group->parts.intersects(joined.parts)) {
        ++group;
        continue;
      }
      joined.parts |= group->parts;
      joined.terms.insert(joined.terms.end(), group->terms.begin(), group->terms.end());
      group = groups.erase(group);
    }
    std::ranges::sort(joined.terms);
    groups.push_back(std::move(joined));
  }
  return groups;
}

std::vector<MemoryPart> parts_in(PartSet set) {
  std::vector<MemoryPart> parts;
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    if (set.contains(static_cast<MemoryPart>(i))) {
      parts.push_back(static_cast<MemoryPart>(i));
    }
  }
  return parts;
}

ReconciliationLine line_over(PartSet parts, const ProcessBreakdown& simulated) {
  ReconciliationLine line;
  line.parts = parts;
  for (const MemoryPart part : parts_in(parts)) {
    line.name += (line.name.empty() ? "" : " + ") + std::string(to_string(part));
    std::ranges::copy(simulated.details[static_cast<std::size_t>(part)],
                      std::back_inserter(line.details));
  }
  line.simulated = static_cast<std::int64_t>(simulated.of(parts).count());
  std::ranges::stable_sort(line.details, std::ranges::greater{}, &Holder<std::string>::held);
  return line;
}

MemoryPart first_part(const ReconciliationLine& line) {
  return line.parts.empty() ? MemoryPart::outside : parts_in(line.parts).front();
}

}  // namespace

Reconciliation reconcile(const Estimate& estimate, const ProcessBreakdown& parts) {
  Reconciliation result;
  const std::vector<std::int64_t> bytes = whole_bytes(estimate);
  PartSet covered;
  for (const Group& group : group_terms(estimate)) {
    ReconciliationLine line = line_over(group.parts, parts);
    for (const std::size_t term : group.terms) {
      line.terms.push_back(estimate.terms[term].name);
      line.estimated += bytes[term];
    }
    if (line.name.empty()) {
      line.name = line.terms.front();
    }
    covered |= group.parts;
    result.lines.push_back(std::move(line));
  }
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    const auto part = static_cast<MemoryPart>(i);
    if (!covered.contains(part) && parts.of(part) != Bytes{}) {
      result.lines.push_back(line_over({part}, parts));
    }
  }
  std::ranges::stable_sort(result.lines, {}, first_part);
  for (const ReconciliationLine& line : result.lines) {
    result.estimated += line.estimated;
    result.simulated += line.simulated;
  }
  return result;
}

}  // namespace highwater
