#include "sim/peak/operation_rows.hpp"

#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

bool concerns_block(EventKind kind) {
  return kind == EventKind::alloc || kind == EventKind::free || kind == EventKind::record_stream;
}

}  // namespace

OperationRows::OperationRows(const RequestTrace& trace, const std::vector<OlderBlockStack>& older,
                             Sink sink)
    : trace_(&trace), older_(&older), sink_(std::move(sink)) {}

void OperationRows::on_begin(const CachingAllocator& allocator, const TraceDriver& driver) {
  row_ = {};
  held_.assign(trace_->allocation_count, {});
  for (const auto& [id, stack] : *older_) {
    const BlockId handle = driver.handle(id);
    if (handle.has_value()) {
      const Block& block = allocator.block(handle);
      held_[id.index()] = {block.requested, block.stream(), stack, block.address};
    }
  }
}

void OperationRows::note_alloc(const Event& event, const CachingAllocator& allocator,
                               const TraceDriver& driver) {
  Held& held = held_[event.allocation.index()];
  held = {event.bytes(), event.stream, event.stack, std::nullopt};
  const BlockId handle = driver.handle(event.allocation);
  if (handle.has_value()) {
    held.address = allocator.block(handle).address;
  }
}

void OperationRows::on_state(const Event& event, AllocationStatus status,
                             const CachingAllocator& allocator, const TraceDriver& driver) {
  if (event.kind == EventKind::step) {
    row_.step = event.value;
  } else if (event.kind == EventKind::phase) {
    row_.phase = event.text();
  }
  if (!event.is_operation()) {
    return;
  }
  if (event.kind == EventKind::alloc) {
    note_alloc(event, allocator, driver);
  }
  const bool has_block = concerns_block(event.kind);
  Held none;
  Held& held = has_block ? held_[event.allocation.index()] : none;
  row_.kind = event.kind;
  row_.status = status;
  row_.allocation = has_block ? event.allocation : AllocationId::none();
  row_.bytes = held.requested;
  row_.stream = event.kind == EventKind::free ? held.stream : event.stream;
  row_.address = held.address;
  row_.stack = event.stack.has_value() ? event.stack : held.stack;
  row_.after = usage_of(allocator.statistics());
  sink_(row_);
  ++row_.operation;
  if (event.kind == EventKind::free) {
    held.address.reset();
  }
}

}  // namespace highwater
