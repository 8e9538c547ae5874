#include "workloads/megatron/repeated_passes.hpp"

#include <algorithm>
#include <utility>

#include "workloads/eager/runtime.hpp"

namespace highwater::megatron {
namespace {

using eager::Tensor;

const eager::Storage* block_of(const Tensor* tensor) {
  return tensor != nullptr && tensor->defined() && (*tensor)->storage->has_block
             ? (*tensor)->storage.get()
             : nullptr;
}

/// A tensor like `tensor`, without a block.
Tensor shape_of(const Tensor& tensor) {
  eager::Ref<eager::TensorImpl> impl(new eager::TensorImpl);
  impl->sizes = tensor.sizes();
  impl->strides = tensor.strides();
  impl->dtype = tensor.dtype();
  impl->requires_grad = tensor.requires_grad();
  return Tensor(std::move(impl));
}

bool is_block(const Tensor* tensor, AllocationId id) {
  const eager::Storage* const storage = block_of(tensor);
  return storage != nullptr && storage->allocation == id;
}

}  // namespace

RepeatedPasses::RepeatedPasses(eager::Runtime& runtime, int chunks, int micro_batches)
    : runtime_(runtime),
      micro_batches_(micro_batches),
      is_possible_(runtime.repeats_passes && runtime.recorder == nullptr),
      forwards_(static_cast<std::size_t>(chunks) * static_cast<std::size_t>(micro_batches)) {
  known_.fill(std::vector<Known>(static_cast<std::size_t>(chunks)));
  earlier_ = known_;
}

void RepeatedPasses::begin_step() {
  for (std::size_t pass = 0; pass < known_.size(); ++pass) {
    earlier_[pass] = std::exchange(known_[pass], std::vector<Known>(known_[pass].size()));
  }
}

std::size_t RepeatedPasses::place_of(const PassUnit& unit) const {
  return static_cast<std::size_t>(unit.chunk) * static_cast<std::size_t>(micro_batches_) +
         static_cast<std::size_t>(unit.micro_batch);
}

// What was carried out in the forward pass has a graph that the backward pass frees, and what was
// written down has none for it to run.
bool RepeatedPasses::may_repeat(Pass pass, const PassUnit& unit) const {
  if (!is_middle(unit.micro_batch)) {
    return false;
  }
  const bool is_alike = is_possible_ && known(pass, unit.chunk).is_pattern();
  if (pass == Pass::forward) {
    return is_alike;
  }
  if (forward_of(unit).is_written && !is_alike) {
    throw PassesDiffer{};
  }
  return forward_of(unit).is_written;
}

void RepeatedPasses::begin() {
  current_ = {.begin = runtime_.events().size(), .first = runtime_.allocation_count()};
}

void RepeatedPasses::end(Pass pass, const PassUnit& unit, const Tensor& result) {
  if (!is_possible_) {
    return;
  }
  current_.allocations = runtime_.allocation_count() - current_.first;
  if (pass == Pass::forward) {
    forwards_[place_of(unit)] = current_;
  }
  const auto chunk = static_cast<std::size_t>(unit.chunk);
  const Known& earlier = earlier_[static_cast<std::size_t>(pass)][chunk];
  if (unit.micro_batch >= kFirst || (unit.micro_batch == 0 && !earlier.is_pattern())) {
    return;
  }
  Known& known_of = known_[static_cast<std::size_t>(pass)][chunk];
  Pattern found = pattern(unit, result);
  if (unit.micro_batch > 0) {
    (unit.micro_batch == 1 ? known_of.second : known_of.third) = std::move(found);
    known_of.result = result.defined() ? shape_of(result) : Tensor{};
  } else if (found == earlier.third) {
    known_of = earlier;
  }
  if (known_of.third) {
    known_of.kept = kept_of(*known_of.third);
  }
}

std::vector<std::uint32_t> RepeatedPasses::kept_of(const Pattern& pattern) {
  std::vector<bool> is_kept(pattern.allocations, true);
  for (const PatternEvent& each : pattern.events) {
    if (each.event.kind == EventKind::free && each.origin == Origin::pass) {
      is_kept[each.event.allocation.index()] = false;
    }
  }
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < pattern.allocations; ++i) {
    if (is_kept[i]) {
      kept.push_back(i);
    }
  }
  return kept;
}

bool RepeatedPasses::are_learned() const {
  const auto is_pattern = [](const Known& known) { return known.is_pattern(); };
  return is_possible_ && std::ranges::all_of(known_, [&](const std::vector<Known>& chunks) {
           return std::ranges::all_of(chunks, is_pattern);
         });
}

void RepeatedPasses::add_held(const PassUnit& unit, std::vector<AllocationId>& held) const {
  for (const Tensor* const tensor : {unit.input, unit.output, unit.gradient}) {
    const eager::Storage* const storage = block_of(tensor);
    held.push_back(storage != nullptr ? storage->allocation : AllocationId::none());
  }
  if (unit.output->defined()) {
    for (const std::uint32_t kept : known(Pass::forward, unit.chunk).kept) {
      held.emplace_back(forward_of(unit).first + kept);
    }
  }
}

void RepeatedPasses::rename(const PassUnit& unit, int later) {
  const Span span = forward_of(unit);
  forwards_[place_of({.chunk = unit.chunk, .micro_batch = later})] = span;
}

void RepeatedPasses::before_release(const PassUnit& unit) {
  const eager::Storage* const storage = block_of(unit.output);
  if (unit.micro_batch < kFirst && storage != nullptr && storage->use_count() > 1) {
    is_possible_ = false;
  }
}

/// The events of the pass that ends now, told by their origins.
RepeatedPasses::Pattern RepeatedPasses::pattern(const PassUnit& unit, const Tensor& result) const {
  Pattern found{.allocations = static_cast<std::uint32_t>(current_.allocations)};
  for (std::size_t i = current_.begin; i < runtime_.events().size(); ++i) {
    found.events.push_back(placed(runtime_.events()[i], current_, unit));
  }
  const std::array slots{unit.input, unit.output, unit.gradient};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (const eager::Storage* const storage = block_of(slots[i])) {
      found.labels[i] = runtime_.events()[storage->event].category;
    }
  }
  if (const eager::Storage* const storage = block_of(&result)) {
    found.result = static_cast<std::uint32_t>(storage->allocation.index() - current_.first);
  }
  return found;
}

RepeatedPasses::PatternEvent RepeatedPasses::placed(const Event& event, const Span& own,
                                                    const PassUnit& unit) const {
  PatternEvent placed{.event = event};
  if (!event.allocation.has_value()) {
    return placed;
  }
  const std::size_t id = event.allocation.index();
  const Span& forward = forward_of(unit);
  const auto lies_in = [id](const Span& span) {
    return id >= span.first && id < span.first + span.allocations;
  };
  placed.origin = id >= own.first                             ? Origin::pass
                  : lies_in(forward)                          ? Origin::forward
                  : is_block(unit.input, event.allocation)    ? Origin::input
                  : is_block(unit.output, event.allocation)   ? Origin::output
                  : is_block(unit.gradient, event.allocation) ? Origin::gradient
                                                              : Origin::older;
  placed.event.allocation = AllocationId{id - start_of(placed.origin, own, unit)};
  return placed;
}

std::size_t RepeatedPasses::start_of(Origin origin, const Span& own, const PassUnit& unit) const {
  switch (origin) {
    case Origin::pass:
      return own.first;
    case Origin::forward:
      return forward_of(unit).first;
    case Origin::input:
      return (*unit.input)->storage->allocation.index();
    case Origin::output:
      return (*unit.output)->storage->allocation.index();
    case Origin::gradient:
      return (*unit.gradient)->storage->allocation.index();
    case Origin::older:
      break;
  }
  return 0;
}

Tensor RepeatedPasses::repeat(Pass pass, const PassUnit& unit) {
  const Known& repeated = known(pass, unit.chunk);
  begin();
  current_.allocations = repeated.third->allocations;
  if (pass == Pass::forward) {
    current_.is_written = true;
    forwards_[place_of(unit)] = current_;
  }
  write(*repeated.third, current_, unit);
  return adopted(repeated, current_);
}

void RepeatedPasses::write(const Pattern& pattern, const Span& own, const PassUnit& unit) {
  for (const PatternEvent& each : pattern.events) {
    Event event = each.event;
    if (event.allocation.has_value()) {
      event.allocation = AllocationId{event.allocation.index() + start_of(each.origin, own, unit)};
    }
    runtime_.write(event);
  }
  const std::array slots{unit.input, unit.output, unit.gradient};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (pattern.labels[i]) {
      runtime_.categorize(*slots[i], *pattern.labels[i]);
    }
  }
}

/// The pass's result, whose block is among those that were written down.
Tensor RepeatedPasses::adopted(const Known& known, const Span& own) {
  if (!known.result.defined()) {
    return {};
  }
  const auto is_made = [&](const PatternEvent& each) {
    return each.event.kind == EventKind::alloc &&
           each.event.allocation.index() == known.third->result;
  };
  const auto made = std::ranges::find_if(known.third->events, is_made);
  Tensor result = shape_of(known.result);
  result->storage =
      runtime_.adopt(own.begin + static_cast<std::size_t>(made - known.third->events.begin()));
  return result;
}

}  // namespace highwater::megatron
