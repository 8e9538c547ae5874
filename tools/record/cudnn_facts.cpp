#include "tools/record/cudnn_facts.hpp"

#include <string_view>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/units.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

std::uint64_t count_in(const json::object& line, std::string_view key) {
  const json::value* value = line.if_contains(key);
  json::error_code none;
  return value == nullptr ? 0 : value->to_number<std::uint64_t>(none);
}

std::string text_in(const json::object& line, std::string_view key) {
  const json::value* value = line.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

bool is_true(const json::object& line, std::string_view key) {
  const json::value* value = line.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

constexpr std::string_view kRemedy =
    "install NVIDIA's wheel beside this PyTorch (pip install nvidia-cudnn-cu13 for CUDA 13, "
    "nvidia-cudnn-cu12 for 12), or name the folder of a libcudnn.so.9 of 9.8 or later (--cudnn "
    "FOLDER); no GPU is needed";

std::string why_not_asked(const CudnnFacts& facts) {
  return facts.library.empty() ? "no cuDNN of NVIDIA's is installed that could be asked for them"
                               : facts.library + ": " + facts.problem;
}

std::string version_text(std::uint64_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string plans_text(std::uint64_t plans) {
  return fmt::format("{} plan{}", plans, plans == 1 ? "" : "s");
}

void note_uncounted(const CudnnFacts& facts, std::vector<std::string>& notes) {
  if (facts.not_counted == 0) {
    return;
  }
  if (facts.library.empty() || !facts.problem.empty()) {
    notes.push_back(fmt::format("cuDNN's workspaces are not counted ({}, 0 bytes each): {}; {}",
                                plans_text(facts.not_counted), why_not_asked(facts), kRemedy));
  } else {
    notes.push_back(fmt::format(
        "the workspaces of {} of cuDNN's are not counted: the library ended, or could not compile "
        "them, before it answered",
        plans_text(facts.not_counted)));
  }
}

}  // namespace

CudnnFacts read_cudnn_facts(const json::object& line) {
  return {.plans = count_in(line, "plans"),
          .not_counted = count_in(line, "plans_not_counted"),
          .library = text_in(line, "library"),
          .version = count_in(line, "version"),
          .problem = text_in(line, "problem"),
          .is_other = is_true(line, "other"),
          .is_benchmarked = is_true(line, "benchmark"),
          .choices = count_in(line, "graphs_with_choice"),
          .smallest = count_in(line, "widest_choice_smallest"),
          .largest = count_in(line, "widest_choice_largest")};
}

std::vector<std::string> cudnn_notes(const CudnnFacts& facts) {
  std::vector<std::string> notes;
  note_uncounted(facts, notes);
  if (facts.is_other && facts.plans != 0) {
    notes.push_back(fmt::format(
        "cuDNN's workspaces are those of cuDNN {} in {}, not of the release that the script's "
        "PyTorch was built with",
        version_text(facts.version), facts.library));
  }
  if (facts.is_benchmarked && facts.choices != 0) {
    notes.push_back(fmt::format(
        "torch.backends.cudnn.benchmark takes the fastest plan, which nobody knows without a GPU: "
        "here it is the first. {} operation{} could choose among several; where they differ most, "
        "workspaces are from {} to {}",
        facts.choices, facts.choices == 1 ? "" : "s", to_iec(Bytes{facts.smallest}),
        to_iec(Bytes{facts.largest})));
  }
  return notes;
}

}  // namespace highwater
