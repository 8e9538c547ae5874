#include "workloads/estimates/forms/sequence_parallel.hpp"

namespace highwater {
namespace {

double hidden_states(const SequenceBlock& b) {
  return b.batch * b.length * b.hidden;
}

double scores(const SequenceBlock& b) {
  return b.batch * b.heads * b.length * b.length;
}

double heads_of_tokens(const SequenceBlock& b) {
  return b.batch * b.length * b.heads * b.head_size;
}

}  // namespace

// 32 H^2 / N + 4 B L H / N + B L H
double mlp_of_tensor_parallel(const SequenceBlock& b) {
  return (32 * b.hidden * b.hidden + 4 * hidden_states(b)) / b.ranks + hidden_states(b);
}

// 32 H^2 + 5 B L H / N
double mlp_of_sequence_parallel(const SequenceBlock& b) {
  return 32 * b.hidden * b.hidden + 5 * hidden_states(b) / b.ranks;
}

// 16 A Z H / N + 4 B L Z A / N + B Z L^2 / N + B L H
double attention_of_tensor_parallel(const SequenceBlock& b) {
  return (16 * b.head_size * b.heads * b.hidden + 4 * heads_of_tokens(b) + scores(b)) / b.ranks +
         hidden_states(b);
}

// 16 A Z H + 4 B Z L A / N + B Z L^2 / N + B L H / N
double attention_of_sequence_parallel(const SequenceBlock& b) {
  return 16 * b.head_size * b.heads * b.hidden +
         (4 * heads_of_tokens(b) + scores(b) + hidden_states(b)) / b.ranks;
}

}  // namespace highwater
