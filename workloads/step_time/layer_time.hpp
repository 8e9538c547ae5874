// How long the kernels of one layer and of the head take for one micro-batch.
//
// A matrix product runs in waves of tiles, one tile on each multiprocessor at a time; the last wave
// takes as long as a full one (NVIDIA, "Matrix Multiplication Background User's Guide", tile and
// wave quantization). It takes at least as long as memory needs for its operands. What lies between
// the products is bound by memory as well: each kernel reads and writes its tensors once.
#pragma once

#include <array>

#include "workloads/step_time/layer_sizes.hpp"
#include "workloads/step_time/machine.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::timing {

/// [rows, depth] x [depth, columns].
struct Product {
  double rows = 0;
  double columns = 0;
  double depth = 0;
};

/// What a rank computes of a layer.
struct Share {
  double tokens = 0;    ///< of a micro-batch, after context parallelism
  double sequence = 0;  ///< tokens of a whole sequence, half of which one sees in the mean
  int tp = 1;
  int ep = 1;
  int etp = 1;  ///< ranks among which an expert is split; of a layer without, those of tp
  bool splits_norms = false;  ///< sequence parallelism
  bool trains_weights = true;
  bool fuses_attention = true;
};

/// Rates for a plan's element type.
struct Rates {
  double operations = 0;
  double memory = 0;
  double element = 2;  ///< bytes
  double attention_share = 0;
  int multiprocessors = 1;
};

Rates rates_of(const TrainingPlan& plan, const Machine& machine);

double seconds_of(const Product& product, const Rates& rates);

/// Seconds of one direction.
struct KernelTime {
  double products = 0;
  double attention = 0;
  double elementwise = 0;

  [[nodiscard]] double total() const { return products + attention + elementwise; }
};

/// Seconds of one of a layer's products: of its output, of the gradient of its input, and of that
/// of its weights.
struct ProductTime {
  double forward = 0;
  double input = 0;
  double weights = 0;
};

/// A layer's products: into attention (queries, keys, values), out of it, into the MLP, out of it.
struct LayerProducts {
  ProductTime into_attention;
  ProductTime out_of_attention;
  ProductTime into_mlp;
  ProductTime out_of_mlp;
};

struct LayerTime {
  KernelTime forward;
  KernelTime backward;
  LayerProducts products;  ///< one by one; of the head none
};

/// All of the layer's experts that a rank has.
LayerTime layer_time(const LayerSizes& sizes, const Share& share, const Rates& rates);

/// The head's product and the loss, forward and backward.
LayerTime head_time(const LayerSizes& sizes, const Share& share, const Rates& rates);

}  // namespace highwater::timing
