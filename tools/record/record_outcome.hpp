// What happened to a command that was run for recording.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/record/child_process.hpp"
#include "tools/record/cudnn_facts.hpp"

namespace highwater {

/// A snapshot that the recorder wrote.
struct WrittenSnapshot {
  std::string path;
  std::string torch;               ///< "2.6.0+cu124"
  std::string ended;               ///< exit, steps, interrupted, terminated, crash, oom, error
  std::string error;               ///< the exception's first line, or empty
  std::uint64_t entries = 0;       ///< of the history
  std::uint64_t steps = 0;         ///< optimizer steps
  std::uint64_t launches = 0;      ///< kernels
  std::uint64_t trainable = 0;     ///< elements of the optimizers' parameters
  std::vector<int> communicators;  ///< ranks of each group of NCCL's that a process has made
  std::uint64_t values_read = 0;   ///< small copies to the host whose values no kernel had computed
  std::map<std::string, std::uint64_t> not_modelled;  ///< calls by function that did nothing
  CudnnFacts cudnn;
};

struct RecordOutcome {
  ProcessEnd end;
  std::vector<WrittenSnapshot> snapshots;  ///< in the order in which they were written
  std::string refusal;             ///< why a PyTorch cannot run on the fake device, or empty
  bool torch_seen = false;         ///< a process imported torch with the fake libraries
  bool cuda_used = false;          ///< one initialised CUDA
  bool nothing_allocated = false;  ///< one that had initialised CUDA ended without an allocation
  bool torch_tested = true;        ///< its release is one that was tested
  std::string torch;               ///< its release
  std::string waiting_at;          ///< where the script seems to wait for a value, or empty
};

/// Reads the lines that the recorder appended to `status`, a file that may be missing.
RecordOutcome read_record_outcome(const std::filesystem::path& status, ProcessEnd end);

/// The snapshot with the requested name, or the first one written.
/// @pre outcome.snapshots is not empty
const WrittenSnapshot& main_snapshot(const RecordOutcome& outcome,
                                     const std::filesystem::path& asked_for);

/// Whether the command failed: by an exception, a crash, or an end that no snapshot explains.
/// Running out of memory, being interrupted or terminated does not count as failure.
bool command_failed(const RecordOutcome& outcome);

/// Whether the command was stopped, or failed, before the end that it or --steps sets.
bool ended_early(const RecordOutcome& outcome);

/// Why there is no snapshot, and what to try. @pre outcome.snapshots is empty
std::string why_nothing_recorded(const RecordOutcome& outcome);

/// Remarks about the run that its figures do not show, one per line.
std::vector<std::string> record_notes(const RecordOutcome& outcome);

}  // namespace highwater
