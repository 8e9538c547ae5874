#include "tools/studies/runs/process_breakdown.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/peak/memory_breakdown.hpp"
#include "tools/text/site.hpp"

namespace highwater {
namespace {

/// Names of the output head in the covered families; it is a child of the model's root.
bool is_output_head(std::string_view module) {
  return module == "lm_head" || module == "output_projection" || module == "output";
}

/// Autocast casts the head's operands inside of its module.
bool makes_logits(const Site& site) {
  return is_output_head(site.module) && site.op != "_to_copy";
}

/// The head's result, the loss over it, and the gradients on the way back: backward nodes that
/// belong to no module are those of the loss. AccumulateGrad runs what a parameter waits for, and
/// in the head's own backward are gradients of its input and its weight.
bool belongs_to_loss(const Site& site, std::string_view phase) {
  if (site.autograd.empty()) {
    return makes_logits(site) || phase == "loss";
  }
  return site.module.empty() && site.autograd != "AccumulateGrad";
}

std::string describe(const Site& site) {
  std::string text = site.op.empty() ? "(no operator)" : site.op;
  text += site.autograd.empty() ? "" : " in " + site.autograd;
  text += site.module.empty() ? "" : ", " + without_indices(site.module);
  return text;
}

std::string describe(const PoolStream& pool, std::string_view what) {
  return fmt::format("{} of the {} pool{}, stream {}", what,
                     pool.kind == PoolKind::small ? "small" : "large",
                     pool.owner.is_default() ? "" : " (private)", pool.stream.value());
}

/// Collects details by part; equal descriptions are one detail.
class PartCollector {
 public:
  void add(MemoryPart part, const std::string& what, Bytes bytes, std::uint64_t blocks = 0) {
    if (bytes != Bytes{}) {
      details_[static_cast<std::size_t>(part)].add(what, bytes, blocks);
    }
  }

  [[nodiscard]] ProcessBreakdown finish() const {
    ProcessBreakdown parts;
    for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
      parts.details[i] = details_[i].largest_first();
      for (const Holder<std::string>& detail : parts.details[i]) {
        parts.bytes[i] += detail.held;
      }
    }
    return parts;
  }

 private:
  std::array<HolderSums<std::string>, kMemoryPartCount> details_;
};

void add_tensors(const RequestTrace& trace, std::size_t event, PartCollector& collector) {
  for (const LiveBlock& block : live_blocks_at(trace, event)) {
    collector.add(part_of(block, trace.tables), describe(site_of(trace.tables, block.stack)),
                  block.bytes, 1);
  }
}

void add_free_memory(const std::vector<PoolBreakdown>& pools, PartCollector& collector) {
  const auto in_use = [](const PoolBreakdown& pool) { return pool.parts.in_use(); };
  const auto main = std::ranges::max_element(pools, {}, in_use);
  for (auto pool = pools.begin(); pool != pools.end(); ++pool) {
    const MemoryPart part = pool == main ? MemoryPart::segment_slack : MemoryPart::isolation;
    collector.add(part, describe(pool->pool, "free between blocks"), pool->parts.free_in_split);
    collector.add(part, describe(pool->pool, "unused segments"), pool->parts.free_whole);
  }
}

/// Follows the live bytes of each part through a trace.
class PartFollower {
 public:
  PartFollower(const RequestTrace& trace, std::span<const PartSet> sets)
      : trace_(&trace), sets_(sets), blocks_(trace.allocation_count), highest_(sets.size()) {}

  void apply(const Event& event) {
    if (event.kind == EventKind::phase) {
      phase_ = event.text();
    } else if (event.kind == EventKind::alloc) {
      Block& block = blocks_[event.allocation.index()];
      block = {event.bytes(), part_of_request(event), true};
      live_[static_cast<std::size_t>(block.part)] += block.bytes;
      raise(block.part);
    } else if (event.kind == EventKind::free) {
      Block& block = blocks_[event.allocation.index()];
      live_[static_cast<std::size_t>(block.part)] -= block.is_live ? block.bytes : Bytes{};
      block.is_live = false;
    }
  }

  [[nodiscard]] const std::vector<Bytes>& highest() const { return highest_; }

 private:
  struct Block {
    Bytes bytes;
    MemoryPart part = MemoryPart::temporaries;
    bool is_live = false;
  };

  /// Few different sites make all requests, so each is looked up once.
  MemoryPart part_of_request(const Event& event) {
    const auto [found, is_new] = parts_.try_emplace(std::tuple(event.stack, event.category, phase_),
                                                    MemoryPart::temporaries);
    if (is_new) {
      found->second = part_of({.stack = event.stack, .category = event.category, .phase = phase_},
                              trace_->tables);
    }
    return found->second;
  }

  void raise(MemoryPart grown) {
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      if (sets_[i].contains(grown)) {
        Bytes sum;
        for (std::size_t part = 0; part < kMemoryPartCount; ++part) {
          sum += sets_[i].contains(static_cast<MemoryPart>(part)) ? live_[part] : Bytes{};
        }
        highest_[i] = std::max(highest_[i], sum);
      }
    }
  }

  const RequestTrace* trace_;
  std::span<const PartSet> sets_;
  std::vector<Block> blocks_;
  std::array<Bytes, kMemoryPartCount> live_{};
  std::vector<Bytes> highest_;
  std::map<std::tuple<StackId, Category, StringId>, MemoryPart> parts_;
  StringId phase_;
};

}  // namespace

Bytes ProcessBreakdown::of(PartSet parts) const {
  Bytes sum;
  for (std::size_t i = 0; i < kMemoryPartCount; ++i) {
    sum += parts.contains(static_cast<MemoryPart>(i)) ? bytes[i] : Bytes{};
  }
  return sum;
}

Bytes ProcessBreakdown::total() const {
  Bytes sum;
  for (const Bytes part : bytes) {
    sum += part;
  }
  return sum;
}

MemoryPart part_of(const LiveBlock& block, const SideTables& tables) {
  switch (block.category) {
    case Category::parameter:
      return MemoryPart::parameters;
    case Category::gradient:
      return MemoryPart::gradients;
    case Category::optimizer_state:
      return MemoryPart::optimizer_states;
    case Category::workspace:
      return MemoryPart::workspaces;
    case Category::input:
      return MemoryPart::inputs;
    case Category::buffer:
      return MemoryPart::buffers;
    case Category::communication:
      return MemoryPart::communication;
    case Category::weight_copy:
      return MemoryPart::weight_copies;
    case Category::activation:
    case Category::temporary:
    case Category::unknown:
      break;
  }
  const std::string_view phase = block.phase.has_value() ? tables.strings[block.phase] : "";
  if (belongs_to_loss(site_of(tables, block.stack), phase)) {
    return MemoryPart::logits;
  }
  return block.category == Category::activation ? MemoryPart::activations : MemoryPart::temporaries;
}

ProcessBreakdown process_breakdown(const RequestTrace& trace, ReplayOptions options,
                                   const PeakOfReplay& peak) {
  PartCollector collector;
  add_tensors(trace, peak.event, collector);
  options.last_event = peak.event;
  options.observer = nullptr;
  const std::vector<PoolBreakdown> pools =
      breakdown_by_pool(replay(trace, options).map, options.settings);
  MemoryBreakdown sum;
  for (const PoolBreakdown& pool : pools) {
    sum += pool.parts;
  }
  collector.add(MemoryPart::rounding, "blocks of whole 512 bytes, or as the settings round",
                sum.rounding);
  collector.add(MemoryPart::split_tails, "left-overs too small to be split off", sum.tails);
  add_free_memory(pools, collector);
  collector.add(MemoryPart::isolation, "blocks that wait for other streams", sum.waiting);
  collector.add(MemoryPart::later_growth, "reserved at another moment",
                peak.reserved - sum.total());
  collector.add(MemoryPart::outside, "CUDA context and loaded kernels", peak.outside);
  return collector.finish();
}

std::vector<Bytes> highest_of(const RequestTrace& trace, std::size_t events,
                              std::span<const PartSet> sets) {
  PartFollower follower(trace, sets);
  for (const Event& event : trace.events) {
    if (events-- == 0) {
      break;
    }
    follower.apply(event);
  }
  return follower.highest();
}

}  // namespace highwater
