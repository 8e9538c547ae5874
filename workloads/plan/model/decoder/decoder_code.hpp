// The Python code of a decoder of LLaMA's kind, part by part, whatever a configuration says. A
// family is a row that names what of its parts differs from LLaMA's; one forward (models/decoders)
// reads each part where it runs, so that no family needs a forward of its own.
#pragma once

#include "workloads/plan/model/decoder/attention_code.hpp"
#include "workloads/plan/model/decoder/block_code.hpp"
#include "workloads/plan/model/decoder/embedding_code.hpp"
#include "workloads/plan/model/decoder/feed_forward_code.hpp"
#include "workloads/plan/model/decoder/head_code.hpp"
#include "workloads/plan/model/decoder/position_code.hpp"
#include "workloads/plan/model/decoder/window_code.hpp"

namespace highwater {

struct Family;

struct LlamaCode {
  const Family& (*family)() = nullptr;
  const char* model_name = "model";
  EmbeddingCode embedding = {};
  WindowCode windows = {};
  PositionCode positions = {};
  BlockCode block = {};
  AttentionCode attention = {};
  MlpCode mlp = {};
  MixtureCode mixture = {};
  LastNormCode last_norm = {};
  HeadCode head = {};
};

}  // namespace highwater
