// The report of `simulate` as data: JSON, and the same flattened for CSV.
#include <algorithm>

#include <boost/json.hpp>

#include "tools/reports/estimates/estimate_members.hpp"
#include "tools/reports/host_members.hpp"
#include "tools/reports/rank_members.hpp"
#include "tools/reports/replay_members.hpp"
#include "tools/reports/search_members.hpp"
#include "tools/reports/simulate/recording_report.hpp"
#include "tools/reports/simulate/simulate_report.hpp"
#include "tools/reports/simulate/simulate_sentences.hpp"
#include "tools/reports/simulate/simulate_tables.hpp"
#include "tools/studies/runs/trust_line.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::string_view kSchema = "highwater.simulate/1";

JsonMap<Bytes> categories_of(const Simulation& simulation) {
  return {parts_of(simulation.peaks.run.at_peak)};
}

JsonMap<Bytes> memory_parts(const ProcessBreakdown& parts) {
  JsonMap<Bytes> map;
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    std::string key(to_string(static_cast<MemoryPart>(i)));
    std::ranges::replace(key, ' ', '_');
    map.members.emplace_back(std::move(key), parts.bytes[i]);
  }
  return map;
}

std::vector<SiteHolder> largest_holders(const Simulation& simulation) {
  const auto& all = simulation.holders;
  return {all.begin(),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(kHoldersShown, all.size()))};
}

struct Failure {
  Site site;
  PeakPlace place;
};

std::optional<Failure> failure_of(const Simulation& simulation) {
  return simulation.failure
             ? std::optional(Failure{simulation.failure_site, simulation.failure_place})
             : std::nullopt;
}

std::optional<Usage> first_step_peak(const Simulation& simulation) {
  const auto& steps = simulation.peaks.steps;
  return steps.empty() ? std::nullopt : std::optional(steps.front().peak);
}

std::optional<bool> is_margin_thin(const Simulation& simulation) {
  return simulation.available && simulation.fits()
             ? std::optional(is_thin(simulation.replay.result.peak.reserved, *simulation.available))
             : std::nullopt;
}

std::optional<std::vector<std::string_view>> holding_gpus(const SimulationReport& report) {
  if (!report.simulation.fits()) {
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (const Gpu* gpu : report.gpus) {
    names.emplace_back(gpu->name);
  }
  return names;
}

struct BucketLine {
  const BucketUse* use = nullptr;
  BucketSize size;
};

std::optional<BucketLine> right_size(const BucketUse& use) {
  return use.right ? std::optional(BucketLine{&use, *use.right}) : std::nullopt;
}

}  // namespace

template <>
struct Members<Site> {
  static constexpr auto kRows = std::to_array({
      member<&Site::op>("operator", "the operator that asked for the memory"),
      member<&Site::autograd>("autograd", "in the backward pass: the node of the graph"),
      member<&Site::module>("module", "where in the model; layers.*: alike in all layers"),
  });
};

template <>
struct Members<SiteHolder> {
  static constexpr auto kRows = std::to_array({
      members_of<&SiteHolder::origin>(),
      member<&SiteHolder::held>("requested_bytes", "that it holds"),
      member<&SiteHolder::blocks>("blocks", "how many there are"),
  });
};

template <>
struct Members<PeakPlace> {
  static constexpr auto kRows = std::to_array({
      member<&PeakPlace::step>("step", "counted from 0; null: before the first"),
      member<&PeakPlace::phase>("phase", "forward, backward, optimizer, ..."),
  });
};

template <>
struct Members<Failure> {
  static constexpr auto kRows = std::to_array({
      members_of<&Failure::site>(),
      members_of<&Failure::place>(),
  });
};

template <>
struct Members<LeftOutKey> {
  static constexpr auto kRows = std::to_array({
      member<&LeftOutKey::key>("key", "as the file has it"),
      member<[](const LeftOutKey& of) { return to_string(of.sign); }>(
          "effect", "adds memory, saves memory, or may change memory"),
  });
};

template <>
struct Members<RecordingCheck> {
  using Check = RecordingCheck;
  static constexpr std::size_t kBlocksListed = 20;
  static constexpr auto kRows = std::to_array({
      member<&Check::file>("file", "the recording"),
      member<&Check::recorded>("recorded", "the highest values of the recorded run"),
      member<&Check::simulated>("simulated", "those of the plan that it carries"),
      member<[](const Check& of) { return of.allocated_error(); }>(
          "allocated_error", "simulated / recorded - 1, of the highest allocated"),
      member<[](const Check& of) { return of.reserved_error(); }>(
          "reserved_error", "the same of the highest reserved"),
      member<&Check::recorded_requests>("recorded_requests", "allocations that were recorded"),
      member<&Check::simulated_requests>("simulated_requests", "allocations that the plan makes"),
      member<&Check::recorded_oom>("recorded_oom", "whether the recorded run ran out of memory"),
      member<&Check::simulated_oom>("simulated_oom", "whether the plan does"),
      member<[](const Check& of) { return of.is_explained(); }>(
          "is_explained",
          "whether both end alike and both errors are at most one in a hundred; if not, the "
          "figures of the plan are not those of the recorded program"),
      member<[](const Check& of) { return unexplained_blocks(of, kBlocksListed); }>(
          "only_recorded",
          "blocks at the recording's peak and not at its plan's, most bytes first"),
      member<[](const Check& of) { return unrecorded_blocks(of, kBlocksListed); }>(
          "only_simulated", "blocks at its plan's peak and not at the recording's"),
  });
};

template <>
struct Members<StepPeak> {
  static constexpr auto kRows = std::to_array({
      member<&StepPeak::step>("step", "counted from 0"),
      member<[](const StepPeak& of) { return of.peak; }>("peak", "the highest values of the step"),
      member<[](const StepPeak& of) { return of.complete; }>("complete",
                                                             "false: memory ran out in it"),
  });
};

template <>
struct Members<PhasePeak> {
  static constexpr auto kRows = std::to_array({
      member<&PhasePeak::step>("step", "counted from 0; null: before the first"),
      member<&PhasePeak::phase>("phase", "forward, backward, optimizer, ..."),
      member<[](const PhasePeak& of) { return of.peak; }>("peak",
                                                          "the highest values of the phase"),
      member<[](const PhasePeak& of) { return of.end; }>("end", "the values at its end"),
  });
};

template <>
struct Members<dist::Communicator> {
  static constexpr auto kRows = std::to_array({
      member<&dist::Communicator::axis>("axis", "data parallel, tensor parallel, ..."),
      member<&dist::Communicator::ranks>("ranks", "that it joins"),
      member<&dist::Communicator::memory>("bytes", "its buffers on this GPU"),
  });
};

template <>
struct Members<OutsideMemory> {
  static constexpr auto kRows = std::to_array({
      member<&OutsideMemory::total>("bytes", "all that the process takes beside the allocator"),
      member<&OutsideMemory::context>("context_bytes", "the CUDA context with its kernels"),
      member<&OutsideMemory::source>("source", "the measurement that this is from"),
      member<&OutsideMemory::communicators>("communicators", "those of NCCL"),
  });
};

template <>
struct Members<OwnChange> {
  static constexpr auto kRows = std::to_array({
      member<&OwnChange::place>("place", "the file, the launch line, Python, the environment"),
      member<&OwnChange::text>("text", "what it says then"),
  });
};

template <>
struct Members<Remedy> {
  static constexpr auto kRows = std::to_array({
      member<[](const Remedy& of) { return option_line(of.options); }>("options", "what to change"),
      member<&Remedy::costs>("costs", "what the change asks of the run"),
      member<&Remedy::fits>("fits", "whether the plan then runs to its end"),
      member<&Remedy::peak>("peak_reserved_bytes", "of the worst rank"),
      member<&Remedy::available>("available_bytes", "to the allocator"),
      member<&Remedy::spare>("spare_bytes", "available and not reserved"),
      member<&Remedy::own>(
          "own_changes", "the change in the words of the program that trains; empty: it has none"),
  });
};

template <>
struct Members<BucketLine> {
  static constexpr auto kRows = std::to_array({
      member<[](const BucketLine& of) { return of.size.mb; }>("bucket_mb",
                                                              "MiB of a bucket's fp32 gradients"),
      member<[](const BucketLine& of) { return of.size.buckets; }>("buckets", "of one rank"),
      member<[](const BucketLine& of) { return of.size.elements; }>(
          "elements", "of all buckets, filled or not"),
      member<[](const BucketLine& of) { return of.use->empty(of.size); }>(
          "empty_bytes", "of elements that no parameter fills"),
  });
};

template <>
struct Members<BucketUse> {
  static constexpr auto kRows = std::to_array({
      members_of<[](const BucketUse& of) {
        return BucketLine{&of, of.chosen};
      }>(),
      member<&BucketUse::filled>("filled_elements", "elements of parameters"),
      member<right_size>("right",
                         "the largest smaller size of which less than a twentieth is empty; null: "
                         "the chosen one is such a size"),
  });
};

namespace {

struct TrainedModel {
  std::string name;
  std::string_view family;
  std::int64_t parameters = 0;
  std::int64_t trainable = 0;
  std::string source;
};

TrainedModel trained_model(const SimulationReport& report) {
  const Simulation& simulation = report.simulation;
  const ModelSpec& model = simulation.plan.model;
  return {model.name, family_name(model), simulation.parameters(), simulation.trainable,
          model.source};
}

std::optional<bool> known_fit(const Simulation& simulation) {
  return simulation.available && simulation.undecided().empty() ? std::optional(simulation.fits())
                                                                : std::nullopt;
}

std::optional<RecordingCheck> recording_check(const SimulationReport& report) {
  const auto& check = report.simulation.recording;
  return check ? std::optional(*check) : std::nullopt;
}

std::optional<NodeHostMemory> host_memory(const SimulationReport& report) {
  return report.simulation.host.highest() > 0 ? std::optional(node_host_memory(report.simulation))
                                              : std::nullopt;
}

}  // namespace

template <>
struct Members<TrainedModel> {
  static constexpr auto kRows = std::to_array({
      member<&TrainedModel::name>("name", "as it was given"),
      member<&TrainedModel::family>("family", "whose code it is"),
      member<&TrainedModel::parameters>("parameters", "elements, of all ranks together"),
      member<&TrainedModel::trainable>("trainable", "elements that the plan trains"),
      member<&TrainedModel::source>("source", "where its sizes are from"),
  });
};

template <>
struct Members<EarlierVerdict> {
  static constexpr auto kRows = std::to_array({
      member<&EarlierVerdict::releases>("releases", "such as trl before 0.19"),
      member<[](const EarlierVerdict& of) { return known_fit(of.simulation); }>("fits", "as above"),
      member<[](const EarlierVerdict& of) { return verdict(of.simulation); }>("verdict",
                                                                              "the same in words"),
      member<[](const EarlierVerdict& of) { return of.simulation.replay.result.peak; }>(
          "peak", "the highest values of its run"),
  });
};

template <>
struct Members<SpelledRun> {
  static constexpr auto kRows = std::to_array({
      member<[](const SpelledRun& of) { return of.spelling.option; }>("option", "that says so"),
      member<[](const SpelledRun& of) { return of.spelling.word; }>("word", "its value"),
      member<[](const SpelledRun& of) { return of.spelling.also_option; }>(
          "also_option", "that says the rest; empty where there is none"),
      member<[](const SpelledRun& of) { return of.spelling.also_word; }>("also_word", "its value"),
      member<[](const SpelledRun& of) { return of.spelling.code; }>("code", "of the script"),
      member<&SpelledRun::fits>("fits", "whether it runs to its end; null: no memory was given"),
      member<&SpelledRun::peak>("peak", "the highest values of its run"),
  });
};

template <>
struct Members<LateRun> {
  static constexpr auto kRows = std::to_array({
      member<&LateRun::event_lag>("event_lag", "kernel launches that the GPU is behind the host"),
      member<&LateRun::fits>("fits", "whether it runs to its end; null: no memory was given"),
      member<&LateRun::peak>("peak", "the highest values of its run"),
  });
};

template <>
struct Members<SimulationReport> {
  using Report = SimulationReport;
  static constexpr auto kRows = std::to_array({
      member<trained_model>("model", "what is trained"),
      member<[](const Report& of) { return plan_json(of.simulation.plan); }>(
          "plan", "every option of the plan with its value"),
      member<[](const Report& of) { return known_fit(of.simulation); }>(
          "fits",
          "whether it runs to its end; null: no memory was given to fit in, or "
          "left_out has keys that could turn the answer around"),
      member<[](const Report& of) { return verdict(of.simulation, of.gpus); }>("verdict",
                                                                               "the same in words"),
      member<[](const Report& of) { return of.simulation.releases; }>(
          "releases", "those that files of --from were read as, where their keys tell"),
      member_if_known<&Report::earlier>(
          "earlier", "the answer by earlier releases, which the files could be of as well"),
      member_if_known<[](const Report& of) {
        return of.assumed.empty() ? std::optional<std::string>() : of.assumed;
      }>("assumed", "what the answer takes for granted and most scripts say otherwise"),
      member<&Report::spellings>(
          "spellings",
          "the script written in other common ways, where the peak is another by 1 % "
          "or more and the options do not say which it is"),
      member_if_known<&Report::late>(
          "late_gpu",
          "the same on a GPU that is kernel launches behind the host, where that takes 1 % more or "
          "above: freed blocks that other streams use wait for them"),
      member<[](const Report& of) { return of.simulation.left_out; }>(
          "left_out", "keys of --from that are not simulated"),
      member_if_known<recording_check>(
          "recording", "whether the plan explains the recording that it was read from"),
      members_of<[](const Report& of) { return ListedReplay{&of.simulation.replay}; }>(),
      member<[](const Report& of) { return of.simulation.available; }>(
          "available_bytes", "what the allocator could take; null: unlimited"),
      member<[](const Report& of) { return of.simulation.outside; }>(
          "outside_allocator", "what the process takes of the device beside the allocator"),
      member_if_known<host_memory>("host_memory", "of plans that use it"),
      member_if_known<[](const Report& of) { return of.simulation.buckets; }>(
          "optimizer_buckets", "how full the buckets of a distributed optimizer are"),
      member<[](const Report& of) { return first_step_peak(of.simulation); }>(
          "first_step_peak", "the highest values of the first step"),
      member<[](const Report& of) { return of.simulation.steady_peak(); }>(
          "steady_peak", "of all steps but the first; null: there are none"),
      member<[](const Report& of) { return of.simulation.peaks.steps; }>("steps",
                                                                         "each step in order"),
      member<[](const Report& of) { return of.simulation.peaks.phases; }>("phases",
                                                                          "each phase in order"),
      member<[](const Report& of) { return categories_of(of.simulation); }>(
          "breakdown_at_peak", "bytes of each category of tensors when most was allocated"),
      member<[](const Report& of) { return of.simulation.peak_place; }>("peak_moment",
                                                                        "when most was allocated"),
      member<[](const Report& of) { return largest_holders(of.simulation); }>(
          "holders_at_peak", "who holds it then, largest first"),
      member<[](const Report& of) { return failure_of(of.simulation); }>(
          "out_of_memory", "where memory ran out; null: nowhere"),
      member_if_known<&Report::batches>("find_batch", "with --find-batch"),
      member<[](const Report& of) { return of.simulation.needed; }>(
          "needed_bytes",
          "the least memory for the allocator with which the run goes to its end, where memory "
          "ran out"),
      member<[](const Report& of) { return is_margin_thin(of.simulation); }>(
          "is_margin_thin",
          "whether so little is left that a small change may tip it; null: it does "
          "not fit, or memory is unlimited"),
      member<[](const Report& of) {
        return of.remedies ? std::optional(of.remedies->fitting) : std::nullopt;
      }>("remedies", "changes with which it would fit, cheapest first; null: it fits"),
      member<[](const Report& of) { return of.remedies ? of.remedies->together : std::nullopt; }>(
          "nearest_remedy", "where no single change suffices: all that go together"),
      member<&Report::wider>("wider_margins", "changes that would widen a thin margin"),
      member<holding_gpus>("gpus_that_hold",
                           "known GPUs on which it fits, smallest first; null: it does not fit"),
      member<[](const Report& of) { return memory_parts(of.simulation.parts); }>(
          "parts_at_peak", "bytes of each part of the process's memory at that moment"),
      member<[](const Report& of) { return of.estimates.compared; }>(
          "estimates", "closed forms that apply, beside the simulation"),
      member<[](const Report& of) { return of.estimates.is_complete; }>(
          "estimates_compared_with_complete_run", "false: with the run until memory ran out"),
      member<[](const Report& of) { return refusals_of(of.estimates.refused); }>(
          "estimates_not_applicable", "the others"),
      member<[](const Report& of) { return of.simulation.plan.parallel.rank; }>(
          "rank", "the rank that the figures are of"),
      member<[](const Report& of) { return rank_lines(of.ranks); }>(
          "ranks", "the kinds of ranks that were simulated"),
      member<[](const Report& of) { return rank_imbalance(of.ranks); }>(
          "imbalance", "in what ranks differ, and why"),
      member<[](const Report& of) { return of.ranks.classes; }>(
          "rank_classes", "how many kinds of ranks there are"),
      member_if_known<&Report::budget>("budget", "the options that limit the run"),
      member<[](const Report& of) { return simulation_trust_line(of.simulation); }>(
          "trust", "what the figures were checked against"),
  });
};

namespace {

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

}  // namespace

boost::json::object simulation_json(const SimulationReport& report) {
  boost::json::object root{{"schema", kSchema}};
  for (auto& [key, value] : object_json(report)) {
    root[key] = std::move(value);
  }
  return root;
}

boost::json::object simulation_schema() {
  return answer_schema<SimulationReport>("simulate", kSchema);
}

MetricList simulation_metrics(const SimulationReport& report) {
  MetricList list;
  flatten("", simulation_json(report), list);
  return list;
}

}  // namespace highwater
