#include "workloads/plan/catalog/published_models.hpp"

#include <array>

namespace highwater {
namespace {

constexpr std::array kPublished = std::to_array<PublishedModel>({
    {"qwen3-1.7b", "Qwen/Qwen3-1.7B", "bf16",
     R"({"model_type":"qwen3","hidden_size":2048,"num_hidden_layers":28,)"
     R"("num_attention_heads":16,"num_key_value_heads":8,"intermediate_size":6144,)"
     R"("vocab_size":151936,"tie_word_embeddings":true,"head_dim":128,)"
     R"("max_position_embeddings":40960})"},
    {"qwen3-4b", "Qwen/Qwen3-4B", "bf16",
     R"({"model_type":"qwen3","hidden_size":2560,"num_hidden_layers":36,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":9728,)"
     R"("vocab_size":151936,"tie_word_embeddings":true,"head_dim":128,)"
     R"("max_position_embeddings":40960})"},
    {"qwen3-14b", "Qwen/Qwen3-14B", "bf16",
     R"({"model_type":"qwen3","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":8,"intermediate_size":17408,)"
     R"("vocab_size":151936,"tie_word_embeddings":false,"head_dim":128,)"
     R"("max_position_embeddings":40960})"},
    {"qwen3-32b", "Qwen/Qwen3-32B", "bf16",
     R"({"model_type":"qwen3","hidden_size":5120,"num_hidden_layers":64,)"
     R"("num_attention_heads":64,"num_key_value_heads":8,"intermediate_size":25600,)"
     R"("vocab_size":151936,"tie_word_embeddings":false,"head_dim":128,)"
     R"("max_position_embeddings":40960})"},
    {"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", "bf16",
     R"({"model_type":"qwen3_moe","hidden_size":2048,"num_hidden_layers":48,)"
     R"("num_attention_heads":32,"num_key_value_heads":4,"intermediate_size":6144,)"
     R"("vocab_size":151936,"tie_word_embeddings":false,"head_dim":128,)"
     R"("max_position_embeddings":40960,"moe_intermediate_size":768,"num_experts":128,)"
     R"("num_experts_per_tok":8,"norm_topk_prob":true,"decoder_sparse_step":1})"},
    {"qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B", "bf16",
     R"({"model_type":"qwen3_moe","hidden_size":4096,"num_hidden_layers":94,)"
     R"("num_attention_heads":64,"num_key_value_heads":4,"intermediate_size":12288,)"
     R"("vocab_size":151936,"tie_word_embeddings":false,"head_dim":128,)"
     R"("max_position_embeddings":40960,"moe_intermediate_size":1536,"num_experts":128,)"
     R"("num_experts_per_tok":8,"norm_topk_prob":true,"decoder_sparse_step":1})"},
    {"qwen1.5-1.8b", "Qwen/Qwen1.5-1.8B", "bf16",
     R"({"model_type":"qwen2","hidden_size":2048,"num_hidden_layers":24,)"
     R"("num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":5504,)"
     R"("vocab_size":151936,"tie_word_embeddings":false,"max_position_embeddings":32768})"},
    {"qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct", "bf16",
     R"({"model_type":"qwen3_next","hidden_size":2048,"num_hidden_layers":48,)"
     R"("num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,)"
     R"("intermediate_size":5120,"moe_intermediate_size":512,)"
     R"("shared_expert_intermediate_size":512,"num_experts":512,"num_experts_per_tok":10,)"
     R"("vocab_size":151936,"max_position_embeddings":262144,"tie_word_embeddings":false})"},
    {"smollm2-135m", "HuggingFaceTB/SmolLM2-135M", "bf16",
     R"({"model_type":"llama","hidden_size":576,"num_hidden_layers":30,)"
     R"("num_attention_heads":9,"num_key_value_heads":3,"intermediate_size":1536,)"
     R"("vocab_size":49152,"max_position_embeddings":8192,"tie_word_embeddings":true})"},
    {"smollm2-360m", "HuggingFaceTB/SmolLM2-360M", "bf16",
     R"({"model_type":"llama","hidden_size":960,"num_hidden_layers":32,)"
     R"("num_attention_heads":15,"num_key_value_heads":5,"intermediate_size":2560,)"
     R"("vocab_size":49152,"max_position_embeddings":8192,"tie_word_embeddings":true})"},
    {"smollm2-1.7b", "HuggingFaceTB/SmolLM2-1.7B", "bf16",
     R"({"model_type":"llama","hidden_size":2048,"num_hidden_layers":24,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":8192,)"
     R"("vocab_size":49152,"max_position_embeddings":8192,"tie_word_embeddings":true})"},
    {"smollm3-3b", "HuggingFaceTB/SmolLM3-3B", "bf16",
     R"({"model_type":"smollm3","hidden_size":2048,"num_hidden_layers":36,)"
     R"("num_attention_heads":16,"num_key_value_heads":4,"intermediate_size":11008,)"
     R"("vocab_size":128256,"max_position_embeddings":65536,"tie_word_embeddings":true})"},
    {"llama-13b", "huggyllama/llama-13b", "fp16",
     R"({"model_type":"llama","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":40,"intermediate_size":13824,)"
     R"("vocab_size":32000,"max_position_embeddings":2048,"tie_word_embeddings":false})"},
    {"llama-30b", "huggyllama/llama-30b", "fp16",
     R"({"model_type":"llama","hidden_size":6656,"num_hidden_layers":60,)"
     R"("num_attention_heads":52,"num_key_value_heads":52,"intermediate_size":17920,)"
     R"("vocab_size":32000,"max_position_embeddings":2048,"tie_word_embeddings":false})"},
    {"llama-65b", "huggyllama/llama-65b", "fp16",
     R"({"model_type":"llama","hidden_size":8192,"num_hidden_layers":80,)"
     R"("num_attention_heads":64,"num_key_value_heads":64,"intermediate_size":22016,)"
     R"("vocab_size":32000,"max_position_embeddings":2048,"tie_word_embeddings":false})"},
    {"codellama-7b", "codellama/CodeLlama-7b-hf", "bf16",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":11008,)"
     R"("vocab_size":32016,"max_position_embeddings":16384,"tie_word_embeddings":false})"},
    {"codellama-13b", "codellama/CodeLlama-13b-hf", "bf16",
     R"({"model_type":"llama","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":40,"intermediate_size":13824,)"
     R"("vocab_size":32016,"max_position_embeddings":16384,"tie_word_embeddings":false})"},
    {"codellama-34b", "codellama/CodeLlama-34b-hf", "bf16",
     R"({"model_type":"llama","hidden_size":8192,"num_hidden_layers":48,)"
     R"("num_attention_heads":64,"num_key_value_heads":8,"intermediate_size":22016,)"
     R"("vocab_size":32000,"max_position_embeddings":16384,"tie_word_embeddings":false})"},
    {"mistral-7b-v0.3", "mistralai/Mistral-7B-v0.3", "bf16",
     R"({"model_type":"mistral","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,)"
     R"("vocab_size":32768,"max_position_embeddings":32768,"tie_word_embeddings":false,)"
     R"("sliding_window":null})"},
    {"mistral-nemo-12b", "mistralai/Mistral-Nemo-Base-2407", "bf16",
     R"({"model_type":"mistral","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":14336,)"
     R"("vocab_size":131072,"max_position_embeddings":131072,"tie_word_embeddings":false,)"
     R"("head_dim":128,"sliding_window":null})"},
    {"mistral-small-24b", "mistralai/Mistral-Small-24B-Base-2501", "bf16",
     R"({"model_type":"mistral","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":32768,)"
     R"("vocab_size":131072,"max_position_embeddings":32768,"tie_word_embeddings":false,)"
     R"("head_dim":128,"sliding_window":null})"},
    {"mistral-large-123b", "mistralai/Mistral-Large-Instruct-2407", "bf16",
     R"({"model_type":"mistral","hidden_size":12288,"num_hidden_layers":88,)"
     R"("num_attention_heads":96,"num_key_value_heads":8,"intermediate_size":28672,)"
     R"("vocab_size":32768,"max_position_embeddings":131072,"tie_word_embeddings":false,)"
     R"("sliding_window":null})"},
    {"mixtral-8x22b", "mistralai/Mixtral-8x22B-v0.1", "bf16",
     R"({"model_type":"mixtral","hidden_size":6144,"num_hidden_layers":56,)"
     R"("num_attention_heads":48,"num_key_value_heads":8,"intermediate_size":16384,)"
     R"("vocab_size":32000,"max_position_embeddings":65536,"tie_word_embeddings":false,)"
     R"("num_local_experts":8,"num_experts_per_tok":2})"},
    {"gemma-2-2b", "google/gemma-2-2b", "fp32",
     R"({"model_type":"gemma2","hidden_size":2304,"num_hidden_layers":26,)"
     R"("num_attention_heads":8,"num_key_value_heads":4,"intermediate_size":9216,)"
     R"("head_dim":256,"query_pre_attn_scalar":256,"vocab_size":256000,)"
     R"("max_position_embeddings":8192})"},
    {"gemma-2-9b", "google/gemma-2-9b", "fp32",
     R"({"model_type":"gemma2","hidden_size":3584,"num_hidden_layers":42,)"
     R"("num_attention_heads":16,"num_key_value_heads":8,"intermediate_size":14336,)"
     R"("head_dim":256,"query_pre_attn_scalar":256,"vocab_size":256000,)"
     R"("max_position_embeddings":8192})"},
    {"gemma-2-27b", "google/gemma-2-27b", "fp32",
     R"({"model_type":"gemma2","hidden_size":4608,"num_hidden_layers":46,)"
     R"("num_attention_heads":32,"num_key_value_heads":16,"intermediate_size":36864,)"
     R"("head_dim":128,"query_pre_attn_scalar":144,"vocab_size":256000,)"
     R"("max_position_embeddings":8192})"},
    {"gemma-3-270m", "google/gemma-3-270m", "bf16",
     R"({"model_type":"gemma3_text","hidden_size":640,"num_hidden_layers":18,)"
     R"("num_attention_heads":4,"num_key_value_heads":1,"intermediate_size":2048,)"
     R"("head_dim":256,"query_pre_attn_scalar":256,"sliding_window":512,"vocab_size":262144,)"
     R"("max_position_embeddings":32768})"},
    {"gemma-3-1b", "google/gemma-3-1b-pt", "bf16",
     R"({"model_type":"gemma3_text","hidden_size":1152,"num_hidden_layers":26,)"
     R"("num_attention_heads":4,"num_key_value_heads":1,"intermediate_size":6912,)"
     R"("head_dim":256,"query_pre_attn_scalar":256,"sliding_window":512,"vocab_size":262144,)"
     R"("max_position_embeddings":32768})"},
    {"gemma-3-4b", "google/gemma-3-4b-it", "bf16",
     R"({"model_type":"gemma3","mm_tokens_per_image":256,)"
     R"("text_config":{"model_type":"gemma3_text","hidden_size":2560,"num_hidden_layers":34,)"
     R"("num_attention_heads":8,"num_key_value_heads":4,"intermediate_size":10240,)"
     R"("head_dim":256,"query_pre_attn_scalar":256,"sliding_window":1024,)"
     R"("vocab_size":262208,"max_position_embeddings":131072},)"
     R"("vision_config":{"model_type":"siglip_vision_model","hidden_size":1152,)"
     R"("intermediate_size":4304,"num_hidden_layers":27,"num_attention_heads":16,)"
     R"("image_size":896,"patch_size":14,"vision_use_head":false}})"},
    {"gemma-3-12b", "google/gemma-3-12b-it", "bf16",
     R"({"model_type":"gemma3","mm_tokens_per_image":256,)"
     R"("text_config":{"model_type":"gemma3_text","hidden_size":3840,"num_hidden_layers":48,)"
     R"("num_attention_heads":16,"num_key_value_heads":8,"intermediate_size":15360,)"
     R"("head_dim":256,"query_pre_attn_scalar":256,"sliding_window":1024,)"
     R"("vocab_size":262208,"max_position_embeddings":131072},)"
     R"("vision_config":{"model_type":"siglip_vision_model","hidden_size":1152,)"
     R"("intermediate_size":4304,"num_hidden_layers":27,"num_attention_heads":16,)"
     R"("image_size":896,"patch_size":14,"vision_use_head":false}})"},
    {"gemma-3-27b", "google/gemma-3-27b-it", "bf16",
     R"({"model_type":"gemma3","mm_tokens_per_image":256,)"
     R"("text_config":{"model_type":"gemma3_text","hidden_size":5376,"num_hidden_layers":62,)"
     R"("num_attention_heads":32,"num_key_value_heads":16,"intermediate_size":21504,)"
     R"("head_dim":128,"query_pre_attn_scalar":168,"sliding_window":1024,)"
     R"("vocab_size":262208,"max_position_embeddings":131072},)"
     R"("vision_config":{"model_type":"siglip_vision_model","hidden_size":1152,)"
     R"("intermediate_size":4304,"num_hidden_layers":27,"num_attention_heads":16,)"
     R"("image_size":896,"patch_size":14,"vision_use_head":false}})"},
    {"phi-1_5", "microsoft/phi-1_5", "fp16",
     R"({"model_type":"phi","hidden_size":2048,"num_hidden_layers":24,)"
     R"("num_attention_heads":32,"intermediate_size":8192,"vocab_size":51200,)"
     R"("max_position_embeddings":2048,"partial_rotary_factor":0.5,"resid_pdrop":0.0})"},
    {"phi-2", "microsoft/phi-2", "fp16",
     R"({"model_type":"phi","hidden_size":2560,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"intermediate_size":10240,"vocab_size":51200,)"
     R"("max_position_embeddings":2048,"partial_rotary_factor":0.4,"resid_pdrop":0.1})"},
    {"phi-3-mini", "microsoft/Phi-3-mini-4k-instruct", "bf16",
     R"({"model_type":"phi3","hidden_size":3072,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":8192,)"
     R"("vocab_size":32064,"max_position_embeddings":4096,"tie_word_embeddings":false,)"
     R"("sliding_window":2047})"},
    {"phi-4", "microsoft/phi-4", "bf16",
     R"({"model_type":"phi3","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":10,"intermediate_size":17920,)"
     R"("vocab_size":100352,"max_position_embeddings":16384,"tie_word_embeddings":false,)"
     R"("sliding_window":null,"pad_token_id":100349})"},
    {"olmo-1b", "allenai/OLMo-1B-hf", "fp32",
     R"({"model_type":"olmo","hidden_size":2048,"num_hidden_layers":16,)"
     R"("num_attention_heads":16,"intermediate_size":8192,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"tie_word_embeddings":true})"},
    {"olmo-7b", "allenai/OLMo-7B-hf", "fp32",
     R"({"model_type":"olmo","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"intermediate_size":11008,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"tie_word_embeddings":false})"},
    {"olmo-2-1b", "allenai/OLMo-2-0425-1B", "fp32",
     R"({"model_type":"olmo2","hidden_size":2048,"num_hidden_layers":16,)"
     R"("num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":8192,)"
     R"("vocab_size":100352,"max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"olmo-2-7b", "allenai/OLMo-2-1124-7B", "fp32",
     R"({"model_type":"olmo2","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":11008,)"
     R"("vocab_size":100352,"max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"olmo-2-13b", "allenai/OLMo-2-1124-13B", "fp32",
     R"({"model_type":"olmo2","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":40,"intermediate_size":13824,)"
     R"("vocab_size":100352,"max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"olmo-2-32b", "allenai/OLMo-2-0325-32B", "fp32",
     R"({"model_type":"olmo2","hidden_size":5120,"num_hidden_layers":64,)"
     R"("num_attention_heads":40,"num_key_value_heads":8,"intermediate_size":27648,)"
     R"("vocab_size":100352,"max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"olmoe-1b-7b", "allenai/OLMoE-1B-7B-0924", "bf16",
     R"({"model_type":"olmoe","hidden_size":2048,"num_hidden_layers":16,)"
     R"("num_attention_heads":16,"intermediate_size":1024,"num_experts":64,)"
     R"("num_experts_per_tok":8,"vocab_size":50304,"max_position_embeddings":4096,)"
     R"("tie_word_embeddings":false})"},
    {"pythia-70m", "EleutherAI/pythia-70m", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":512,"num_hidden_layers":6,)"
     R"("num_attention_heads":8,"intermediate_size":2048,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"pythia-160m", "EleutherAI/pythia-160m", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":768,"num_hidden_layers":12,)"
     R"("num_attention_heads":12,"intermediate_size":3072,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"pythia-410m", "EleutherAI/pythia-410m", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":1024,"num_hidden_layers":24,)"
     R"("num_attention_heads":16,"intermediate_size":4096,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"pythia-1b", "EleutherAI/pythia-1b", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":2048,"num_hidden_layers":16,)"
     R"("num_attention_heads":8,"intermediate_size":8192,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"pythia-1.4b", "EleutherAI/pythia-1.4b", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":2048,"num_hidden_layers":24,)"
     R"("num_attention_heads":16,"intermediate_size":8192,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"pythia-2.8b", "EleutherAI/pythia-2.8b", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":2560,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"intermediate_size":10240,"vocab_size":50304,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"pythia-6.9b", "EleutherAI/pythia-6.9b", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"intermediate_size":16384,"vocab_size":50432,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"pythia-12b", "EleutherAI/pythia-12b", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":5120,"num_hidden_layers":36,)"
     R"("num_attention_heads":40,"intermediate_size":20480,"vocab_size":50688,)"
     R"("max_position_embeddings":2048,"rotary_pct":0.25,"tie_word_embeddings":false})"},
    {"stablelm-3b-4e1t", "stabilityai/stablelm-3b-4e1t", "bf16",
     R"({"model_type":"stablelm","hidden_size":2560,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":6912,)"
     R"("vocab_size":50304,"max_position_embeddings":4096,"partial_rotary_factor":0.25,)"
     R"("use_qkv_bias":false,"tie_word_embeddings":false})"},
    {"stablelm-2-1_6b", "stabilityai/stablelm-2-1_6b", "fp16",
     R"({"model_type":"stablelm","hidden_size":2048,"num_hidden_layers":24,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,"intermediate_size":5632,)"
     R"("vocab_size":100352,"max_position_embeddings":4096,"partial_rotary_factor":0.25,)"
     R"("use_qkv_bias":true,"tie_word_embeddings":false})"},
    {"starcoder2-3b", "bigcode/starcoder2-3b", "fp32",
     R"({"model_type":"starcoder2","hidden_size":3072,"num_hidden_layers":30,)"
     R"("num_attention_heads":24,"num_key_value_heads":2,"intermediate_size":12288,)"
     R"("vocab_size":49152,"max_position_embeddings":16384,"sliding_window":4096,)"
     R"("use_bias":true,"attention_dropout":0.1,"embedding_dropout":0.1,)"
     R"("residual_dropout":0.1,"tie_word_embeddings":true})"},
    {"starcoder2-7b", "bigcode/starcoder2-7b", "fp32",
     R"({"model_type":"starcoder2","hidden_size":4608,"num_hidden_layers":32,)"
     R"("num_attention_heads":36,"num_key_value_heads":4,"intermediate_size":18432,)"
     R"("vocab_size":49152,"max_position_embeddings":16384,"sliding_window":4096,)"
     R"("use_bias":true,"attention_dropout":0.1,"embedding_dropout":0.1,)"
     R"("residual_dropout":0.1,"tie_word_embeddings":true})"},
    {"starcoder2-15b", "bigcode/starcoder2-15b", "bf16",
     R"({"model_type":"starcoder2","hidden_size":6144,"num_hidden_layers":40,)"
     R"("num_attention_heads":48,"num_key_value_heads":4,"intermediate_size":24576,)"
     R"("vocab_size":49152,"max_position_embeddings":16384,"sliding_window":4096,)"
     R"("use_bias":true,"attention_dropout":0.1,"embedding_dropout":0.1,)"
     R"("residual_dropout":0.1,"tie_word_embeddings":false})"},
    {"granite-3.0-2b", "ibm-granite/granite-3.0-2b-instruct", "bf16",
     R"({"model_type":"granite","hidden_size":2048,"num_hidden_layers":40,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,)"
     R"("vocab_size":49155,"max_position_embeddings":4096,"attention_multiplier":0.015625,)"
     R"("embedding_multiplier":12.0,"residual_multiplier":0.22,"logits_scaling":8.0,)"
     R"("attention_dropout":0.1,"tie_word_embeddings":true})"},
    {"granite-3.0-8b", "ibm-granite/granite-3.0-8b-instruct", "bf16",
     R"({"model_type":"granite","hidden_size":4096,"num_hidden_layers":40,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":12800,)"
     R"("vocab_size":49155,"max_position_embeddings":4096,"attention_multiplier":0.0078125,)"
     R"("embedding_multiplier":12.0,"residual_multiplier":0.22,"logits_scaling":16.0,)"
     R"("attention_dropout":0.1,"tie_word_embeddings":true})"},
    {"glm-4-9b", "THUDM/GLM-4-9B-0414", "bf16",
     R"({"model_type":"glm4","hidden_size":4096,"num_hidden_layers":40,)"
     R"("num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,)"
     R"("intermediate_size":13696,"vocab_size":151552,"max_position_embeddings":32768,)"
     R"("tie_word_embeddings":false})"},
    {"glm-4.5-air", "zai-org/GLM-4.5-Air", "bf16",
     R"({"model_type":"glm4_moe","hidden_size":4096,"num_hidden_layers":46,)"
     R"("num_attention_heads":96,"num_key_value_heads":8,"head_dim":128,)"
     R"("intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":128,)"
     R"("n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":1,)"
     R"("attention_bias":true,"use_qk_norm":false,"vocab_size":151552,)"
     R"("max_position_embeddings":131072,"tie_word_embeddings":false})"},
    {"deepseek-v2-lite", "deepseek-ai/DeepSeek-V2-Lite", "bf16",
     R"({"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,)"
     R"("num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":10944,)"
     R"("moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,)"
     R"("num_experts_per_tok":6,"first_k_dense_replace":1,"q_lora_rank":null,)"
     R"("kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,)"
     R"("n_group":1,"topk_group":1,"norm_topk_prob":false,"vocab_size":102400,)"
     R"("max_position_embeddings":163840,"tie_word_embeddings":false})"},
    {"opt-30b", "facebook/opt-30b", "fp16",
     R"({"model_type":"opt","hidden_size":7168,"word_embed_proj_dim":7168,)"
     R"("num_hidden_layers":48,"num_attention_heads":56,"ffn_dim":28672,"vocab_size":50272,)"
     R"("max_position_embeddings":2048})"},
    {"opt-66b", "facebook/opt-66b", "fp16",
     R"({"model_type":"opt","hidden_size":9216,"word_embed_proj_dim":9216,)"
     R"("num_hidden_layers":64,"num_attention_heads":72,"ffn_dim":36864,"vocab_size":50272,)"
     R"("max_position_embeddings":2048})"},
    {"gpt-oss-20b", "openai/gpt-oss-20b", "bf16",
     R"({"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":24,)"
     R"("num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,)"
     R"("intermediate_size":2880,"num_local_experts":32,"num_experts_per_tok":4,)"
     R"("sliding_window":128,"vocab_size":201088,"max_position_embeddings":131072,)"
     R"("attention_bias":true,"tie_word_embeddings":false})"},
    {"gpt-oss-120b", "openai/gpt-oss-120b", "bf16",
     R"({"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":36,)"
     R"("num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,)"
     R"("intermediate_size":2880,"num_local_experts":128,"num_experts_per_tok":4,)"
     R"("sliding_window":128,"vocab_size":201088,"max_position_embeddings":131072,)"
     R"("attention_bias":true,"tie_word_embeddings":false})"},
    {"llava-1.5-7b", "llava-hf/llava-1.5-7b-hf", "fp16",
     R"({"model_type":"llava","image_token_index":32000,"text_config":{"model_type":"llama",)"
     R"("hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,)"
     R"("num_key_value_heads":32,"intermediate_size":11008,"vocab_size":32064,)"
     R"("max_position_embeddings":4096},"vision_config":{"model_type":"clip_vision_model",)"
     R"("hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,)"
     R"("num_attention_heads":16,"image_size":336,"patch_size":14,"projection_dim":768,)"
     R"("vocab_size":32000}})"},
    {"qwen1.5-4b", "Qwen/Qwen1.5-4B", "bf16",
     R"({"model_type":"qwen2","hidden_size":2560,"num_hidden_layers":40,)"
     R"("num_attention_heads":20,"num_key_value_heads":20,)"
     R"("intermediate_size":6912,"vocab_size":151936,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false})"},
    {"qwen1.5-7b", "Qwen/Qwen1.5-7B", "bf16",
     R"({"model_type":"qwen2","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,)"
     R"("intermediate_size":11008,"vocab_size":151936,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false})"},
    {"qwen1.5-14b", "Qwen/Qwen1.5-14B", "bf16",
     R"({"model_type":"qwen2","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":40,)"
     R"("intermediate_size":13696,"vocab_size":152064,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false})"},
    {"qwen1.5-32b", "Qwen/Qwen1.5-32B", "bf16",
     R"({"model_type":"qwen2","hidden_size":5120,"num_hidden_layers":64,)"
     R"("num_attention_heads":40,"num_key_value_heads":8,)"
     R"("intermediate_size":27392,"vocab_size":152064,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false})"},
    {"qwen1.5-72b", "Qwen/Qwen1.5-72B", "bf16",
     R"({"model_type":"qwen2","hidden_size":8192,"num_hidden_layers":80,)"
     R"("num_attention_heads":64,"num_key_value_heads":64,)"
     R"("intermediate_size":24576,"vocab_size":152064,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false})"},
    {"deepseek-r1-distill-qwen-1.5b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "bf16",
     R"({"model_type":"qwen2","hidden_size":1536,"num_hidden_layers":28,)"
     R"("num_attention_heads":12,"num_key_value_heads":2,)"
     R"("intermediate_size":8960,"vocab_size":151936,)"
     R"("max_position_embeddings":131072,"tie_word_embeddings":false})"},
    {"yi-6b", "01-ai/Yi-6B", "bf16",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":4,)"
     R"("intermediate_size":11008,"vocab_size":64000,)"
     R"("max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"yi-9b", "01-ai/Yi-9B", "bf16",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":48,)"
     R"("num_attention_heads":32,"num_key_value_heads":4,)"
     R"("intermediate_size":11008,"vocab_size":64000,)"
     R"("max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"yi-34b", "01-ai/Yi-34B", "bf16",
     R"({"model_type":"llama","hidden_size":7168,"num_hidden_layers":60,)"
     R"("num_attention_heads":56,"num_key_value_heads":8,)"
     R"("intermediate_size":20480,"vocab_size":64000,)"
     R"("max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"falcon3-1b", "tiiuae/Falcon3-1B-Base", "bf16",
     R"({"model_type":"llama","hidden_size":2048,"num_hidden_layers":18,)"
     R"("num_attention_heads":8,"num_key_value_heads":4,)"
     R"("intermediate_size":8192,"vocab_size":131072,)"
     R"("max_position_embeddings":8192,"tie_word_embeddings":false,)"
     R"("head_dim":256})"},
    {"falcon3-3b", "tiiuae/Falcon3-3B-Base", "bf16",
     R"({"model_type":"llama","hidden_size":3072,"num_hidden_layers":22,)"
     R"("num_attention_heads":12,"num_key_value_heads":4,)"
     R"("intermediate_size":9216,"vocab_size":131072,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false,)"
     R"("head_dim":256})"},
    {"falcon3-7b", "tiiuae/Falcon3-7B-Base", "bf16",
     R"({"model_type":"llama","hidden_size":3072,"num_hidden_layers":28,)"
     R"("num_attention_heads":12,"num_key_value_heads":4,)"
     R"("intermediate_size":23040,"vocab_size":131072,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false,)"
     R"("head_dim":256})"},
    {"falcon3-10b", "tiiuae/Falcon3-10B-Base", "bf16",
     R"({"model_type":"llama","hidden_size":3072,"num_hidden_layers":40,)"
     R"("num_attention_heads":12,"num_key_value_heads":4,)"
     R"("intermediate_size":23040,"vocab_size":131072,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false,)"
     R"("head_dim":256})"},
    {"open-llama-3b", "openlm-research/open_llama_3b", "fp16",
     R"({"model_type":"llama","hidden_size":3200,"num_hidden_layers":26,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,)"
     R"("intermediate_size":8640,"vocab_size":32000,)"
     R"("max_position_embeddings":2048,"tie_word_embeddings":false})"},
    {"solar-10.7b", "upstage/SOLAR-10.7B-v1.0", "fp16",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":48,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,)"
     R"("intermediate_size":14336,"vocab_size":32000,)"
     R"("max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"deepseek-llm-7b", "deepseek-ai/deepseek-llm-7b-base", "bf16",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":30,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,)"
     R"("intermediate_size":11008,"vocab_size":102400,)"
     R"("max_position_embeddings":4096,"tie_word_embeddings":false})"},
    {"deepseek-coder-1.3b", "deepseek-ai/deepseek-coder-1.3b-base", "bf16",
     R"({"model_type":"llama","hidden_size":2048,"num_hidden_layers":24,)"
     R"("num_attention_heads":16,"num_key_value_heads":16,)"
     R"("intermediate_size":5504,"vocab_size":32256,)"
     R"("max_position_embeddings":16384,"tie_word_embeddings":false})"},
    {"deepseek-coder-6.7b", "deepseek-ai/deepseek-coder-6.7b-base", "bf16",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":32,)"
     R"("intermediate_size":11008,"vocab_size":32256,)"
     R"("max_position_embeddings":16384,"tie_word_embeddings":false})"},
    {"llama-3.1-tulu-3-8b", "allenai/Llama-3.1-Tulu-3-8B", "bf16",
     R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,)"
     R"("intermediate_size":14336,"vocab_size":128264,)"
     R"("max_position_embeddings":131072,"tie_word_embeddings":false})"},
    {"llama-3.1-tulu-3-70b", "allenai/Llama-3.1-Tulu-3-70B", "bf16",
     R"({"model_type":"llama","hidden_size":8192,"num_hidden_layers":80,)"
     R"("num_attention_heads":64,"num_key_value_heads":8,)"
     R"("intermediate_size":28672,"vocab_size":128264,)"
     R"("max_position_embeddings":131072,"tie_word_embeddings":false})"},
    {"ministral-8b", "mistralai/Ministral-8B-Instruct-2410", "bf16",
     R"({"model_type":"mistral","hidden_size":4096,"num_hidden_layers":36,)"
     R"("num_attention_heads":32,"num_key_value_heads":8,)"
     R"("intermediate_size":12288,"vocab_size":131072,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false,)"
     R"("head_dim":128,"sliding_window":32768})"},
    {"codestral-22b", "mistralai/Codestral-22B-v0.1", "bf16",
     R"({"model_type":"mistral","hidden_size":6144,"num_hidden_layers":56,)"
     R"("num_attention_heads":48,"num_key_value_heads":8,)"
     R"("intermediate_size":16384,"vocab_size":32768,)"
     R"("max_position_embeddings":32768,"tie_word_embeddings":false,)"
     R"("head_dim":128,"sliding_window":null})"},
    {"phi-3-medium", "microsoft/Phi-3-medium-4k-instruct", "bf16",
     R"({"model_type":"phi3","hidden_size":5120,"num_hidden_layers":40,)"
     R"("num_attention_heads":40,"num_key_value_heads":10,)"
     R"("intermediate_size":17920,"vocab_size":32064,)"
     R"("max_position_embeddings":4096,"tie_word_embeddings":false,)"
     R"("sliding_window":2047})"},
    {"phi-4-mini", "microsoft/Phi-4-mini-instruct", "bf16",
     R"({"model_type":"phi3","hidden_size":3072,"num_hidden_layers":32,)"
     R"("num_attention_heads":24,"num_key_value_heads":8,)"
     R"("intermediate_size":8192,"vocab_size":200064,)"
     R"("max_position_embeddings":131072,"tie_word_embeddings":true,)"
     R"("partial_rotary_factor":0.75,"sliding_window":262144,)"
     R"("pad_token_id":199999})"},
    {"gpt-neox-20b", "EleutherAI/gpt-neox-20b", "fp16",
     R"({"model_type":"gpt_neox","hidden_size":6144,"num_hidden_layers":44,)"
     R"("num_attention_heads":64,"intermediate_size":24576,"vocab_size":50432,)"
     R"("max_position_embeddings":2048,"tie_word_embeddings":false})"},
    {"starcoder", "bigcode/starcoder", "fp32",
     R"({"model_type":"gpt_bigcode","n_embd":6144,"n_layer":40,"n_head":48,)"
     R"("n_inner":24576,"n_positions":8192,"vocab_size":49152,)"
     R"("multi_query":true})"},
});

}  // namespace

std::span<const PublishedModel> published_models() {
  return kPublished;
}

}  // namespace highwater
