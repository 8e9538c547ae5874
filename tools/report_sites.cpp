#include "tools/report_sites.hpp"

#include "tools/request_label.hpp"
#include "tools/safe_text.hpp"
#include "tools/site_label.hpp"

namespace highwater {
namespace {

bool is_generated(const SideTables& tables, StackId stack) {
  if (tables.stacks.stack(stack).empty()) {
    return false;
  }
  const Frame& frame = tables.stacks.frame(tables.stacks.stack(stack).front());
  const std::string_view kind = tables.strings[frame.file];
  return kind == "operator" || kind == "autograd" || kind == "module";
}

}  // namespace

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
    const std::string text = name(stack);
    const auto [named, added] =
        by_name_.try_emplace(text, static_cast<std::int64_t>(names_.size()));
    if (added) {
      names_.push_back(text);
    }
    known->second = named->second;
  }
  return known->second;
}

std::string ReportSites::name(StackId stack) const {
  const SideTables& tables = run_->trace->tables;
  if (stack.has_value() && is_generated(tables, stack)) {
    return shortened(request_label(tables, stack));
  }
  return shortened(site_label(tables, stack));
}

boost::json::array ReportSites::names() const {
  boost::json::array list;
  for (const std::string& text : names_) {
    list.emplace_back(text);
  }
  return list;
}

}  // namespace highwater
