#include "workloads/colossalai/layers/summa.hpp"

#include "workloads/eager/runtime.hpp"

namespace highwater::colossalai {

using eager::Node;

namespace {

Tensor as_matrix(const Tensor& operand) {
  return eager::reshape(operand, {-1, operand.size(-1)});
}

Dims with_last(Dims sizes, std::int64_t last) {
  sizes.back() = last;
  return sizes;
}

/// Two blocks that take turns: one is in use while the next one travels.
TensorList turns_like(const Tensor& block) {
  TensorList turns;
  for (int i = 0; i < 2; ++i) {
    turns.push_back(eager::empty_like(block));
    block.runtime().categorize_transient(turns.back(), Category::communication);
  }
  return turns;
}

Tensor& turn_of(TensorList& turns, int step) {
  return turns[static_cast<std::size_t>(step % 2)];
}

// A copy of the own block, which that of the step's owner replaces on all other ranks.
void send(TensorList& turns, int step, ProcessGroup& group) {
  Tensor& block = turn_of(turns, step);
  block.runtime().launch(1);
  group.broadcast(block);
}

Tensor block_of_result(const char* op, const Dims& sizes, const Tensor& like) {
  const eager::OpScope scope(like.runtime(), op);
  return eager::empty(like.runtime(), sizes, like.dtype());
}

// Both operands travel: Matmul_AB_2D.
Tensor product_ab(const SummaGroups& groups, const Tensor& left, const Tensor& right,
                  const Dims& sizes) {
  Tensor a = as_matrix(left);
  Tensor b = as_matrix(right);
  Tensor c = block_of_result("zeros", {a.size(0), b.size(1)}, a);
  TensorList a_turns = turns_like(a);
  TensorList b_turns = turns_like(b);
  for (int step = 0; step < groups.steps(); ++step) {
    send(a_turns, step, groups.row);
    send(b_turns, step, groups.column);
    eager::mm_into(turn_of(a_turns, step), turn_of(b_turns, step));
  }
  Tensor out = eager::reshape(c, sizes);
  eager::end_of_frame(a, b, c);
  eager::release_list(a_turns);
  eager::release_list(b_turns);
  return out;
}

// The right operand travels along columns, results are reduced along rows: Matmul_ABT_2D.
Tensor product_abt(const SummaGroups& groups, const Tensor& left, const Tensor& right,
                   const Dims& sizes) {
  Tensor a = as_matrix(left);
  Tensor b = as_matrix(right);
  Tensor c = block_of_result("empty", {a.size(0), b.size(0)}, a);
  TensorList b_turns = turns_like(b);
  TensorList c_turns = turns_like(c);
  for (int step = 0; step < groups.steps(); ++step) {
    send(b_turns, step, groups.column);
    eager::mm_into(a, eager::t(turn_of(b_turns, step)));
    groups.row.all_reduce(turn_of(c_turns, step));
  }
  Tensor out = eager::reshape(c, sizes);
  eager::end_of_frame(a, b, c);
  eager::release_list(b_turns);
  eager::release_list(c_turns);
  return out;
}

// The left operand travels along rows, results are reduced along columns: Matmul_ATB_2D.
Tensor product_atb(const SummaGroups& groups, const Tensor& left, const Tensor& right,
                   const Dims& sizes) {
  Tensor a = as_matrix(left);
  Tensor b = as_matrix(right);
  Tensor c = block_of_result("empty", {a.size(1), b.size(1)}, a);
  TensorList a_turns = turns_like(a);
  TensorList c_turns = turns_like(c);
  for (int step = 0; step < groups.steps(); ++step) {
    send(a_turns, step, groups.row);
    eager::mm_into(eager::t(turn_of(a_turns, step)), b);
    groups.column.all_reduce(turn_of(c_turns, step));
  }
  Tensor out = eager::reshape(c, sizes);
  eager::end_of_frame(a, b, c);
  eager::release_list(a_turns);
  eager::release_list(c_turns);
  return out;
}

}  // namespace

Tensor matmul_ab(const SummaGroups& groups, const Tensor& a, const Tensor& b) {
  return apply_function(
      "Matmul_AB_2DBackward", {a, b},
      [&](FunctionContext& context) {
        context.save_for_backward(a);
        context.save_for_backward(b);
        return eager::alias(product_ab(groups, a, b, with_last(a.sizes(), b.size(1))));
      },
      [groups](Node& node, TensorList& grads) {
        const Tensor left = node.unpack(0);
        const Tensor right = node.unpack(1);
        Tensor left_grad = product_abt(groups, grads[0], right, left.sizes());
        Tensor right_grad = product_atb(groups, left, grads[0], right.sizes());
        return TensorList{std::move(left_grad), std::move(right_grad)};
      });
}

Tensor matmul_abt(const SummaGroups& groups, const Tensor& a, const Tensor& b) {
  return apply_function(
      "Matmul_ABT_2DBackward", {a, b},
      [&](FunctionContext& context) {
        context.save_for_backward(a);
        context.save_for_backward(b);
        return eager::alias(product_abt(groups, a, b, with_last(a.sizes(), b.size(0))));
      },
      [groups](Node& node, TensorList& grads) {
        const Tensor left = node.unpack(0);
        const Tensor right = node.unpack(1);
        Tensor left_grad = product_ab(groups, grads[0], right, left.sizes());
        Tensor right_grad = product_atb(groups, grads[0], left, right.sizes());
        return TensorList{std::move(left_grad), std::move(right_grad)};
      });
}

}  // namespace highwater::colossalai
