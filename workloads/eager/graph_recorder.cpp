#include "workloads/eager/graph_recorder.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

template <class Blocks>
bool contains(const Blocks& blocks, AllocationId block) {
  return std::ranges::find(blocks, block) != blocks.end();
}

template <class Blocks>
void add_once(Blocks& blocks, AllocationId block) {
  if (!contains(blocks, block)) {
    blocks.push_back(block);
  }
}

bool has_block(const Tensor& tensor) {
  return tensor.defined() && tensor.place() == Place::cuda && tensor->storage->has_block;
}

OperatorKind kind_now(const Runtime& runtime) {
  if (runtime.thread == Thread::main) {
    return OperatorKind::forward;
  }
  return runtime.grad_enabled ? OperatorKind::recompute : OperatorKind::backward;
}

}  // namespace

bool GraphRecorder::is_inside_operator() const {
  return !frames_.empty() && !frames_.back().is_barrier;
}

GraphRecorder::Frame GraphRecorder::frame_of(const char* name, const Node* node) const {
  Frame frame;
  frame.name = name;
  frame.kind = kind_now(*runtime_);
  frame.module = runtime_->module;
  frame.begin = runtime_->event_count();
  frame.node = node;
  frame.sequence_nr = node == nullptr ? 0 : node->sequence_nr;
  return frame;
}

void GraphRecorder::add_input(Frame& frame, const Tensor& tensor) {
  if (has_block(tensor) && !contains(frame.outputs, tensor->storage->allocation)) {
    add_once(frame.inputs, tensor->storage->allocation);
  }
}

void GraphRecorder::add_inputs(Frame& frame, std::span<const Tensor> tensors) {
  for (const auto& tensor : tensors) {
    add_input(frame, tensor);
  }
}

bool GraphRecorder::begin(const char* name, std::span<const Tensor> inputs, const Node* node) {
  const bool is_part = is_inside_operator() && node == nullptr;
  if (!is_part) {
    frames_.push_back(frame_of(name, node));
  }
  add_inputs(frames_.back(), inputs);
  return !is_part;
}

void GraphRecorder::begin_backward(const Node& node, std::span<const Tensor> grads) {
  begin(node.name, grads, &node);
  Frame& frame = frames_.back();
  frame.kind = OperatorKind::backward;
  if (node.variable == nullptr) {
    link_to_forward(frame, &node);
  } else if (has_block(node.variable_owner)) {
    frame.module = module_of_block_[node.variable_owner->storage->allocation.index()];
  }
}

void GraphRecorder::link_to_forward(Frame& frame, const void* key) const {
  const auto forward = forward_of_.find(key);
  if (forward != forward_of_.end()) {
    frame.forward = forward->second;
    frame.module = log_.operators[frame.forward.index()].module;
  }
}

void GraphRecorder::end() noexcept {
  try {
    end_frame();
  } catch (const std::bad_alloc&) {
    runtime_->lose_trace();
  }
}

void GraphRecorder::end_frame() {
  const Frame frame = std::move(frames_.back());
  frames_.pop_back();
  const OpId id = emit(frame);
  if (frame.node != nullptr && frame.kind != OperatorKind::backward) {
    forward_of_[frame.node] = id;
  }
}

OpId GraphRecorder::emit(const Frame& frame) {
  const OpId id(log_.operators.size());
  const auto first = static_cast<std::uint32_t>(log_.blocks.size());
  const auto add = [&](const auto& blocks, BlockRole role) {
    for (const auto block : blocks) {
      log_.blocks.push_back({block, role});
    }
  };
  add(frame.inputs, BlockRole::input);
  add(frame.outputs, BlockRole::output);
  add(frame.saved, BlockRole::saved);
  log_.operators.push_back({.name = frame.name,
                            .kind = frame.kind,
                            .module = frame.module,
                            .begin = frame.begin,
                            .end = runtime_->event_count(),
                            .sequence_nr = frame.sequence_nr,
                            .forward = frame.forward,
                            .first_block = first,
                            .block_count = static_cast<std::uint32_t>(log_.blocks.size()) - first});
  return id;
}

void GraphRecorder::use(const Tensor& tensor) {
  if (is_inside_operator()) {
    add_input(frames_.back(), tensor);
  }
}

void GraphRecorder::save(const Node& node, const Tensor& tensor) {
  const auto frame = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [&](const Frame& f) { return f.node == &node; });
  if (frame != frames_.rend() && has_block(tensor)) {
    add_once(frame->saved, tensor->storage->allocation);
  }
}

void GraphRecorder::keep_arguments(const void* segment, std::span<const Tensor> arguments) {
  Frame frame = frame_of("checkpoint", nullptr);
  add_inputs(frame, arguments);
  frame.saved = frame.inputs;
  forward_of_[segment] = emit(frame);
}

void GraphRecorder::take_arguments(const void* segment, std::span<const Tensor> arguments) {
  Frame frame = frame_of("recompute", nullptr);
  frame.kind = OperatorKind::backward;
  add_inputs(frame, arguments);
  link_to_forward(frame, segment);
  emit(frame);
}

void GraphRecorder::on_allocate(AllocationId block) {
  module_of_block_.resize(block.index() + 1, 0);
  module_of_block_[block.index()] = runtime_->module;
  if (is_inside_operator()) {
    frames_.back().outputs.push_back(block);
    return;
  }
  const bool has_name = *runtime_->op != '\0';
  Frame source = frame_of(has_name ? runtime_->op : "empty", nullptr);
  source.kind = OperatorKind::source;
  source.outputs.push_back(block);
  emit(source);
}

// A block freed before its operator ends was the operator's own scratch memory.
void GraphRecorder::on_free(AllocationId block) {
  for (auto& frame : frames_) {
    const auto found = std::ranges::find(frame.outputs, block);
    if (found != frame.outputs.end()) {
      frame.outputs.erase(found);
    }
  }
}

// Operators after the barrier may read what the current operator has created so far, so that part
// of it must precede them in the log.
void GraphRecorder::enter() {
  if (is_inside_operator() && !frames_.back().outputs.empty()) {
    Frame& frame = frames_.back();
    emit(frame);
    frame.outputs.clear();
    frame.begin = runtime_->event_count();
  }
  frames_.emplace_back().is_barrier = true;
}

void GraphRecorder::leave() {
  frames_.pop_back();
}

GraphRecording GraphRecorder::take() {
  log_.modules = runtime_->module_paths();
  return std::exchange(log_, GraphRecording{});
}

RecordedScope::RecordedScope(Runtime& runtime, const char* name, std::span<const Tensor> inputs) {
  if (runtime.recorder != nullptr && runtime.recorder->begin(name, inputs, nullptr)) {
    recorder_ = runtime.recorder;
  }
}

GraphBarrier::GraphBarrier(Runtime& runtime) : recorder_(runtime.recorder) {
  if (recorder_ != nullptr) {
    recorder_->enter();
  }
}

}  // namespace highwater::eager
