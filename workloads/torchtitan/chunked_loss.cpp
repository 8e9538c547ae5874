#include "workloads/torchtitan/chunked_loss.hpp"

#include <vector>

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/nn/backward_pass.hpp"

namespace highwater::torchtitan {

using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

using Parts = std::vector<Tensor>;

// torch.split along the sequence, each part contiguous and without history.
Parts parts_of(const Tensor& whole, std::int64_t chunks) {
  Parts parts;
  const eager::NoGrad no_grad(whole.runtime());
  for (const Tensor& part : eager::chunk(whole, chunks, 1)) {
    parts.push_back(eager::contiguous(part));
  }
  return parts;
}

// list.clear(), while the loop's variable still holds the last element.
Tensor clear_but_last(Parts& parts) {
  Tensor last = parts.back();
  eager::release_list(parts);
  return last;
}

/// What the loop holds on to for the head's weight, if fully_shard sharded it.
class GatheredHead {
 public:
  explicit GatheredHead(const nn::Linear& head) : unit_(head.sharded_unit()) {
    if (unit_ != nullptr) {
      unit_->set_resharding(AfterUse::keep);
      unit_->set_unit_sync(GradientSync::off);
      unit_->unshard();
    }
  }

  void reduce_from_now_on() {
    if (unit_ != nullptr) {
      unit_->set_unit_sync(GradientSync::on);
    }
  }

  void release() {
    if (unit_ != nullptr) {
      unit_->set_resharding(AfterUse::reshard);
      unit_->reshard();
    }
  }

 private:
  nn::ShardedUnit* unit_;
};

// cross_entropy_loss, over the tokens of all ranks.
Tensor loss_of(const Tensor& logits, const Tensor& labels, const LossInputs& inputs) {
  Tensor sum = [&] {
    const Tensor wide = eager::to_dtype(eager::flatten(logits, 0, 1), DType::fp32);
    const Tensor flat_labels = eager::flatten(labels, 0, 1);
    return inputs.ranks != nullptr ? parallel_cross_entropy(*inputs.ranks, wide, flat_labels)
                                   : eager::cross_entropy(wide, flat_labels);
  }();
  return eager::div(sum, inputs.valid_tokens);
}

// GradAccumulator.add: the gradient of one part is copied into its place.
void add_gradient(Tensor& part) {
  const Tensor wide = eager::to_dtype(part->grad, DType::fp32);
}

/// The loop over the parts; its variables live until the function returns.
struct Loop {
  Parts hidden;
  Parts labels;
  Parts positions;
  Tensor gradients;  ///< of the hidden states, fp32
  Tensor total_loss;
  Tensor logits;
  Tensor chunk_loss;

  void run(const nn::Linear& head, const LossInputs& inputs) {
    GatheredHead gathered(head);
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      if (i + 1 == hidden.size()) {
        gathered.reduce_from_now_on();
      }
      run_part(i, head, inputs);
    }
    gathered.release();
  }

  void run_part(std::size_t i, const nn::Linear& head, const LossInputs& inputs) {
    logits = head(hidden[i]);
    head.runtime().categorize_transient(logits, Category::activation);
    chunk_loss = loss_of(logits, labels[i], inputs);
    total_loss = eager::add(total_loss, eager::detach(chunk_loss));
    eager::backward(chunk_loss);
    add_gradient(hidden[i]);
    hidden[i]->grad.reset();
  }

  void end() {
    Tensor h_chunk = clear_but_last(hidden);
    Tensor label_chunk = clear_but_last(labels);
    Tensor position_chunk = clear_but_last(positions);
    eager::end_of_frame(gradients, label_chunk, logits, position_chunk, h_chunk, chunk_loss);
  }
};

// _DecoderOutputGradientBackProp: the loss, whose gradient for the hidden states is known.
Tensor bridged(const Tensor& hidden_states, const Tensor& gradient, const Tensor& total_loss) {
  const auto node = eager::begin_node(hidden_states.runtime(),
                                      "_DecoderOutputGradientBackPropBackward", {hidden_states});
  Tensor loss = eager::alias(total_loss);
  eager::finish_node(node, loss,
                     [](eager::Node& own, TensorList&) { return TensorList{own.unpack(0)}; });
  if (node) {
    node->save(gradient);
  }
  return loss;
}

}  // namespace

Tensor chunked_loss(const Tensor& hidden_states, const nn::Linear& head, const LossInputs& inputs,
                    std::int64_t chunks) {
  Runtime& runtime = head.runtime();
  Loop loop;
  loop.hidden = parts_of(hidden_states, chunks);
  for (const Tensor& part : loop.hidden) {
    part->requires_grad = true;
  }
  loop.labels = parts_of(inputs.labels, chunks);
  loop.positions = parts_of(inputs.positions, chunks);
  loop.gradients = eager::empty_like(hidden_states, DType::fp32);
  loop.total_loss = eager::empty(runtime, {}, DType::fp32);
  loop.run(head, inputs);
  Tensor gradient = eager::to_dtype(loop.gradients, hidden_states.dtype());
  loop.end();
  return bridged(hidden_states, gradient, loop.total_loss);
}

}  // namespace highwater::torchtitan
