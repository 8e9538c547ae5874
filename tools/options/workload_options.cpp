#include "tools/options/workload_options.hpp"

#include <algorithm>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/options/edit_option.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/plan_options.hpp"
#include "tools/options/plan_source_option.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/usage_errors.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

/// Options of a plan say nothing about a file.
void require_no_plan_options(const po::variables_map& values, std::vector<std::string>& problems) {
  for (const OptionWord& given : given_plan_options(values)) {
    if (given.first != "torch" && given.first != "gpu") {
      problems.push_back(fmt::format(
          "--{} applies only to a plan (--model), not to a FILE; omit it", given.first));
    }
  }
}

Arguments read_file_options(const po::variables_map& values, std::size_t most,
                            std::vector<std::string>& problems) {
  if (!values.contains("file")) {
    return {};
  }
  const auto& files = values["file"].as<Arguments>();
  if (files.size() > most) {
    problems.push_back(most == 1 ? "give one FILE at a time ('-' is standard input)"
                                 : fmt::format("give at most {} FILEs", most));
  }
  if (std::ranges::count(files, "-") > 1) {
    problems.emplace_back("'-' (standard input) can be read only once; give the other as a file");
  }
  if (values.contains("from")) {
    problems.emplace_back("--from names a plan, as FILE names what to look at; give one of them");
  } else {
    require_no_plan_options(values, problems);
  }
  return files;
}

const Gpu* read_gpu_of_file(const po::variables_map& values, std::vector<std::string>& problems) {
  const Gpu* gpu = nullptr;
  if (const auto name = text_option(values, "gpu")) {
    collect_problems(problems, [&] { gpu = &gpu_called(*name); });
  }
  return gpu;
}

void read_plan_workload(const po::variables_map& values, WorkloadRequest& request,
                        std::vector<std::string>& problems) {
  if (const auto why = why_no_model(values)) {
    const bool is_recorded = single_recording(values, {}).has_value();
    throw UsageErrors(
        {*why + (is_recorded ? "; or name the recording as FILE, without --from" : "")});
  }
  if (!values.contains("model")) {
    problems.emplace_back("give a FILE (snapshot or trace), or a plan with --model or --from");
    throw UsageErrors(std::move(problems));
  }
  if (request.memory.memory_fraction && !values.contains("gpu") && !request.memory.capacity) {
    problems.emplace_back(
        "--memory-fraction is a share of a device's memory; add --gpu or --capacity");
  }
  request.plan = std::make_shared<const PlannedRun>(read_plan(values, std::move(problems)));
  problems.clear();
}

}  // namespace

void add_workload_options(OptionParser& parser) {
  add_plan_options(parser);
  add_memory_options(parser,
                     "what --gpu leaves to it; for a recording that ran out of memory, the limit "
                     "that its failure implies; otherwise unlimited");
  parser.add()("device", po::value<int>()->value_name("N"), "only this device of a FILE");
  add_edit_option(parser, EditHelp::names);
  add_reading_options(parser);
  parser.positional("file", -1);
}

WorkloadRequest read_workload_options(const po::variables_map& values,
                                      std::vector<std::string> problems) {
  return read_workloads_options(values, 1, std::move(problems)).front();
}

std::vector<WorkloadRequest> read_workloads_options(const po::variables_map& values,
                                                    std::size_t most,
                                                    std::vector<std::string> problems) {
  WorkloadRequest request;
  request.memory = read_memory_options(values, problems);
  request.edits = read_edit_option(values, problems);
  collect_problems(problems, [&] { request.reading = read_reading_options(values); });
  const Arguments files = read_file_options(values, most, problems);
  request.torch = text_option(values, "torch");
  if (values.contains("device")) {
    request.device = values["device"].as<int>();
  }
  if (!files.empty()) {
    request.gpu = read_gpu_of_file(values, problems);
    if (request.gpu != nullptr && !request.memory.has_limit()) {
      request.memory.capacity = memory_for_allocator(*request.gpu, TrainingPlan{});
    }
  } else {
    read_plan_workload(values, request, problems);
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  std::vector<WorkloadRequest> requests(std::max<std::size_t>(files.size(), 1), request);
  for (std::size_t i = 0; i < files.size(); ++i) {
    requests[i].file = files[i];
  }
  return requests;
}

}  // namespace highwater
