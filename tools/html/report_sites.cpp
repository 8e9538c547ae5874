#include "tools/html/report_sites.hpp"

#include "tools/text/safe_text.hpp"

namespace highwater {

std::string shortened(std::string text, std::size_t limit) {
  if (text.size() > limit) {
    text.resize(limit);
    text += "...";
  }
  return printable(text);  // also mends a character that was cut in two
}

std::int64_t ReportSites::of(AllocationId allocation) {
  return allocation.has_value() && allocation.index() < run_->stacks.size()
             ? of(run_->stacks[allocation.index()])
             : -1;
}

std::int64_t ReportSites::of(StackId stack) {
  const auto [known, is_new] = by_stack_.try_emplace(stack, 0);
  if (is_new) {
    const std::string text = shortened(run_->explained.workload.site(stack));
    const auto [named, added] =
        by_name_.try_emplace(text, static_cast<std::int64_t>(names_.size()));
    if (added) {
      names_.push_back(text);
    }
    known->second = named->second;
  }
  return known->second;
}

boost::json::array ReportSites::names() const {
  boost::json::array list;
  for (const std::string& text : names_) {
    list.emplace_back(text);
  }
  return list;
}

}  // namespace highwater
