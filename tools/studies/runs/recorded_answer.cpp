#include "tools/studies/runs/recorded_answer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/studies/runs/workload_request.hpp"
#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/outside_memory.hpp"

namespace highwater {
namespace {

const Usage& peak_of(const DeviceReplay& replay) {
  return replay.result.peak;
}

/// What bounds the memory: a capacity that is given, or else the GPU's.
std::optional<Bytes> available_to(const RecordedQuestion& question) {
  if (question.memory.capacity || question.gpu == nullptr) {
    return question.memory.capacity;
  }
  return memory_for_allocator(*question.gpu, TrainingPlan{});
}

bool ran_out(const DeviceReplay& replay) {
  return replay.result.counts.ooms != 0;
}

/// A run that never lacked memory makes the same decisions in any that holds its peak: what was
/// recorded is followed then, which a replay of the requests alone is not sure to do.
bool is_held(const std::vector<DeviceReplay>& as_recorded, Bytes available) {
  return std::ranges::all_of(as_recorded, [&](const DeviceReplay& replay) {
    return !ran_out(replay) && replay.result.counts.alloc_retries == 0 &&
           peak_of(replay).reserved <= available;
  });
}

std::vector<DeviceReplay> replays_under(const RecordedQuestion& question,
                                        const MemoryRequest& memory) {
  std::vector<DeviceReplay> replays;
  for (const RecordedDevice& device : question.recording->devices) {
    if (!device.entries.empty()) {
      ReplayRequest request;
      request.memory = memory;
      replays.push_back(
          replay_recorded(*question.recording, device, question.file, request).replay);
    }
  }
  if (replays.empty()) {
    throw InputError(question.file, "devices", "has no history to replay",
                     std::string(kHowToRecord));
  }
  return replays;
}

std::string place_words(const RecordedAnswer& answer) {
  const RecordedQuestion& question = answer.question;
  if (question.memory.memory_limit || question.memory.memory_fraction) {
    return "the memory limit";
  }
  if (question.gpu != nullptr && !question.memory.capacity) {
    return fmt::format("{} ({}, {})", question.gpu->name, question.gpu->description,
                       to_iec(question.gpu->total_memory));
  }
  return fmt::format("a capacity of {}", to_iec(*answer.available));
}

std::string peak_words(const DeviceReplay& replay) {
  return fmt::format("peak reserved {} ({} allocated)", to_iec(peak_of(replay).reserved),
                     to_iec(peak_of(replay).allocated));
}

}  // namespace

bool RecordedAnswer::fits() const {
  return std::ranges::none_of(replays, ran_out);
}

const DeviceReplay& RecordedAnswer::heaviest() const {
  return *std::ranges::max_element(
      replays, {}, [](const DeviceReplay& replay) { return peak_of(replay).reserved; });
}

RecordedAnswer answer_by_recording(const RecordedQuestion& question) {
  RecordedAnswer answer{question, {}, available_to(question)};
  MemoryRequest memory = question.memory;
  const bool is_settled = memory.alloc_conf || memory.memory_limit || memory.memory_fraction;
  memory.capacity = answer.available;
  if (!is_settled) {
    answer.replays = replays_under(question, {});
  }
  const bool is_bounded = answer.available && question.is_other_memory;
  if (is_settled || (is_bounded && !is_held(answer.replays, *answer.available))) {
    answer.replays = replays_under(question, memory);
  }
  return answer;
}

std::string recorded_verdict(const RecordedAnswer& answer) {
  const std::string peak = peak_words(answer.heaviest());
  const MemoryRequest& memory = answer.question.memory;
  const bool has_limit = answer.available || memory.memory_limit || memory.memory_fraction;
  if (!answer.fits()) {
    return fmt::format("DOES NOT FIT{}: the recorded run, replayed, runs out of memory; {}",
                       has_limit ? " in " + place_words(answer) : "", peak);
  }
  if (!has_limit) {
    return fmt::format("the recorded run, replayed with unlimited memory: {}", peak);
  }
  const Bytes reserved = peak_of(answer.heaviest()).reserved;
  return fmt::format(
      "FITS in {}: the recorded run, replayed: {}{}", place_words(answer), peak,
      answer.available ? fmt::format(", {} to spare", to_iec(*answer.available -
                                                             std::min(*answer.available, reserved)))
                       : "");
}

std::vector<std::string> recorded_limits(const RecordedAnswer& answer) {
  const RecordedQuestion& question = answer.question;
  std::vector<std::string> limits{
      question.why,
      fmt::format("these are the requests of the recorded program itself ({}): they hold for it "
                  "alone, under any memory and any settings of the allocator",
                  question.program)};
  if (question.is_other_gpu) {
    limits.push_back(fmt::format(
        "they were made with the kernels of the recorded GPU; {} may take other workspaces",
        question.gpu->name));
  }
  limits.push_back(fmt::format(
      "for another batch or length: record it two or three times more and highwater fit {} ..., or "
      "--model FILE.py:function, a function of yours that makes model and batch",
      question.file));
  return limits;
}

}  // namespace highwater
