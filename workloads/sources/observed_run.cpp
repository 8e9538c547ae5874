#include "workloads/sources/observed_run.hpp"

#include "traces/error.hpp"
#include "workloads/sources/observed_parts.hpp"
#include "workloads/sources/shortest_words.hpp"

namespace highwater {
namespace {

constexpr std::string_view kSchema = "highwater.observed_plan/";
constexpr std::string_view kRecordAgain = "record it again with highwater record";

void list_unknown(const ObservedFacts& facts, SourceKeys& keys) {
  const boost::json::value* const unknown = facts.find("unknown");
  if (unknown == nullptr || !unknown->is_array()) {
    return;
  }
  for (std::size_t i = 0; i < unknown->get_array().size(); ++i) {
    keys.add_not_supported("unknown", facts.shown("unknown." + std::to_string(i)),
                           "the recorder could not see it");
  }
}

}  // namespace

PlanSource plan_of_recording(std::string_view text, const std::string& file) {
  boost::json::error_code broken;
  const boost::json::value root = boost::json::parse(text, broken);
  const ObservedFacts facts(root);
  if (broken || !facts.text("schema").value_or("").starts_with(kSchema)) {
    throw InputError(file, "highwater.plan", "is no plan that this program knows",
                     std::string(kRecordAgain));
  }
  SourceKeys keys;
  read_observed_model(facts, file, keys);
  read_observed_batches(facts, keys);
  read_observed_optimizer(facts, keys);
  read_observed_strategy(facts, keys);
  read_observed_device(facts, keys);
  list_unknown(facts, keys);
  PlanSource source = keys.finish();
  source.file = file;
  source.words = shortest_words(std::move(source.words));
  return source;
}

}  // namespace highwater
