#include "workloads/eager/runtime.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <utility>

#include "traces/cancellation.hpp"
#include "workloads/eager/graph_recorder.hpp"

namespace highwater::eager {

namespace {

std::uint64_t least_block(const Storage& storage) {
  const std::int64_t count = std::max<std::int64_t>(storage.equal_blocks, 1);
  const std::int64_t bytes = (storage.bytes + count - 1) / count;
  const std::int64_t units = (bytes + kLeastBlock - 1) / kLeastBlock;
  return static_cast<std::uint64_t>(count * units * kLeastBlock);
}

bool outlives_an_iteration(Category category) {
  using enum Category;
  return category == parameter || category == gradient || category == optimizer_state ||
         category == buffer || category == input || category == workspace ||
         category == weight_copy;
}

}  // namespace

void Storage::destroy(Storage* storage) {
  storage->runtime->release(*storage);
  delete storage;
}

void TensorImpl::destroy(TensorImpl* impl) {
  delete impl;
}

Runtime::Runtime(const Gpu& model, Release torch_release, Release transformers_release,
                 EventDelay delay)
    : gpu(model),
      torch(torch_release),
      transformers(transformers_release),
      stream(0U),
      stream_events_(delay) {
  trace_.stream_handles = {0};
  trace_.index_of(PoolId{});
  module_id("");
}

// Everything that still holds blocks must be destroyed before the trace that records their release.
Runtime::~Runtime() {
  autocast.cache.clear();
  workspaces.clear();
  unread_.clear();
}

void Runtime::hold_until_read(const Tensor& result, Tensor held) {
  unread_.push_back({result->storage->allocation, std::move(held)});
}

void Runtime::release_held(const Tensor& tensor) {
  std::erase_if(unread_, [&tensor](const Unread& each) {
    return each.result == tensor->storage->allocation;
  });
}

void Runtime::append(Event event) {
  trace_.events.push_back(event);
  ++event_count_;
}

// Asks for cancellation only here: what frees does so in destructors, which must not throw.
Ref<Storage> Runtime::new_storage(std::int64_t bytes, Place place) {
  stop_if_cancelled_at(event_count_);
  Ref<Storage> storage(new Storage);
  storage->runtime = this;
  storage->bytes = bytes;
  storage->place = place;
  storage->device = device;
  return storage;
}

Ref<Storage> Runtime::allocate(std::int64_t bytes, Place place) {
  Ref<Storage> storage = new_storage(bytes, place);
  if (gets_block(*storage)) {
    open_block(*storage);
  } else if (place == Place::host && counts_host_memory && bytes > 0) {
    open_host_block(*storage, HostKind::pageable);
  }
  return storage;
}

Ref<Storage> Runtime::allocate_equal_blocks(std::int64_t bytes, std::uint16_t count) {
  Ref<Storage> storage = new_storage(bytes, Place::cuda);
  storage->equal_blocks = count;
  if (gets_block(*storage)) {
    open_block(*storage);
  }
  return storage;
}

bool Runtime::gets_block(const Storage& storage) const {
  return storage.place == Place::cuda && storage.device == traced_device && storage.bytes > 0;
}

Ref<Storage> Runtime::allocate_pinned(std::int64_t bytes) {
  Ref<Storage> storage(new Storage);
  storage->runtime = this;
  storage->bytes = bytes;
  storage->place = Place::host;
  if (bytes > 0) {
    open_host_block(*storage, HostKind::pinned);
  }
  return storage;
}

void Runtime::write(const Event& event) {
  trace_.allocation_count += event.kind == EventKind::alloc ? 1U : 0U;
  append(event);
}

Ref<Storage> Runtime::adopt(std::size_t allocation) {
  const Event& event = trace_.events[allocation];
  Ref<Storage> storage(new Storage);
  storage->runtime = this;
  storage->bytes = static_cast<std::int64_t>(event.value);
  storage->event = allocation;
  storage->allocation = event.allocation;
  storage->stream = event.stream;
  storage->device = device;
  storage->has_block = true;
  live_ += least_block(*storage);
  return storage;
}

void Runtime::require_trace() const {
  if (is_lost_) {
    throw std::bad_alloc();
  }
}

// A storage has its block once all is written down: what fails before has nothing to undo.
void Runtime::open_host_block(Storage& storage, HostKind kind) {
  require_trace();
  storage.allocation =
      AllocationId(host_memory.allocate(storage.bytes, kind, to_string(Category::temporary)));
  storage.has_block = true;
}

void Runtime::label_host_block(const Storage& storage, Category category) {
  host_memory.label(storage.allocation.value(), to_string(category));
}

void Runtime::open_block(Storage& storage) {
  require_trace();
  complete_events();
  storage.allocation = AllocationId(trace_.allocation_count++);
  storage.stream = stream;
  storage.event = event_count_;
  live_ += least_block(storage);
  most_live_ = live_ > most_live_ ? 0 : most_live_;  // told at the next phase
  if (recorder != nullptr) {
    recorder->on_allocate(storage.allocation);
  }
  append({.value = static_cast<std::uint64_t>(storage.bytes),
          .allocation = storage.allocation,
          .stream = stream,
          .stack = site(),
          .kind = EventKind::alloc,
          .category = Category::temporary,
          .pool = storage.equal_blocks});
  storage.has_block = true;
}

void Runtime::free_block(Storage& storage) {
  release(storage);
  storage.has_block = false;
  storage.used_on.clear();
}

void Runtime::allocate_block(Storage& storage, std::int64_t bytes) {
  storage.bytes = bytes;
  if (gets_block(storage)) {
    open_block(storage);
  }
}

void Runtime::release(Storage& storage) noexcept {
  if (is_lost_) {
    return;
  }
  try {
    write_release(storage);
  } catch (const std::bad_alloc&) {
    lose_trace();
  }
}

void Runtime::write_release(Storage& storage) {
  if (storage.has_block && storage.place == Place::host) {
    host_memory.free(storage.allocation.value());
    return;
  }
  if (storage.has_block && !is_closed_) {
    live_ -= least_block(storage);
    if (recorder != nullptr) {
      recorder->on_free(storage.allocation);
    }
    if (storage.used_on.empty()) {
      append({.allocation = storage.allocation, .stack = site(), .kind = EventKind::free});
    } else {
      free_used_elsewhere(storage);
    }
  }
}

StreamId Runtime::make_stream() {
  const StreamId made(trace_.stream_handles.size());
  trace_.stream_handles.push_back(made.value());
  return made;
}

void Runtime::record_stream(const Tensor& tensor, StreamId other) {
  Storage& storage = *tensor->storage;
  auto& streams = storage.used_on;
  const bool is_new = std::ranges::find(streams, other) == streams.end();
  if (storage.has_block && storage.place == Place::cuda && other != storage.stream && is_new) {
    streams.push_back(other);
  }
}

// A trace can only say that all events on a stream are complete. So events that complete one by one
// each get their own stream, as in recordings (sim/derivation.hpp).
StreamId Runtime::take_event_name(StreamId other) {
  if (stream_events_.are_immediate()) {
    return other;
  }
  if (event_names_.empty()) {
    return make_stream();
  }
  const StreamId name = event_names_.back();
  event_names_.pop_back();
  return name;
}

void Runtime::free_used_elsewhere(const Storage& storage) {
  boost::container::small_vector<StreamId, 1> names;
  for (const StreamId used_on : storage.used_on) {
    names.push_back(take_event_name(used_on));
    append({.allocation = storage.allocation,
            .stream = names.back(),
            .kind = EventKind::record_stream});
  }
  append({.allocation = storage.allocation, .stack = site(), .kind = EventKind::free});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (stream_events_.are_immediate()) {
      append({.stream = names[i], .kind = EventKind::stream_done});
    } else {
      stream_events_.record(storage.used_on[i], names[i]);
    }
  }
}

void Runtime::complete_events() {
  for (const StreamId name : stream_events_.query()) {
    append({.stream = name, .kind = EventKind::stream_done});
    event_names_.push_back(name);
  }
}

void Runtime::categorize(const Tensor& tensor, Category category) {
  const auto& storage = *tensor->storage;
  if (storage.has_block && storage.place == Place::host) {
    label_host_block(storage, category);
  } else if (storage.has_block) {
    trace_.events[storage.event].category = category;
  }
}

void Runtime::categorize_transient(const Tensor& tensor, Category category) {
  const auto& storage = *tensor->storage;
  if (storage.has_block && storage.place != Place::host &&
      !outlives_an_iteration(trace_.events[storage.event].category)) {
    trace_.events[storage.event].category = category;
  }
}

void Runtime::mark_step(std::uint64_t step) {
  require_trace();
  append({.kind = EventKind::reset_peaks});
  append({.value = step, .kind = EventKind::step});
}

// A phase begins in no destructor, where hooks of modules may allocate. Between forward and
// backward a graph may hold the modules that hold it (FSDP1's views of a flat parameter): only its
// backward pass takes it apart.
void Runtime::mark_phase(std::string_view phase) {
  require_trace();
  if (is_phase_held) {
    return;
  }
  const bool has_graph = phase == "loss" || phase == "backward" || phase == "zero_grad";
  if (most_live_ == 0 && !has_graph) {
    throw LiveLimitReached{};
  }
  append({.value = trace_.tables.strings.intern(phase).value(), .kind = EventKind::phase});
}

void Runtime::empty_cache() {
  append({.kind = EventKind::empty_cache});
}

RequestTrace Runtime::take_trace() {
  require_trace();
  is_closed_ = true;
  recorder = nullptr;
  return std::exchange(trace_, RequestTrace{});
}

std::uint32_t Runtime::module_id(const std::string& path) {
  const auto [found, is_new] =
      module_ids_.try_emplace(path, static_cast<std::uint32_t>(module_paths_.size()));
  if (is_new) {
    module_paths_.push_back(path);
  }
  return found->second;
}

std::size_t Runtime::SiteHash::operator()(const SiteKey& key) const {
  const auto mix = [](std::size_t seed, std::size_t value) {
    return (seed ^ value) * 0x9e3779b97f4a7c15ULL;
  };
  return mix(mix(mix(0, std::hash<const void*>{}(key.op)), std::hash<const void*>{}(key.node)),
             key.module);
}

StackId Runtime::site() {
  const auto [found, is_new] = sites_.try_emplace(SiteKey{op, node, module});
  if (!is_new) {
    return found->second;
  }
  auto& tables = trace_.tables;
  boost::container::static_vector<FrameId, 3> frames;
  const auto add = [&](std::string_view file, std::string_view function) {
    if (!function.empty()) {
      frames.push_back(tables.stacks.intern_frame(
          {.file = tables.strings.intern(file), .function = tables.strings.intern(function)}));
    }
  };
  add("operator", op);
  add("autograd", node);
  add("module", module_paths_[module]);
  found->second = tables.stacks.intern_stack({frames.data(), frames.size()});
  return found->second;
}

}  // namespace highwater::eager
