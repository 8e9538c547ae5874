// Modules: the tree that owns parameters and buffers, in torch.nn's order of registration.
//
// A module is built where its ModelContext says (GPU, host or meta) and never moves in memory, so
// children keep a pointer to their parent. Calling a module takes its arguments by value: as in
// Python, the caller's argument tuple keeps them alive until the call has returned.
#pragma once

#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/nn/forward_hooks.hpp"
#include "workloads/nn/sharded_unit.hpp"
#include "workloads/plan/pipeline/model_part.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::nn {

using eager::Dims;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

/// What all modules of one model share.
struct ModelContext {
  Runtime& runtime;
  const TrainingPlan& plan;
  eager::Place place = eager::Place::cuda;  ///< where parameters are made
  DType dtype = DType::fp32;                ///< torch's default dtype while the model is built
  bool training = true;
  std::optional<ModelPart> part;  ///< of a pipeline, while that part is built; absent: all of it

  /// Which part to build of a model with this many blocks.
  [[nodiscard]] ModelPart part_of(std::int64_t layers) const {
    return part.value_or(ModelPart{.layers = layers});
  }

  /// `configured`, unless the plan overrides all dropout probabilities.
  [[nodiscard]] double dropout(double configured) const;

  [[nodiscard]] bool is_eager() const;
};

/// A module's class, as far as other code checks it with isinstance() in Python.
enum class LayerKind : std::uint8_t { embedding, linear, conv1d, norm, other };

struct NamedTensor {
  std::string name;
  Tensor tensor;
  LayerKind layer = LayerKind::other;  ///< of the module that registered it
};

class Module {
 public:
  /// The root of a model; its path is empty.
  explicit Module(ModelContext& context) : context_(context) {}

  Module(Module* parent, std::string name);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  [[nodiscard]] virtual LayerKind layer_kind() const { return LayerKind::other; }

  [[nodiscard]] ModelContext& context() const { return context_; }

  [[nodiscard]] Runtime& runtime() const { return context_.runtime; }

  [[nodiscard]] const std::string& name() const { return name_; }

  /// The module's path from the root, as Runtime numbers it.
  [[nodiscard]] std::uint32_t site() const { return site_; }

  [[nodiscard]] const std::vector<Module*>& children() const { return children_; }

  [[nodiscard]] std::vector<NamedTensor>& own_parameters() { return parameters_; }

  [[nodiscard]] std::vector<NamedTensor>& own_buffers() { return buffers_; }

  /// Makes a parameter of the default dtype, or of `dtype`, and registers it.
  Tensor make_parameter(std::string name, const Dims& sizes);
  Tensor make_parameter(std::string name, const Dims& sizes, DType dtype);

  /// Makes the parameter `name` anew in another type where it is; the old one is dropped after.
  Tensor remake_parameter(std::string_view name, DType dtype);

  void register_parameter(std::string name, const Tensor& tensor);
  void register_buffer(std::string name, const Tensor& tensor);

  /// Hooks run in the order in which they were added, before and after forward alike.
  void add_forward_hooks(std::shared_ptr<ForwardHooks> hooks) {
    forward_hooks_.push_back(std::move(hooks));
  }

  /// Makes an existing root a child of this one; its names do not change. It must outlive this
  /// module's use.
  void adopt(Module& root) { children_.push_back(&root); }

  /// For classes that register their submodules in another order than they make them: all children
  /// in that order, null for those that are absent.
  void register_in_order(std::initializer_list<Module*> children);

  /// Puts a module around this one, such as FullyShardedDataParallel: what it does before and after
  /// is outside the block's own hooks and outside its checkpointing.
  void set_wrapper(std::shared_ptr<ForwardHooks> wrapper) { wrapper_ = {std::move(wrapper)}; }

  /// The unit of fully_shard that the module belongs to, which must outlive its use; null: none.
  void set_sharded_unit(ShardedUnit* unit) { sharded_unit_ = unit; }

  /// The GPU on which it runs and to which its arguments go (accelerate's AlignDevicesHook).
  [[nodiscard]] eager::DeviceIndex device() const { return device_; }

  void set_device(eager::DeviceIndex device) { device_ = device; }

  [[nodiscard]] ShardedUnit* sharded_unit() const { return sharded_unit_; }

  [[nodiscard]] bool is_wrapped() const { return !wrapper_.empty(); }

  /// A call begins and ends.
  void enter() const {
    for (const auto& hooks : forward_hooks_) {
      hooks->enter();
    }
  }

  void leave() const {
    for (const auto& hooks : forward_hooks_) {
      hooks->leave();
    }
  }

  /// The operator that reads this module's parameters comes next, after others.
  void before_parameters() const {
    for (const auto& hooks : forward_hooks_) {
      hooks->before_parameters();
    }
  }

  /// The module's forward reads a parameter that another module owns.
  void reads(const Tensor& parameter) const {
    for (const auto& hooks : forward_hooks_) {
      hooks->reads(parameter);
    }
  }

  /// Runs `forward`, a function of a list of arguments that returns a list, between the hooks.
  template <class List, class Forward>
  TensorList call_with(const List& arguments, const Forward& forward) const {
    return call_between(forward_hooks_, arguments, forward);
  }

  /// The same inside the wrapper.
  template <class List, class Forward>
  TensorList call_wrapped(const List& arguments, const Forward& forward) const {
    return call_between(wrapper_, arguments, forward);
  }

  /// The same for one tensor in and one out.
  template <class Forward>
  Tensor call(Tensor argument, const Forward& forward) const {
    if (forward_hooks_.empty()) {
      return forward(eager::to_device(argument, device_));
    }
    const auto as_list = [&](const TensorList& in) { return TensorList{forward(in.front())}; };
    return call_with(TensorList{std::move(argument)}, as_list).front();
  }

  /// Shares the parameter `name` with another module (tied embeddings): the old one is dropped.
  void tie_parameter(std::string_view name, const Tensor& tensor);

 private:
  using HookList = std::vector<std::shared_ptr<ForwardHooks>>;

  template <class List, class Forward>
  TensorList call_between(const HookList& all, const List& arguments,
                          const Forward& forward) const {
    if (all.empty()) {
      return forward(arguments);
    }
    // Hooks need not undo their preparations if forward throws.
    const eager::Scoped<bool> dispatch(runtime().dispatches_dtensors,
                                       runtime().dispatches_dtensors);
    const eager::Scoped<bool> division(runtime().divides_bias, runtime().divides_bias);
    List replaced = arguments;  // the caller's stay, as _wrapped_call_impl's frame holds them
    for (const auto& hooks : all) {
      hooks->before(replaced);
    }
    TensorList results = forward(replaced);
    for (const auto& hooks : all) {
      hooks->after(replaced, results);
    }
    return results;
  }

  ModelContext& context_;
  std::string name_;
  std::string path_;
  std::uint32_t site_ = 0;
  std::vector<Module*> children_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  HookList forward_hooks_;
  HookList wrapper_;  ///< one or none
  ShardedUnit* sharded_unit_ = nullptr;
  eager::DeviceIndex device_ = eager::kFirstDevice;
};

/// A module without a forward of its own: nn.ModuleList and the like.
class Container : public Module {
 public:
  using Module::Module;
};

/// The repeated blocks of a model, "0", "1", ... below a container.
template <class Block>
class BlockList {
 public:
  template <class... Arguments>
  BlockList(Container& parent, std::size_t count, const Arguments&... arguments) {
    for (std::size_t i = 0; i < count; ++i) {
      blocks_.push_back(std::make_unique<Block>(&parent, i, arguments...));
    }
  }

  /// Those of a part of the model, under the numbers that they have in the whole of it.
  template <class... Arguments>
  BlockList(Container& parent, const ModelPart& part, const Arguments&... arguments) {
    const auto first = static_cast<std::size_t>(part.first_layer);
    for (std::size_t i = 0; i < static_cast<std::size_t>(part.layers); ++i) {
      blocks_.push_back(std::make_unique<Block>(&parent, first + i, arguments...));
    }
  }

  [[nodiscard]] std::size_t size() const { return blocks_.size(); }

  [[nodiscard]] const Block& operator[](std::size_t i) const { return *blocks_[i]; }

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
};

/// named_parameters(): every parameter once, with its full name, in order of registration.
std::vector<NamedTensor> named_parameters(Module& root);

/// Those of named_parameters() that require gradients.
std::vector<Tensor> trainable_parameters(Module& root);

/// named_buffers().
std::vector<NamedTensor> named_buffers(Module& root);

/// `tensor.data = tensor.to("cuda")`; nothing happens where it is there already.
void move_tensor_to_cuda(const Tensor& tensor, Category category);

/// Module.to("cuda") of a model on the host: children first, one block a tensor.
void move_to_cuda(Module& root);

/// The part of move_to_cuda that concerns the module's own parameters.
void move_own_parameters_to_cuda(Module& module);

/// The part of move_to_cuda that concerns the module's own buffers.
void move_buffers_to_cuda(Module& module);

/// `tensor.data = tensor.data.to(dtype)` of floating-point numbers; the handles stay.
void convert_tensor(const Tensor& tensor, DType dtype, Category category);

/// Module.half() or .bfloat16(): children first; each new block exists before the old one is freed.
void convert(Module& root, DType dtype);

/// A call of a module: names the part of the model that allocations belong to, and runs the hooks
/// around the call. A recomputation that stops early leaves its modules without running the hooks
/// after forward, as in Python.
class InModule : eager::Scoped<std::uint32_t> {
 public:
  explicit InModule(const Module& module)
      : Scoped(module.runtime().module, module.site()),
        place_(module.runtime(), module.device()),
        module_(module),
        exceptions_(std::uncaught_exceptions()) {
    module.enter();
  }

  /// Hooks do what the model does, and fail as it does; none run while an exception goes by.
  ~InModule() noexcept(false) {
    if (std::uncaught_exceptions() == exceptions_) {
      module_.leave();
    }
  }

 private:
  eager::OnDevice place_;
  const Module& module_;
  int exceptions_;
};

}  // namespace highwater::nn
