#include "sim/replay/trace_driver.hpp"

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

std::string_view reason(PoolCall result) {
  switch (result) {
    case PoolCall::unknown_pool:
      return "the pool was never begun";
    case PoolCall::pool_released:
      return "the last user of the pool has released it";
    case PoolCall::already_open:
      return "the pool is already open";
    case PoolCall::not_open:
      return "the pool is not open";
    case PoolCall::ok:
      break;
  }
  return "";
}

}  // namespace

TraceDriver::TraceDriver(const RequestTrace& trace, CachingAllocator& allocator,
                         MemoryLimits limits)
    : trace_(&trace), allocator_(&allocator), limits_(limits), handles_(trace.allocation_count) {}

AllocationStatus TraceDriver::apply(const Event& event) {
  AllocationStatus status = AllocationStatus::ok;
  switch (event.kind) {
    case EventKind::alloc:
      status = allocate(event);
      break;
    case EventKind::free:
      free(event.allocation);
      break;
    case EventKind::record_stream:
      if (handle(event.allocation).has_value()) {
        allocator_->record_stream(handle(event.allocation), event.stream);
      }
      break;
    case EventKind::stream_done:
      allocator_->complete_events(event.stream);
      break;
    case EventKind::all_streams_done:
      allocator_->complete_all_events();
      break;
    case EventKind::empty_cache:
      refused_empty_caches_ += allocator_->empty_cache() ? 0U : 1U;
      break;
    case EventKind::reset_peaks:
      allocator_->reset_peaks();
      break;
    case EventKind::pool_begin:
    case EventKind::pool_end:
    case EventKind::pool_retire:
    case EventKind::pool_release:
      apply_pool(event);
      break;
    case EventKind::set_settings:
      apply_settings_change(event);
      break;
    case EventKind::memory_limit:
      apply_memory_limit(event);
      break;
    case EventKind::step:
    case EventKind::phase:
    case EventKind::op:
      return status;  // markers do not count as operations
  }
  ++operations_;
  return status;
}

AllocationStatus TraceDriver::allocate(const Event& event) {
  const AllocationResult result = allocator_->allocate(event.bytes(), event.stream);
  handles_[event.allocation.index()] = result.block;
  return result.status;
}

void TraceDriver::free(AllocationId id) {
  const BlockId block = handles_[id.index()];
  if (block.has_value()) {
    handles_[id.index()] = BlockId::none();
    allocator_->free(block);
  }
}

void TraceDriver::apply_pool(const Event& event) {
  const PoolId pool = trace_->pools.at(event.pool);
  if (event.kind == EventKind::pool_retire) {
    allocator_->retire_pool(pool);
    return;
  }
  const PoolCall result =
      event.kind == EventKind::pool_begin
          ? allocator_->begin_pool(pool, pool_options_of(event.value), session_kind_of(event.value))
      : event.kind == EventKind::pool_end ? allocator_->end_pool(pool)
                                          : allocator_->release_pool(pool);
  if (result != PoolCall::ok) {
    throw OperationError(operations_,
                         fmt::format("pool {},{}: {} (PyTorch asserts here)", pool.capture,
                                     pool.user, reason(result)),
                         "check the order of the pool operations");
  }
  if (event.kind == EventKind::pool_release && event.value == 1) {
    allocator_->empty_pool(pool);
  }
}

void TraceDriver::apply_memory_limit(const Event& event) {
  if (limits_ == MemoryLimits::of_the_trace) {
    allocator_->set_memory_limit(event.value == kNoLimit ? std::nullopt
                                                         : std::optional(event.bytes()));
  }
}

void TraceDriver::apply_settings_change(const Event& event) {
  Settings settings = allocator_->settings();
  const std::string_view conf = trace_->tables.strings[event.text()];
  try {
    apply_settings(conf, allocator_->version(), settings);
  } catch (const SettingsError& error) {
    throw OperationError(operations_, fmt::format("settings '{}': {}", conf, error.what()),
                         "correct the settings string");
  }
  allocator_->change_settings(settings);
}

}  // namespace highwater
