// The report of `simulate` as data: JSON, and the same flattened for CSV.
#include <algorithm>

#include <boost/json.hpp>

#include "tools/reports/comparison_report.hpp"
#include "tools/reports/estimate_report.hpp"
#include "tools/reports/host_report.hpp"
#include "tools/reports/rank_report.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/reports/simulate/simulate_report.hpp"
#include "tools/reports/simulate/simulate_sentences.hpp"
#include "tools/reports/simulate/simulate_tables.hpp"
#include "tools/studies/trust_line.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/options/plan_json.hpp"

namespace highwater {
namespace {

boost::json::object breakdown_json(const CategoryBytes& bytes) {
  boost::json::object object;
  for (const auto& [name, part] : parts_of(bytes)) {
    object[name] = part.count();
  }
  return object;
}

boost::json::object parts_json(const ProcessBreakdown& parts) {
  boost::json::object object;
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    std::string key(to_string(static_cast<MemoryPart>(i)));
    std::ranges::replace(key, ' ', '_');
    object[key] = parts.bytes[i].count();
  }
  return object;
}

boost::json::value step_or_null(const std::optional<std::uint64_t>& step) {
  return step ? boost::json::value(*step) : boost::json::value(nullptr);
}

boost::json::object site_json(const Site& site) {
  return {{"operator", valid_utf8(site.op)},
          {"autograd", valid_utf8(site.autograd)},
          {"module", valid_utf8(site.module)}};
}

boost::json::array steps_json(const Simulation& simulation) {
  boost::json::array steps;
  for (const StepPeak& step : simulation.peaks.steps) {
    steps.push_back(
        {{"step", step.step}, {"peak", usage_bytes_json(step.peak)}, {"complete", step.complete}});
  }
  return steps;
}

boost::json::array phases_json(const Simulation& simulation) {
  boost::json::array phases;
  for (const PhasePeak& phase : simulation.peaks.phases) {
    phases.push_back({{"step", step_or_null(phase.step)},
                      {"phase", valid_utf8(phase.phase)},
                      {"peak", usage_bytes_json(phase.peak)},
                      {"end", usage_bytes_json(phase.end)}});
  }
  return phases;
}

boost::json::array holders_json(const Simulation& simulation) {
  boost::json::array holders;
  for (std::size_t i = 0; i < std::min(kHoldersShown, simulation.holders.size()); ++i) {
    const SiteHolder& holder = simulation.holders[i];
    boost::json::object object = site_json(holder.origin);
    object["requested_bytes"] = holder.held.count();
    object["blocks"] = holder.blocks;
    holders.push_back(std::move(object));
  }
  return holders;
}

boost::json::value failure_json(const Simulation& simulation) {
  if (!simulation.failure) {
    return nullptr;
  }
  boost::json::object object = site_json(simulation.failure_site);
  object["step"] = step_or_null(simulation.failure_place.step);
  object["phase"] = valid_utf8(simulation.failure_place.phase);
  return object;
}

boost::json::value bytes_or_null(std::optional<Bytes> bytes) {
  return bytes ? boost::json::value(bytes->count()) : boost::json::value(nullptr);
}

boost::json::object outside_json(const OutsideMemory& outside) {
  boost::json::array communicators;
  for (const dist::Communicator& each : outside.communicators) {
    communicators.push_back(
        {{"axis", each.axis}, {"ranks", each.ranks}, {"bytes", each.memory.count()}});
  }
  return {{"bytes", outside.total().count()},
          {"context_bytes", outside.context.count()},
          {"source", outside.source},
          {"communicators", std::move(communicators)}};
}

boost::json::array gpus_json(const std::vector<const Gpu*>& holding) {
  boost::json::array gpus;
  for (const Gpu* gpu : holding) {
    gpus.emplace_back(gpu->name);
  }
  return gpus;
}

boost::json::object remedy_json(const Remedy& remedy) {
  return {{"options", valid_utf8(option_line(remedy.options))},
          {"costs", words_json(remedy.costs)},
          {"fits", remedy.fits},
          {"peak_reserved_bytes", remedy.peak.count()},
          {"available_bytes", remedy.available.count()},
          {"spare_bytes", remedy.spare().count()}};
}

boost::json::array remedies_json(const std::vector<Remedy>& remedies) {
  boost::json::array list;
  for (const Remedy& remedy : remedies) {
    list.push_back(remedy_json(remedy));
  }
  return list;
}

/// Whether it fits and by how much, what it needs where it does not, and what would help.
void add_room(const SimulationReport& report, boost::json::object& root) {
  const Simulation& simulation = report.simulation;
  const bool is_bounded = simulation.available && simulation.fits();
  root["needed_bytes"] = bytes_or_null(simulation.needed);
  root["is_margin_thin"] = is_bounded
                               ? boost::json::value(is_thin(simulation.replay.result.peak.reserved,
                                                            *simulation.available))
                               : nullptr;
  root["remedies"] = report.remedies ? boost::json::value(remedies_json(report.remedies->fitting))
                                     : boost::json::value(nullptr);
  root["nearest_remedy"] = report.remedies && report.remedies->together
                               ? boost::json::value(remedy_json(*report.remedies->together))
                               : boost::json::value(nullptr);
  root["wider_margins"] = remedies_json(report.wider);
}

MetricValue metric_of(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::int64:
      return value.get_int64();
    case boost::json::kind::uint64:
      return value.get_uint64();
    case boost::json::kind::double_:
      return value.get_double();
    case boost::json::kind::bool_:
      return value.get_bool();
    case boost::json::kind::string:
      return std::string(value.get_string());
    default:
      return {};
  }
}

void flatten(const std::string& key, const boost::json::value& value, MetricList& list) {
  const std::string prefix = key.empty() ? "" : key + ".";
  if (const auto* object = value.if_object()) {
    for (const auto& [name, member] : *object) {
      flatten(prefix + std::string(name), member, list);
    }
  } else if (const auto* array = value.if_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      flatten(prefix + std::to_string(i), (*array)[i], list);
    }
  } else {
    list.add(key, "", metric_of(value));
  }
}

boost::json::object bucket_size_json(const BucketUse& use, const BucketSize& size) {
  return {{"bucket_mb", size.mb},
          {"buckets", size.buckets},
          {"elements", size.elements},
          {"empty_bytes", use.empty(size).count()}};
}

boost::json::object buckets_json(const BucketUse& use) {
  boost::json::object object = bucket_size_json(use, use.chosen);
  object["filled_elements"] = use.filled;
  object["right"] = use.right ? boost::json::value(bucket_size_json(use, *use.right)) : nullptr;
  return object;
}

}  // namespace

boost::json::object simulation_json(const SimulationReport& report) {
  const Simulation& simulation = report.simulation;
  boost::json::object root{{"schema", "highwater.simulate/1"}};
  const auto& model = simulation.plan.model;
  root["model"] = {{"name", valid_utf8(model.name)},
                   {"family", family_name(model)},
                   {"parameters", simulation.parameters()},
                   {"trainable", simulation.trainable},
                   {"source", valid_utf8(model.source)}};
  root["plan"] = plan_json(simulation.plan);
  root["fits"] = simulation.available ? boost::json::value(simulation.fits()) : nullptr;
  root["verdict"] = valid_utf8(verdict(simulation, report.gpus));
  for (auto& [key, value] : replay_json(simulation.replay)) {
    root[key] = std::move(value);
  }
  root["available_bytes"] = bytes_or_null(simulation.available);
  root["outside_allocator"] = outside_json(simulation.outside);
  if (simulation.host.highest() > 0) {
    root["host_memory"] = host_json(node_host_memory(simulation));
  }
  if (simulation.buckets) {
    root["optimizer_buckets"] = buckets_json(*simulation.buckets);
  }
  const auto& steps = simulation.peaks.steps;
  const auto steady = simulation.steady_peak();
  root["first_step_peak"] =
      steps.empty() ? boost::json::value(nullptr) : usage_bytes_json(steps.front().peak);
  root["steady_peak"] = steady ? boost::json::value(usage_bytes_json(*steady)) : nullptr;
  root["steps"] = steps_json(simulation);
  root["phases"] = phases_json(simulation);
  root["breakdown_at_peak"] = breakdown_json(simulation.peaks.run.at_peak);
  root["peak_moment"] = {{"step", step_or_null(simulation.peak_place.step)},
                         {"phase", valid_utf8(simulation.peak_place.phase)}};
  root["holders_at_peak"] = holders_json(simulation);
  root["out_of_memory"] = failure_json(simulation);
  if (report.batches) {
    root["find_batch"] = value_search_json(*report.batches, "batch");
  }
  add_room(report, root);
  root["gpus_that_hold"] = simulation.fits() ? boost::json::value(gpus_json(report.gpus)) : nullptr;
  root["parts_at_peak"] = parts_json(simulation.parts);
  root["estimates"] = comparison_json(report.estimates);
  root["estimates_compared_with_complete_run"] = report.estimates.is_complete;
  root["estimates_not_applicable"] = refusals_json(report.estimates.refused);
  root["rank"] = simulation.plan.parallel.rank;
  root["ranks"] = ranks_json(report.ranks);
  root["imbalance"] = imbalance_json(report.ranks);
  root["rank_classes"] = report.ranks.classes;
  if (report.budget) {
    root["budget"] = budget_json(*report.budget);
  }
  root["trust"] = valid_utf8(simulation_trust_line(simulation));
  return root;
}

MetricList simulation_metrics(const SimulationReport& report) {
  MetricList list;
  flatten("", simulation_json(report), list);
  return list;
}

}  // namespace highwater
