#include "workloads/megatron/context/kv_ring.hpp"

#include <array>
#include <utility>
#include <vector>

#include "workloads/eager/node.hpp"
#include "workloads/megatron/context/context_parallel.hpp"

namespace highwater::megatron {
namespace {

using eager::Dims;
using eager::Node;
using eager::Scoped;
using eager::Tensor;
using eager::TensorList;

Tensor communication_block(eager::Runtime& runtime, const Dims& sizes, DType dtype) {
  Tensor block = eager::empty(runtime, sizes, dtype);
  runtime.categorize(block, Category::communication);
  return block;
}

/// Variables of AttnFuncWithCPAndKVP2P.forward, in the order in which its frame releases them.
struct ForwardFrame {
  std::vector<Tensor> out_per_step;
  std::vector<Tensor> logsumexp_per_step;
  std::vector<Tensor> rng_states;
  std::vector<Tensor> p2p_comm_buffers;
  Tensor out;
  FlashStep fa_outputs;
  Tensor softmax_lse;
};

class RingForward {
 public:
  RingForward(ContextParallelGroup& cp, const FlashOperands& in)
      : cp_(cp), in_(in), runtime_(in.query.runtime()) {}

  ForwardFrame run() {
    // torch.cat((k.unsqueeze(-3), v.unsqueeze(-3)), dim=-3): [b, 2, s / 2, 2, heads, d].
    Dims sizes = in_.key.sizes();
    sizes.insert(sizes.end() - 2, 2);
    {
      const eager::OpScope op(runtime_, "cat");
      frame_.p2p_comm_buffers.push_back(communication_block(runtime_, sizes, in_.key.dtype()));
    }
    for (int step = 0; step < cp_.size(); ++step) {
      {
        const Scoped<StreamId> on(runtime_.stream, cp_.stream_of(step));
        send_on(step);
        attend(step);
      }
      if (step == 1) {
        const eager::OpScope op(runtime_, "clone");
        frame_.softmax_lse = eager::empty_like(frame_.logsumexp_per_step[0]);
      }
    }
    const eager::OpScope op(runtime_, "flash_attn_fwd_out_correction_init");
    frame_.out = eager::empty_like(frame_.out_per_step[0]);
    return std::move(frame_);
  }

 private:
  // flash_attn_p2p_communicate: to the next rank, from the one before.
  void send_on(int step) {
    work_.wait();
    work_ = {};
    auto& buffers = frame_.p2p_comm_buffers;
    if (step + 1 < cp_.size()) {
      buffers.push_back(
          communication_block(runtime_, buffers.back().sizes(), buffers.back().dtype()));
      cp_.group().send(buffers[buffers.size() - 2]);
      work_ = cp_.group().receive(buffers.back());
    }
  }

  void attend(int step) {
    const FlashLengths lengths = ring_lengths(cp_.rank(), step, in_.query.size(1));
    frame_.fa_outputs = flash_step(in_.query, in_.key, lengths, in_.dropout);
    frame_.out_per_step.push_back(frame_.fa_outputs.out);
    frame_.logsumexp_per_step.push_back(frame_.fa_outputs.logsumexp);
    frame_.rng_states.push_back(frame_.fa_outputs.rng_state);
  }

  ContextParallelGroup& cp_;
  const FlashOperands& in_;
  eager::Runtime& runtime_;
  ForwardFrame frame_;
  dist::Work work_;
};

/// AttnFuncWithCPAndKVP2P.backward.
struct RingBackward {
  ContextParallelGroup* cp;

  TensorList operator()(Node& node, TensorList&) const {
    const Tensor query = node.unpack(0);
    const Tensor pairs = node.unpack(1);
    const Tensor softmax_lse = node.unpack(3);
    eager::Runtime& runtime = *node.runtime;
    Tensor second_half = second_half_of(softmax_lse);
    Tensor grad_query = eager::empty_like(query);
    Dims sizes = pairs.sizes();
    sizes.insert(sizes.begin(), 2);
    std::vector<Tensor> buffers;
    buffers.push_back(communication_block(runtime, sizes, pairs.dtype()));
    buffers.push_back(communication_block(runtime, sizes, pairs.dtype()));
    const Tensor key = half_pair(pairs, 0, false);
    Tensor step_query;
    Tensor step_pairs;
    dist::Work work;
    for (int step = 0; step < cp->size(); ++step) {
      work.wait();
      cp->group().send(buffers[static_cast<std::size_t>(step % 2)]);
      work = cp->group().receive(buffers[static_cast<std::size_t>((step + 1) % 2)]);
      step_query.reset();
      // In reverse order of the forward.
      const FlashLengths lengths = ring_lengths(cp->rank(), cp->size() - step - 1, query.size(1));
      step_query = eager::empty(runtime, with_length(query.sizes(), lengths.query), query.dtype());
      Tensor next = eager::empty(runtime, with_length(pairs.sizes(), lengths.key), pairs.dtype());
      std::swap(step_pairs, next);
      next.reset();
      flash_step_backward(query, key, lengths);
      work.wait();
    }
    const Tensor& last = buffers[static_cast<std::size_t>(cp->size() % 2)];
    TensorList result{std::move(grad_query), half_pair(last, 0, true), half_pair(last, 1, true)};
    second_half.reset();
    eager::release_list(buffers);
    eager::end_of_frame(step_query, step_pairs);
    return result;
  }

 private:
  static Dims with_length(Dims sizes, std::int64_t length) {
    sizes[1] = length;
    return sizes;
  }

  // softmax_lse_[..., 1, :].contiguous(), for steps with half of the queries; the last rank has
  // none.
  [[nodiscard]] Tensor second_half_of(const Tensor& softmax_lse) const {
    if (cp->rank() + 1 == cp->size()) {
      return {};
    }
    Dims sizes = softmax_lse.sizes();
    sizes.back() /= 2;
    return eager::empty(softmax_lse.runtime(), sizes, softmax_lse.dtype());
  }

  // Keys (0) or values (1) of [b, s, 2, heads, d], or of the second such part of a buffer.
  static Tensor half_pair(const Tensor& pairs, std::int64_t which, bool in_second) {
    const std::size_t skipped = in_second ? 1 : 0;
    Tensor part = eager::alias(pairs);
    const Dims sizes(pairs.sizes().begin() + static_cast<std::ptrdiff_t>(skipped),
                     pairs.sizes().end());
    const std::int64_t inner = sizes[3] * sizes[4];
    part->sizes = {sizes[0], sizes[1], sizes[3], sizes[4]};
    part->strides = {sizes[1] * 2 * inner, 2 * inner, sizes[4], 1};
    part->offset = which * inner + (in_second ? eager::element_count(sizes) : 0);
    return part;
  }
};

}  // namespace

FlashLengths ring_lengths(int rank, int step, std::int64_t length) {
  if (step == 0) {
    return {.query = length, .key = length};
  }
  return step <= rank ? FlashLengths{.query = length, .key = length / 2}
                      : FlashLengths{.query = length / 2, .key = length};
}

Tensor ring_attention(ContextParallelGroup& cp, const FlashOperands& in) {
  eager::Runtime& runtime = in.query.runtime();
  const auto node =
      eager::begin_node(runtime, "AttnFuncWithCPAndKVP2PBackward", {in.query, in.key, in.value});
  ForwardFrame frame;
  {
    const eager::NoGrad no_grad(runtime);
    frame = RingForward(cp, in).run();
  }
  Tensor out = frame.out;
  out->sizes = {in.query.size(0) * in.query.size(1), in.query.size(2), in.query.size(3)};
  out->strides = eager::contiguous_strides(out->sizes);
  eager::finish_node(node, out, RingBackward{&cp});
  if (node) {
    node->save(in.query);
    node->save(frame.p2p_comm_buffers.back());
    node->save_output(out);
    node->save(frame.softmax_lse);
    for (const Tensor& state : frame.rng_states) {
      node->save(state);
    }
  }
  eager::release_list(frame.out_per_step);
  eager::release_list(frame.logsumexp_per_step);
  eager::release_list(frame.rng_states);
  eager::release_list(frame.p2p_comm_buffers);
  eager::end_of_frame(frame.fa_outputs.rng_state, frame.fa_outputs.logsumexp, frame.fa_outputs.out,
                      frame.softmax_lse);
  return out;
}

}  // namespace highwater::megatron
