// The cosines and sines of one layer's latent attention (YarnRotaryEmbedding).
// Source: Megatron-Core 0.16.1, core/models/common/embeddings/yarn_rotary_pos_embedding.py.
#pragma once

#include <cstddef>
#include <cstdint>

#include "workloads/nn/module.hpp"

namespace highwater::megatron {

class YarnTables : public nn::Module {
 public:
  /// For `width` columns of a head. Makes tables of 4096 positions at once
  /// (original_max_position_embeddings).
  YarnTables(nn::Module* parent, std::int64_t width);

  /// get_cached_cos_sin: made anew if they are too short or of another type.
  struct CosSin {
    eager::Tensor cos;
    eager::Tensor sin;
  };

  CosSin tables(std::int64_t length, DType dtype);

 private:
  eager::Tensor embedding(std::int64_t length);
  void make_tables(std::int64_t length, DType dtype);
  void set_buffer(std::size_t place, const char* name, eager::Tensor values);

  std::int64_t width_;
  std::int64_t length_ = 0;
  DType dtype_ = DType::fp32;
  eager::Tensor inverse_extra_;
  eager::Tensor inverse_inter_;
  eager::Tensor inverse_;
  eager::Tensor embedding_;  ///< kept by the function's lru_cache
};

}  // namespace highwater::megatron
