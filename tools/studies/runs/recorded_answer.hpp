// What a recording answers whose program no plan describes: a class of the user's own, which has no
// configuration that a model could be made of.
//
// Its requests are replayed under the memory and the settings that are asked for. They are those of
// the program as it ran, with the kernels of the GPU that it was recorded on, so there is no answer
// for another batch, length or model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/studies/runs/memory_request.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "traces/recording.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

struct RecordedQuestion {
  std::string file;
  std::shared_ptr<const Recording> recording;
  std::string why;               ///< there is no plan to simulate: one sentence
  std::string program;           ///< what ran, in words
  const Gpu* gpu = nullptr;      ///< that it has to run on; nullptr: none is named
  bool is_other_gpu = false;     ///< than the one whose kernels were recorded
  bool is_other_memory = false;  ///< than the recorded program had
  MemoryRequest memory;          ///< beside what `gpu` has; settings only if other than recorded
};

struct RecordedAnswer {
  RecordedQuestion question;
  std::vector<DeviceReplay> replays;  ///< one for each device of the recording with activity
  std::optional<Bytes> available;     ///< to the allocator of each; absent: unlimited

  /// Whether all of them run to their end.
  [[nodiscard]] bool fits() const;

  /// The one that reserves most. @pre there is one
  [[nodiscard]] const DeviceReplay& heaviest() const;
};

/// @throws InputError for a recording without a history, UsageError for wrong settings
RecordedAnswer answer_by_recording(const RecordedQuestion& question);

/// "FITS in a100-80 (...): the recorded run, replayed: peak reserved 3.25 GiB (...)"
std::string recorded_verdict(const RecordedAnswer& answer);

/// What the answer holds for, and how others are had.
std::vector<std::string> recorded_limits(const RecordedAnswer& answer);

}  // namespace highwater
