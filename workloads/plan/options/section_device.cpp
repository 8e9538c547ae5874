// Options of the GPU and of the releases whose behaviour is modelled.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "traces/release.hpp"
#include "traces/units.hpp"
#include "workloads/plan/options/axes.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::option_sections {
namespace {

using namespace axes;
using enum OptionGroup;
using enum OptionUse;

std::span<const std::string_view> gpu_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Gpu& gpu : known_gpus()) {
      list.push_back(gpu.name);
    }
    return list;
  }();
  return names;
}

OptionAxis gpu_axis() {
  return {AllowedWords{gpu_names()},
          [](const TrainingPlan& plan) -> OptionValue { return std::string(plan.gpu.name); },
          [](TrainingPlan& plan, std::string_view text, const AllowedValues&) -> Complaint {
            const Gpu* gpu = find_gpu(text);
            if (gpu == nullptr) {
              return "neither a known GPU nor a size such as 24GiB; " + remedy(text, gpu_names());
            }
            plan.gpu = *gpu;
            return std::nullopt;
          }};
}

/// A release as MAJOR.MINOR.
template <class Member>
constexpr OptionAxis release() {
  return {{},
          [](const TrainingPlan& plan) -> OptionValue { return Member::in(plan); },
          [](TrainingPlan& plan, std::string_view text, const AllowedValues&) -> Complaint {
            const auto parsed = parse_release(text);
            if (!parsed) {
              return fmt::format("not a release; write it as MAJOR.MINOR, e.g. {}, or auto",
                                 Member::in(plan));
            }
            Member::in(plan) = to_string(*parsed);
            return std::nullopt;
          }};
}

/// A size, or none: as published.
constexpr OptionAxis kContext{
    {},
    [](const TrainingPlan& plan) -> OptionValue {
      return plan.context ? OptionValue(std::to_string(plan.context->count())) : nullptr;
    },
    [](TrainingPlan& plan, std::string_view text, const AllowedValues&) -> Complaint {
      const std::optional<Bytes> size = parse_bytes(text);
      if (!size && text != "none") {
        return "not a size; write one with its unit, e.g. 500MiB, or none";
      }
      plan.context = size;
      return std::nullopt;
    }};

/// Any text: what it names is looked for when it is needed.
constexpr OptionAxis kPython{
    {},
    [](const TrainingPlan& plan) -> OptionValue { return plan.python; },
    [](TrainingPlan& plan, std::string_view text, const AllowedValues&) -> Complaint {
      if (text.empty()) {
        return "an empty name; give the path of a Python";
      }
      plan.python = text;
      return std::nullopt;
    }};

}  // namespace

std::span<const Option> device_options() {
  static const std::array rows{
      Option{"engine", "E", memory, common,
             "where requests come from: the built-in model or your PyTorch",
             "Highwater's choice: the model is exact where it covers a plan, and starts no Python",
             word<Path<&TrainingPlan::engine>, kEngines>()}
          .and_more("torch carries out the plan with the PyTorch of --python, on a simulated GPU; "
                    "auto takes the model where it covers the plan, else torch; both (simulate) "
                    "compares the two"),
      Option{"python", "FILE", memory, rare, "the Python whose PyTorch --engine torch runs",
             "Highwater's choice: the one on the PATH", kPython},
      Option{"gpu", "NAME|SIZE", memory, common, "the GPU that the run must fit on, or its memory",
             "Highwater's choice: its kernels, with unlimited memory unless --gpu is given",
             gpu_axis()},
      Option{"torch", "V", memory, common, "PyTorch release whose behaviour is modelled",
             "Highwater's choice: the newest that was recorded",
             release<OfVersions<&Versions::torch>>()}
          .and_more("auto is the one installed in the Python on the PATH; a later one than the "
                    "default is taken as the default"),
      Option{"cudnn-workspaces", "W", memory, rare,
             "workspaces of cuDNN's attention: counted, or none, as in a recording without cuDNN",
             "cuDNN 9.26 (workloads/kernels/cudnn_attention.cpp)",
             word<Path<&TrainingPlan::cudnn_workspaces>, kCudnnWorkspaces>()},
      Option{"context", "SIZE", memory, rare,
             "what CUDA's context and kernels take of the GPU, outside of the allocator",
             "published measurements, by GPU and release (workloads/training/outside_memory.cpp)",
             kContext}
          .with_default("274 to 500 MiB by GPU, 1343 MiB before PyTorch 1.13")
          .and_more(
              "measure it as nvidia-smi's figure of a process that has made one tensor and run "
              "one step, less memory_reserved()"),
      Option{"transformers", "V", memory, common, "transformers release",
             "Highwater's choice: the newest that was recorded",
             release<OfVersions<&Versions::transformers>>()}
          .and_more("auto and later ones as for --torch"),
      Option{"deepspeed", "V", memory, rare, "DeepSpeed release: 0.16 or before, or newer",
             "Highwater's choice: the newest release that is known",
             release<OfVersions<&Versions::deepspeed>>()},
      Option{"transformer-engine", "V", memory, rare,
             "Transformer Engine release: before 2.18, 2.18, or newer",
             "Highwater's choice: the newest release that was recorded",
             release<OfVersions<&Versions::transformer_engine>>()}
          .and_more("its cross entropy makes the gradient in the logits, in an fp32 copy, or in a "
                    "copy of their type"),
      Option{"torchtitan", "V", memory, rare,
             "torchtitan release: 0.0, the code of January 2025, or newer, which is 0.3",
             "the code of the published figures; with --framework torchtitan 0.3",
             release<OfVersions<&Versions::torchtitan>>()},
  };
  return rows;
}

}  // namespace highwater::option_sections
