// What the recorder saw of a run, written by hand, as a plan.
#pragma once

#include <string>
#include <string_view>

#include "workloads/plan/options/option_table.hpp"
#include "workloads/sources/observed_run.hpp"

namespace highwater::test {

/// `facts` are the members of the recorder's object.
inline PlanSource observed(const std::string& facts) {
  return plan_of_recording(R"({"schema": "highwater.observed_plan/1", )" + facts + "}", "r.pickle");
}

/// The option that `key` became; "-" if it became none.
inline std::string option_of(const PlanSource& source, std::string_view key) {
  for (const SourceKey& each : source.keys) {
    if (each.key == key) {
      return each.fate == KeyFate::used ? each.meaning : std::string(to_string(each.fate));
    }
  }
  return "-";
}

/// The word of `option`; empty if the recording says none.
inline std::string observed_word(const PlanSource& source, std::string_view option) {
  const std::string* const found = find_word(source.words, option);
  return found == nullptr ? "" : *found;
}

}  // namespace highwater::test
