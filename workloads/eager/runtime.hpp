// The state of one symbolic PyTorch process on one device, and the trace it leaves.
//
// Everything an operator may need besides its operands: where blocks come from, grad mode,
// autocast, saved-tensor hooks, the thread (forward or autograd: each has its own cuBLAS handles),
// the GPU and the versions to imitate.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "traces/release.hpp"
#include "traces/request_trace.hpp"
#include "workloads/eager/host_memory.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/eager/stream_events.hpp"
#include "workloads/eager/tensor.hpp"
#include "workloads/kernels/attention.hpp"
#include "workloads/plan/attention.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater::eager {

class GraphRecorder;
class OutputCache;

namespace sdpa {
class SharedAttention;
}

/// Query, key and value, and a function of them.
struct AttentionOperands {
  Tensor query;
  Tensor key;
  Tensor value;
};

using AttendHeads = std::function<Tensor(AttentionOperands in)>;
using ExchangedAttention = std::function<Tensor(AttentionOperands in, const AttendHeads& attend)>;

/// torch.autocast: its target type and the cache of cast weights.
struct Autocast {
  bool enabled = false;
  DType dtype = DType::bf16;
  bool caches = true;                            ///< cache_enabled
  std::vector<std::pair<Tensor, Tensor>> cache;  ///< weight and its copy, in order of insertion
  boost::unordered_flat_map<const TensorImpl*, std::size_t> cached;  ///< index into `cache`
};

/// Thrown by a run whose blocks need more memory than it was given (Runtime::limit_live). As
/// Cancelled it is no error: who set the limit catches it.
struct LiveLimitReached {};

/// CUDACachingAllocator.cpp: kMinBlockSize. Settings only make larger blocks larger.
inline constexpr std::int64_t kLeastBlock = 512;

/// Which host thread runs: backward has one of its own.
enum class Thread : std::uint8_t { main, autograd };

class Runtime {
 public:
  Runtime(const Gpu& gpu, Release torch, Release transformers, EventDelay delay = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // --- memory -------------------------------------------------------------------------------

  /// A storage of `bytes`; on the GPU it is one block of the caching allocator.
  Ref<Storage> allocate(std::int64_t bytes, Place place = Place::cuda);

  /// Whether equal blocks that come and go together may be one request. Equal are those of as many
  /// bytes, and all of at most kLeastBlock.
  bool joins_equal_blocks = false;

  /// A storage on the GPU that stands for `count` equal ones, of `bytes` in all.
  /// @pre joins_equal_blocks
  Ref<Storage> allocate_equal_blocks(std::int64_t bytes, std::uint16_t count);

  /// A storage of pinned memory.
  Ref<Storage> allocate_pinned(std::int64_t bytes);

  /// Called when the last tensor on `storage` is released, by destructors: what cannot be written
  /// down for lack of memory is told by whatever goes on with the run.
  void release(Storage& storage) noexcept;

  /// UntypedStorage.resize_(0): the block is freed; tensors on `storage` stay, without data.
  void free_block(Storage& storage);

  /// UntypedStorage.resize_(bytes) of a storage without a block: it gets a new one.
  void allocate_block(Storage& storage, std::int64_t bytes);

  /// Sets what the block behind `tensor` is for.
  void categorize(const Tensor& tensor, Category category);

  /// The same, unless the block already has a role that outlives one iteration.
  void categorize_transient(const Tensor& tensor, Category category);

  /// What the allocator can have of the traced device; absent: more than any program asks for.
  std::optional<Bytes> room;

  /// Blocks that are live at once may hold `most`; a run that needs more ends by LiveLimitReached.
  void limit_live(Bytes most) { most_live_ = most.count(); }

  // --- requests that are known without being made ---------------------------------------------

  /// Whether passes that would ask for the same again are written down (repeated_passes.hpp).
  bool repeats_passes = false;

  /// Appends a request of such a pass. An allocation has the next number.
  void write(const Event& event);

  /// The block of the event `allocation`, which was written; it is freed with the storage.
  Ref<Storage> adopt(std::size_t allocation);

  [[nodiscard]] std::size_t allocation_count() const { return trace_.allocation_count; }

  // --- results that are waited for when they are read -----------------------------------------

  /// Keeps `held` until an operator reads `result` (AsyncCollectiveTensor; views read nothing).
  void hold_until_read(const Tensor& result, Tensor held);

  /// An operator is about to read `tensor`.
  void read(const Tensor& tensor) {
    if (!unread_.empty()) {
      release_held(tensor);
    }
  }

  // --- other streams ------------------------------------------------------------------------

  /// A stream besides the main one, such as that of a communicator.
  StreamId make_stream();

  /// Tensor.record_stream(other): the block, once freed, waits for what `other` does until then.
  void record_stream(const Tensor& tensor, StreamId other);

  /// An event recorded now, on whatever stream a later wait_for() or synchronize() names.
  [[nodiscard]] Moment record_event() {
    return stream_events_.are_immediate() ? Moment{0} : stream_events_.record();
  }

  /// The current stream waits until `other` has reached `moment`.
  void wait_for(StreamId other, Moment moment) { wait_for(stream, other, moment); }

  /// `waiting` waits for all work given to `other` so far (Stream.wait_stream).
  void wait_stream(StreamId waiting, StreamId other) { wait_for(waiting, other, record_event()); }

  /// The host waits for the current stream, as for a value that it reads.
  void synchronize() {
    if (is_traced()) {
      stream_events_.synchronize(stream);
    }
  }

  /// The host waits until `other` has reached `moment` (Event.synchronize).
  void synchronize(StreamId other, Moment moment) { stream_events_.synchronize(other, moment); }

  /// Launches this many kernels on the device.
  void launch(int kernels) {
    if (is_traced()) {
      stream_events_.launch(kernels);
    }
  }

  /// Whether the current GPU is the one that the trace is of.
  [[nodiscard]] bool is_traced() const { return device == traced_device; }

  // --- markers ------------------------------------------------------------------------------

  void mark_step(std::uint64_t step);
  void mark_phase(std::string_view phase);
  void empty_cache();

  /// The trace so far; the runtime must not be used for further events.
  RequestTrace take_trace();

  // --- autograd -----------------------------------------------------------------------------

  /// Each thread counts its own nodes (ATen/SequenceNumber.h).
  [[nodiscard]] std::uint64_t next_sequence_nr() {
    return sequence_nr_[static_cast<std::size_t>(thread)]++;
  }

  /// Nodes waiting to be deleted without recursion (engine.cpp: deleteNode): the last one, with
  /// the others behind it.
  Node* dead_nodes = nullptr;
  bool deleting_nodes = false;

  /// Called by destructors that could not write down what they had to.
  void lose_trace() { is_lost_ = true; }

  /// What runs at the end of the innermost backward, in order (engine.cpp: queue_callback).
  std::vector<std::function<void()>> final_callbacks;

  // --- state --------------------------------------------------------------------------------

  const Gpu gpu;
  const Release torch;  ///< whose behaviour is imitated
  const Release transformers;
  bool grad_enabled = true;
  Autocast autocast;
  std::vector<SavedTensorHooks*> saved_tensor_hooks;
  OutputCache* output_cache = nullptr;  ///< of a selectively checkpointed segment
  Thread thread = Thread::main;
  DeviceIndex device = kFirstDevice;         ///< where new tensors go and operators run
  DeviceIndex traced_device = kFirstDevice;  ///< whose allocator the trace is of
  bool is_phase_held = false;                ///< phases that begin belong to the one that has begun
  StreamId stream;
  HostMemory host_memory;           ///< of what is offloaded
  bool counts_host_memory = false;  ///< tensors created on the host from now on are counted as well
  /// Operators work on DTensors: to autograd, tensors created now are DTensors.
  bool dispatches_dtensors = false;
  /// Products of DTensors are parts of a sum, to which a whole bias is added: rowwise layers.
  bool divides_bias = false;
  /// No operator on DTensors has named a device yet. The first one finds its result's shape with
  /// fake tensors on that device, for which a context is made (fake_tensor.py: init_gpu_context).
  bool lacks_fake_context = false;
  /// Replaces F.cross_entropy where logits are DTensors: loss_parallel().
  std::function<Tensor(const Tensor& logits, const Tensor& target)> parallel_cross_entropy;
  /// Surrounds transformers' attention functions: DeepSpeed's Ulysses.
  ExchangedAttention exchanged_attention;
  GraphRecorder* recorder = nullptr;  ///< set: operators are recorded for the compute graph
  CudnnWorkspaces cudnn_workspaces = CudnnWorkspaces::counted;
  std::optional<SdpaBackend> sdpa_backend;            ///< torch.nn.attention.sdpa_kernel(...)
  sdpa::SharedAttention* shared_attention = nullptr;  ///< set within context_parallel()

  /// cuBLAS workspace of the current thread's handle for the current GPU, made at its first matmul.
  bool& has_cublas_workspace() {
    return has_workspace_[is_traced() ? 1 : 0][static_cast<std::size_t>(thread)];
  }

  /// cuBLASLt's, in releases that keep one.
  bool& has_cublaslt_workspace() {
    return has_lt_workspace_[is_traced() ? 1 : 0][static_cast<std::size_t>(thread)];
  }

  std::vector<Tensor> workspaces;  ///< never freed before the process ends

  /// What a library keeps for the rest of the process, by a name of its choice; undefined until the
  /// caller puts it there.
  Tensor& kept(std::string_view name) { return kept_[std::string(name)]; }

  // --- where we are: for reports only -------------------------------------------------------

  const char* op = "";       ///< innermost operator that was named
  const char* node = "";     ///< autograd node being run, if any
  std::uint32_t module = 0;  ///< index into module paths

  /// The number of a module path such as "model.layers.0.mlp".
  std::uint32_t module_id(const std::string& path);

  [[nodiscard]] const std::vector<std::string>& module_paths() const { return module_paths_; }

  /// The trace's events so far.
  [[nodiscard]] const ChunkedVector<Event>& events() const { return trace_.events; }

  /// The number of events in the trace so far.
  [[nodiscard]] std::uint64_t event_count() const { return event_count_; }

 private:
  struct Unread {
    AllocationId result;
    Tensor held;
  };

  struct SiteKey {
    const void* op;
    const void* node;
    std::uint32_t module;

    bool operator==(const SiteKey&) const = default;
  };

  /// Without a block.
  Ref<Storage> new_storage(std::int64_t bytes, Place place);

  struct SiteHash {
    std::size_t operator()(const SiteKey& key) const;
  };

  void wait_for(StreamId waiting, StreamId other, Moment moment) {
    if (!stream_events_.are_immediate()) {
      stream_events_.wait(waiting, other, moment);
    }
  }

  void release_held(const Tensor& tensor);
  StackId site();
  void open_block(Storage& storage);
  [[nodiscard]] bool gets_block(const Storage& storage) const;
  void open_host_block(Storage& storage, HostKind kind);
  void label_host_block(const Storage& storage, Category category);
  void append(Event event);
  void write_release(Storage& storage);

  /// @throws std::bad_alloc if a destructor could not write down what it had to
  void require_trace() const;

  void complete_events();
  void free_used_elsewhere(const Storage& storage);
  StreamId take_event_name(StreamId other);

  RequestTrace trace_;
  StreamEvents stream_events_;
  std::vector<StreamId> event_names_;  ///< not in use
  std::vector<Unread> unread_;
  bool is_lost_ = false;    ///< memory ran out in a destructor: no trace comes of this run
  bool is_closed_ = false;  ///< the trace was taken: everything still alive outlived the run
  std::uint64_t event_count_ = 0;
  std::uint64_t live_ = 0;  ///< bytes of blocks, each as small as the allocator may make it
  std::uint64_t most_live_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t sequence_nr_[2] = {0, 0};
  bool has_workspace_[2][2] = {};  ///< on other GPUs and the traced one, by thread
  bool has_lt_workspace_[2][2] = {};
  boost::unordered_flat_map<SiteKey, StackId, SiteHash> sites_;
  std::vector<std::string> module_paths_;
  boost::unordered_flat_map<std::string, Tensor> kept_;
  boost::unordered_flat_map<std::string, std::uint32_t> module_ids_;
};

/// Sets a value for the lifetime of a scope.
template <class T>
class Scoped {
 public:
  Scoped(T& place, T value) : place_(place), before_(std::move(place)) {
    place_ = std::move(value);
  }

  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

  ~Scoped() { place_ = std::move(before_); }

 private:
  T& place_;
  T before_;
};

/// torch.cuda.stream(...) for a scope: blocks are requested on `stream`.
class OnStream : Scoped<StreamId> {
 public:
  OnStream(Runtime& runtime, StreamId stream) : Scoped(runtime.stream, stream) {}
};

/// Operators run on another GPU for a scope.
class OnDevice : Scoped<DeviceIndex> {
 public:
  OnDevice(Runtime& runtime, DeviceIndex device) : Scoped(runtime.device, device) {}

  /// That of `tensor`.
  OnDevice(Runtime& runtime, const Tensor& tensor) : OnDevice(runtime, tensor->storage->device) {}
};

/// torch.no_grad() for a scope.
class NoGrad : Scoped<bool> {
 public:
  explicit NoGrad(Runtime& runtime) : Scoped(runtime.grad_enabled, false) {}
};

/// Names the operator that allocations belong to, for a scope. Its kernels are launched at the end.
class OpScope : Scoped<const char*> {
 public:
  OpScope(Runtime& runtime, const char* name, int kernels = 1)
      : Scoped(runtime.op, name), runtime_(runtime), kernels_(kernels) {}

  ~OpScope() { runtime_.launch(kernels_); }

 private:
  Runtime& runtime_;
  int kernels_;
};

}  // namespace highwater::eager
