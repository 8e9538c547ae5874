// BERT without a head (transformers 5.12, models/bert/modeling_bert.py: BertModel).
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/models/language_model.hpp"
#include "workloads/plan/model/families/bert.hpp"

namespace highwater::models {

class BertEmbeddings;
class BertEncoder;
class BertPooler;

/// BaseModelOutputWithPooling.
struct BertOutputs {
  Tensor last_hidden_state;
  Tensor pooler_output;  ///< undefined without a pooler
};

enum class Pooler : std::uint8_t { none, present };

class BertModel : public Module {
 public:
  BertModel(Module* parent, const BertConfig& config, Pooler pooler);
  ~BertModel() override;

  BertOutputs operator()(const Inputs& inputs);

  [[nodiscard]] const Tensor& word_weight() const;

 private:
  std::unique_ptr<BertEmbeddings> embeddings_;
  std::unique_ptr<BertEncoder> encoder_;
  std::unique_ptr<BertPooler> pooler_;  ///< null without one
};

}  // namespace highwater::models
