// A run's requests in short: enough to say whether a generated trace is the recorded one.
//
// The digest is FNV-1a of the text "+BYTES" for each request and "-N" for each free of the request
// number N, separated by spaces, over the whole run. The recordings are of PyTorch 2.6 with
// transformers 5.12.1 and PEFT 0.21.2 on a simulated A100.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "tests/support/recorded_releases.hpp"
#include "traces/request_trace.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/precision.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

namespace highwater {

struct RunDigest {
  std::uint64_t requests = 0;
  std::uint64_t digest = 0xcbf29ce484222325;
  std::uint64_t forward_peak = 0;   ///< largest sum of requested bytes in forward of the last step
  std::uint64_t backward_peak = 0;  ///< the same in backward

  bool operator==(const RunDigest&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const RunDigest& run) {
  return out << "{" << run.requests << ", 0x" << std::hex << run.digest << std::dec << ", "
             << run.forward_peak << ", " << run.backward_peak << "}";
}

class Digester {
 public:
  explicit Digester(const RequestTrace& trace) : trace_(trace) {
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      see(trace.events[i]);
    }
  }

  [[nodiscard]] const RunDigest& result() const { return result_; }

 private:
  struct Block {
    std::size_t number;
    std::uint64_t bytes;
  };

  void see(const Event& event) {
    const auto id = event.allocation.value();
    if (event.kind == EventKind::alloc) {
      add("+" + std::to_string(event.value));
      const std::size_t number = blocks_.size();
      blocks_[id] = {number, event.value};
      live_ += event.value;
    } else if (event.kind == EventKind::free) {
      add("-" + std::to_string(blocks_.at(id).number));
      live_ -= blocks_.at(id).bytes;
    } else if (event.kind == EventKind::phase) {
      start_phase(trace_.tables.strings[event.text()]);
    }
    if (peak_ != nullptr) {
      *peak_ = std::max(*peak_, live_);
    }
  }

  // The loss belongs to the recordings' forward.
  void start_phase(std::string_view phase) {
    if (phase == "loss") {
      return;
    }
    peak_ = phase == "forward"    ? &result_.forward_peak
            : phase == "backward" ? &result_.backward_peak
                                  : nullptr;
    if (peak_ != nullptr) {
      *peak_ = 0;
    }
  }

  void add(const std::string& word) {
    const std::string text = (result_.requests++ == 0 ? "" : " ") + word;
    for (const char c : text) {
      result_.digest = (result_.digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }

  const RequestTrace& trace_;
  RunDigest result_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::uint64_t live_ = 0;
  std::uint64_t* peak_ = nullptr;
};

inline RunDigest digest_of(const TrainingPlan& plan) {
  return Digester(generate(plan)).result();
}

/// Two layers, wide enough for every kernel.
inline TrainingPlan small_gpt2() {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset("gpt2");
  auto& config = plan.model.config.as<Gpt2Config>();
  config.n_layer = 2;
  config.n_embd = 64;
  config.n_head = 2;
  config.vocab_size = 500;
  config.n_positions = 64;
  plan.batch = 2;
  plan.seq = {32};
  plan.steps = 2;
  return plan;
}

inline TrainingPlan small_llama() {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset("llama-160m");
  auto& config = plan.model.config.as<LlamaConfig>();
  config.num_hidden_layers = 2;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 4;
  config.vocab_size = 1000;
  plan.batch = 2;
  plan.seq = {32};
  plan.steps = 2;
  plan.precision = Precision::bf16;
  return plan;
}

}  // namespace highwater
