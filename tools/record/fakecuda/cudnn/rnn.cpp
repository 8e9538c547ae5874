// Recurrent networks: PyTorch reads back the weights' sizes and places, so their layout is real;
// work and reserve spaces are not modelled: 0 bytes, and the call is counted (symbols/cudnn.def).
//
// Weights lie in this order: the matrices, layer by layer, the input's before the state's, then the
// projection; then all biases.
#include <cstddef>
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/cudnn/descriptors.hpp"

namespace highwater::fakecuda {
namespace {

struct RnnDescriptor {
  int mode = 0;  ///< 0 and 1: simple, 2: LSTM, 3: GRU
  int bias = 0;
  int bidirectional = 0;
  int type = 0;
  std::int64_t input = 0, hidden = 0, projection = 0, layers = 0;
};

std::int64_t gates(const RnnDescriptor& rnn) {
  return rnn.mode == 2 ? 4 : rnn.mode == 3 ? 3 : 1;
}

std::int64_t directions(const RnnDescriptor& rnn) {
  return rnn.bidirectional != 0 ? 2 : 1;
}

std::int64_t output(const RnnDescriptor& rnn) {
  return rnn.projection != 0 && rnn.projection != rnn.hidden ? rnn.projection : rnn.hidden;
}

bool is_projected(const RnnDescriptor& rnn) {
  return output(rnn) != rnn.hidden;
}

std::int64_t layer_input(const RnnDescriptor& rnn, std::int64_t layer) {
  return layer > 0 ? output(rnn) * directions(rnn) : rnn.input;
}

// cudnnRNNBiasMode_t: none, one for the input, one for both, one for the state.
std::int64_t biases_per_gate(const RnnDescriptor& rnn) {
  return rnn.bias == 0 ? 0 : rnn.bias == 2 ? 2 : 1;
}

std::int64_t layer_weights(const RnnDescriptor& rnn, std::int64_t layer) {
  const std::int64_t matrices = gates(rnn) * rnn.hidden * (layer_input(rnn, layer) + output(rnn));
  return matrices + (is_projected(rnn) ? output(rnn) * rnn.hidden : 0);
}

// Of the pseudo-layers (layer and direction) before `end`.
std::int64_t weights_before(const RnnDescriptor& rnn, std::int64_t end) {
  std::int64_t count = 0;
  for (std::int64_t pseudo = 0; pseudo < end; ++pseudo) {
    count += layer_weights(rnn, pseudo / directions(rnn));
  }
  return count;
}

std::int64_t all_weights(const RnnDescriptor& rnn) {
  return weights_before(rnn, rnn.layers * directions(rnn));
}

// cudnnDataType_t: double 1, half 2, bfloat16 9
std::int64_t element_size(const RnnDescriptor& rnn) {
  return rnn.type == 1 ? 8 : rnn.type == 2 || rnn.type == 9 ? 2 : 4;
}

/// A matrix or bias of one pseudo-layer: its place in elements and its shape.
struct Place {
  std::int64_t at, rows, columns;
};

// Matrices of the input come first (id < gates), then the state's, then the projection.
Place matrix_place(const RnnDescriptor& rnn, std::int64_t pseudo, std::int64_t id) {
  const std::int64_t in = layer_input(rnn, pseudo / directions(rnn)), out = output(rnn);
  const std::int64_t hidden = rnn.hidden, count = gates(rnn);
  const std::int64_t begin = weights_before(rnn, pseudo);
  if (id == 2 * count) {
    return {begin + count * hidden * (in + out), out, hidden};
  }
  if (id < count) {
    return {begin + id * hidden * in, hidden, in};
  }
  return {begin + count * hidden * in + (id - count) * hidden * out, hidden, out};
}

std::int64_t bias_place(const RnnDescriptor& rnn, std::int64_t pseudo, std::int64_t id) {
  return all_weights(rnn) + (pseudo * gates(rnn) * biases_per_gate(rnn) + id) * rnn.hidden;
}

bool has_bias(const RnnDescriptor& rnn, std::int64_t id) {
  return id < gates(rnn) * biases_per_gate(rnn);
}

void describe(TensorDescriptor& tensor, const RnnDescriptor& rnn, std::int64_t rows,
              std::int64_t columns) {
  tensor = {.type = rnn.type, .dimensions = 3};
  tensor.size[0] = 1;
  tensor.size[1] = static_cast<int>(rows);
  tensor.size[2] = static_cast<int>(columns);
  tensor.stride[0] = static_cast<int>(rows * columns);
  tensor.stride[1] = static_cast<int>(columns);
  tensor.stride[2] = 1;
}

/// What the caller wants to know about a matrix or bias; each pointer may be null.
struct Wanted {
  TensorDescriptor* shape;
  std::uint64_t* address;
};

void put_none(Wanted wanted, const RnnDescriptor& rnn) {
  if (wanted.shape != nullptr) {
    *wanted.shape = {.type = rnn.type, .dimensions = 3};
  }
  if (wanted.address != nullptr) {
    *wanted.address = 0;
  }
}

void put(Wanted wanted, const RnnDescriptor& rnn, std::uint64_t space, Place place) {
  if (wanted.shape != nullptr) {
    describe(*wanted.shape, rnn, place.rows, place.columns);
  }
  if (wanted.address != nullptr) {
    *wanted.address = space + static_cast<std::uint64_t>(place.at * element_size(rnn));
  }
}

}  // namespace

FAKECUDA_API int cudnnCreateRNNDescriptor(RnnDescriptor** rnn) {
  *rnn = new RnnDescriptor;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnDestroyRNNDescriptor(RnnDescriptor* rnn) {
  delete rnn;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnSetRNNDescriptor_v8(RnnDescriptor* rnn, int, int mode, int bias,
                                          int bidirectional, int, int type, int, int, int input,
                                          int hidden, int projection, int layers, void*, unsigned) {
  *rnn = {.mode = mode,
          .bias = bias,
          .bidirectional = bidirectional,
          .type = type,
          .input = input,
          .hidden = hidden,
          .projection = projection,
          .layers = layers};
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnGetRNNWeightSpaceSize(const void*, const RnnDescriptor* rnn,
                                            std::size_t* bytes) {
  const std::int64_t biases =
      rnn->layers * directions(*rnn) * gates(*rnn) * biases_per_gate(*rnn) * rnn->hidden;
  *bytes = static_cast<std::size_t>((all_weights(*rnn) + biases) * element_size(*rnn));
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnGetRNNWeightParams(const void*, const RnnDescriptor* rnn, int pseudo,
                                         std::size_t, std::uint64_t space, int id,
                                         TensorDescriptor* matrix, std::uint64_t* matrix_address,
                                         TensorDescriptor* bias, std::uint64_t* bias_address) {
  const bool is_projection = id == 2 * gates(*rnn);
  const Wanted matrix_wanted{matrix, matrix_address}, bias_wanted{bias, bias_address};
  if (is_projection && !is_projected(*rnn)) {
    put_none(matrix_wanted, *rnn);
  } else {
    put(matrix_wanted, *rnn, space, matrix_place(*rnn, pseudo, id));
  }
  if (!is_projection && has_bias(*rnn, id)) {
    put(bias_wanted, *rnn, space, {bias_place(*rnn, pseudo, id), rnn->hidden, 1});
  } else {
    put_none(bias_wanted, *rnn);
  }
  return kCudnnSuccess;
}

}  // namespace highwater::fakecuda
