// Configuration files and launch lines of programs as options: small texts with the keys that a
// program is known by.
#include <algorithm>

#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;

namespace {

OptionWords words_of(const PlanSource& source, const OptionWords& given = {}) {
  const std::vector<PlanSource> sources{source};
  return combined_words(sources, given);
}

std::string word(const OptionWords& words, std::string_view option) {
  const std::string* const found = find_word(words, option);
  return found == nullptr ? "" : *found;
}

PlanSource from_line(std::string_view line) {
  return plan_of_launch(read_launch_line(line, "a line"), "a line");
}

PlanSource from_toml(std::string_view text) {
  return plan_of_settings(read_toml_settings(text, "a.toml"), "a.toml");
}

PlanSource from_yaml(std::string_view text) {
  return plan_of_settings(read_yaml_settings(text, "a.yaml"), "a.yaml");
}

KeyFate fate_of(const PlanSource& source, std::string_view key) {
  const auto found = std::ranges::find(source.keys, key, &SourceKey::key);
  REQUIRE(found != source.keys.end());
  return found->fate;
}

constexpr std::string_view kLlama =
    " --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32"
    " --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm"
    " --position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear"
    " --vocab-size 128256 --seq-length 8192 --micro-batch-size 1 --attention-dropout 0"
    " --hidden-dropout 0 --bf16";

}  // namespace

TEST_CASE("programs: torchtitan of December 2024", "[plan][sources][programs]") {
  const PlanSource source = from_toml(
      "[model]\nname = 'llama3'\nflavor = '8B'\n"
      "[training]\nbatch_size = 1\nseq_len = 8192\ndata_parallel_shard_degree = -1\n"
      "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'op'\n");
  const OptionWords words = words_of(source, {{"dp", "8"}});
  CHECK(word(words, "model") == "llama-3-8b");
  CHECK(word(words, "framework") == "torchtitan");
  CHECK(word(words, "torchtitan") == "0.0");
  CHECK(word(words, "fsdp-units").empty());
}

// YerevaNN/YNNtitan train_configs/llama3_8b.toml: 64 GPUs were simulated as one.
TEST_CASE("programs: torchtitan before October 2024 has one data-parallel degree",
          "[plan][sources][programs]") {
  const std::string text =
      "[model]\nname = 'llama3'\nflavor = '8B'\n"
      "[training]\nbatch_size = 1\nseq_len = 8192\ndata_parallel_degree = ";
  const PlanSource open = from_toml(text + "-1\n");
  CHECK(std::ranges::find(open.keys, "dp", &SourceKey::lacks) != open.keys.end());
  CHECK(word(words_of(from_toml(text + "8\n")), "dp") == "8");
  const OptionWords ddp = words_of(from_toml(text + "8\ndata_parallel_type = 'ddp'\n"));
  CHECK(word(ddp, "dp-kind") == "ddp");
  CHECK(word(ddp, "bucket-cap-mb") == "100");
}

TEST_CASE("programs: torchtitan since July 2025 shards the ends alone where ranks share the model",
          "[plan][sources][programs]") {
  const PlanSource source = from_toml(
      "[model]\nname = 'llama3'\nflavor = '8B'\nhf_assets_path = 'a'\n"
      "[training]\nlocal_batch_size = 2\n[parallelism]\ntensor_parallel_degree = 2\n");
  CHECK(word(words_of(source, {{"dp", "8"}}), "fsdp-units") == "ends");
  CHECK(word(words_of(source), "fsdp-units").empty());
  CHECK(word(words_of(source), "tp-kind") == "dtensor");
}

TEST_CASE("programs: a torchtitan line whose file is not there is not torchtitan's smallest model",
          "[plan][sources][programs]") {
  const PlanSource source =
      from_line("torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file gone.toml");
  CHECK(word(words_of(source), "model").empty());
  CHECK(fate_of(source, "(job.config_file)") == KeyFate::not_supported);
  const PlanSource given = from_line(
      "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file a.toml --model.flavor 8B");
  CHECK(word(words_of(given), "model") == "llama-3-8b");
}

TEST_CASE("programs: torchtitan's ranks are the launcher's where the file leaves them open",
          "[plan][sources][programs]") {
  const PlanSource source = from_toml(
      "[model]\nname = 'llama3'\nflavor = '8B'\n[parallelism]\ndata_parallel_shard_degree = -1\n");
  CHECK(fate_of(source, "parallelism.data_parallel_shard_degree") == KeyFate::not_supported);
}

TEST_CASE("programs: torchtitan's pipelines count micro-batches", "[plan][sources][programs]") {
  const PlanSource source = from_toml(
      "[model]\nname = 'llama3'\nflavor = '8B'\n[training]\nlocal_batch_size = 8\n"
      "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 2\n");
  CHECK(word(words_of(source), "batch") == "2");
  CHECK(word(words_of(source), "grad-accum") == "4");
}

TEST_CASE("programs: other models of torchtitan are named", "[plan][sources][programs]") {
  const PlanSource source = from_toml("[model]\nname = 'flux'\nflavor = 'dev'\n");
  CHECK(fate_of(source, "model.flavor") == KeyFate::not_supported);
  CHECK(word(words_of(source), "model").empty());
}

TEST_CASE("programs: Megatron-LM's options become the same options here",
          "[plan][sources][programs]") {
  const PlanSource source =
      from_line("torchrun --nproc_per_node 8 pretrain_gpt.py" + std::string(kLlama) +
                " --tensor-model-parallel-size 2 --sequence-parallel --global-batch-size 32"
                " --use-distributed-optimizer --recompute-activations --fp8-format hybrid");
  const OptionWords words = words_of(source);
  CHECK(word(words, "model") == "llama-3-8b");
  CHECK(word(words, "dp") == "4");
  CHECK(word(words, "grad-accum") == "8");
  CHECK(word(words, "dp-kind") == "zero1");
  CHECK(word(words, "sp") == "true");
  CHECK(word(words, "checkpoint") == "selective-attention");
  CHECK(fate_of(source, "fp8-format") == KeyFate::not_supported);  // operands are gathered
}

TEST_CASE("programs: Megatron-LM's options of Transformer Engine", "[plan][sources][programs]") {
  const auto read = [](const std::string& more) {
    return from_line("torchrun --nproc_per_node 8 pretrain_gpt.py" + std::string(kLlama) + more);
  };
  const auto said = [&](const std::string& more, const char* option) {
    return word(words_of(read(more)), option);
  };
  CHECK(said(" --fp8-format hybrid", "fp8-recipe") == "delayed");
  CHECK(said(" --fp8-format e4m3 --fp8-recipe blockwise", "fp8-recipe") == "blockwise");
  CHECK(said(" --cross-entropy-loss-fusion --cross-entropy-fusion-impl te", "te-cross-entropy") ==
        "true");
  CHECK(fate_of(read(" --cross-entropy-loss-fusion"), "cross-entropy-loss-fusion") ==
        KeyFate::not_supported);
  CHECK(said(" --transformer-impl local --use-flash-attn", "transformer-impl") == "local");
  CHECK(said(" --transformer-impl local --use-flash-attn", "attention") == "sdpa-flash");
  CHECK(said(" --use-flash-attn", "attention") != "sdpa-flash");
  CHECK(said(" --attention-backend fused", "attention") == "sdpa-cudnn");
  CHECK(fate_of(read(" --no-bias-dropout-fusion"), "no-bias-dropout-fusion") ==
        KeyFate::no_effect);  // without a bias and a dropout
}

TEST_CASE("programs: Megatron-LM's Muon, and how it is distributed", "[plan][sources][programs]") {
  const auto line = [](const std::string& more) {
    return from_line("torchrun --nproc_per_node 8 pretrain_gpt.py" + std::string(kLlama) + more);
  };
  const PlanSource source = line(
      " --optimizer dist_muon --muon-tp-mode blockwise --muon-no-split-qkv"
      " --muon-nesterov --muon-momentum 0.9 --muon-scalar-optimizer lion");
  const OptionWords words = words_of(source);
  CHECK(word(words, "optimizer") == "muon");
  CHECK(word(words, "dp-kind") == "zero1");
  CHECK(word(words, "muon-tp-mode") == "blockwise");
  CHECK(word(words, "muon-split-qkv") == "false");
  CHECK(word(words, "muon-nesterov") == "true");
  CHECK(fate_of(source, "muon-momentum") == KeyFate::no_effect);
  CHECK(fate_of(source, "muon-scalar-optimizer") == KeyFate::not_supported);
  CHECK(word(words_of(line(" --optimizer muon")), "dp-kind").empty());
  constexpr std::string_view kUnpacked = "no-use-layer-wise-param-layout";
  CHECK(fate_of(line(" --optimizer muon --no-use-layer-wise-param-layout"), kUnpacked) ==
        KeyFate::no_effect);
  CHECK(fate_of(line(" --optimizer muon --use-distributed-optimizer"
                     " --no-use-layer-wise-param-layout"),
                kUnpacked) == KeyFate::not_supported);
}

TEST_CASE("programs: Megatron-LM's model is GPT-2's where nothing else is said",
          "[plan][sources][programs]") {
  const std::string sizes =
      " --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024"
      " --max-position-embeddings 1024 --micro-batch-size 4 --fp16";
  const OptionWords words = words_of(
      from_line("python pretrain_gpt.py" + sizes + " --vocab-file a.json --merge-file b.txt"));
  CHECK(word(words, "model") == "gpt2-medium");
  CHECK(word(words, "dropout") == "0.1");
  CHECK(word(words, "fp32-grads") == "false");
  const PlanSource bert = from_line("python pretrain_bert.py" + sizes + " --vocab-size 30522");
  CHECK(word(words_of(bert), "model").empty());
}

TEST_CASE("programs: Megatron-LM's decoders that are not here are refused",
          "[plan][sources][programs]") {
  for (const std::string_view other :
       {" --multi-latent-attention", " --squared-relu", " --qk-l2-norm",
        " --num-experts 8 --moe-shared-expert-intermediate-size 9"}) {
    const PlanSource source =
        from_line("python pretrain_gpt.py" + std::string(kLlama) + std::string(other));
    CHECK(word(words_of(source), "model").empty());
  }
}

TEST_CASE("programs: an interleaved schedule has as many chunks as layers say",
          "[plan][sources][programs]") {
  const OptionWords words = words_of(
      from_line("python pretrain_gpt.py" + std::string(kLlama) +
                " --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2"));
  CHECK(word(words, "pp-schedule") == "interleaved");
  CHECK(word(words, "pp-chunks") == "4");
}

TEST_CASE("programs: torchtune's builders name models and adapters", "[plan][sources][programs]") {
  const PlanSource source = from_yaml(
      "model:\n  _component_: torchtune.models.llama3_2.lora_llama3_2_1b\n  lora_rank: 64\n"
      "  lora_attn_modules: ['q_proj', 'output_proj']\n  apply_lora_to_mlp: True\n"
      "tokenizer:\n  max_seq_len: null\nbatch_size: 4\ndtype: bf16\n"
      "optimizer:\n  _component_: torch.optim.AdamW\n  fused: True\n");
  const OptionWords words = words_of(source);
  CHECK(word(words, "model") == "llama-3.2-1b");
  CHECK(word(words, "lora") == "64");
  CHECK(word(words, "lora-targets") == "q_proj,o_proj,gate_proj,up_proj,down_proj");
  CHECK(fate_of(source, "tokenizer.max_seq_len") == KeyFate::not_supported);
}

TEST_CASE("programs: torchtune's DoRA is the option, by its key or by the builder's name",
          "[plan][sources][programs]") {
  const std::string lora = "  lora_attn_modules: ['q_proj']\n  lora_rank: 8\nbatch_size: 2\n";
  const auto dora_of = [&](const std::string& model) {
    return word(words_of(from_yaml("model:\n  _component_: torchtune.models." + model + lora)),
                "dora");
  };
  CHECK(dora_of("llama3.lora_llama3_8b\n  use_dora: True\n") == "true");
  CHECK(dora_of("llama3.dora_llama3_8b\n") == "true");
  CHECK(dora_of("llama3.lora_llama3_8b\n").empty());
}

// torchtune 0.6.1, models/llama3/_model_builders.py: qlora_llama3_8b is lora_llama3_8b with
// quantize_base.
TEST_CASE("programs: torchtune's QLoRA is quantize nf4, by its key or by the builder's name",
          "[plan][sources][programs]") {
  const std::string lora = "  lora_attn_modules: ['q_proj']\n  lora_rank: 8\nbatch_size: 2\n";
  const auto words_for = [&](const std::string& model) {
    return words_of(from_yaml("model:\n  _component_: torchtune.models." + model + lora));
  };
  CHECK(word(words_for("llama3.qlora_llama3_8b\n"), "quantize") == "nf4");
  CHECK(word(words_for("llama3.qlora_llama3_8b\n"), "prepare-kbit").empty());
  CHECK(word(words_for("llama3.lora_llama3_8b\n  quantize_base: True\n"), "quantize") == "nf4");
  CHECK(word(words_for("llama3.lora_llama3_8b\n  quantize_base: False\n"), "quantize").empty());
  const OptionWords gemma = words_for("gemma.qlora_gemma_2b\n");
  CHECK(word(gemma, "quantize") == "nf4");
  CHECK(word(gemma, "prepare-kbit") == "false");
}

TEST_CASE("programs: torchtune's fsdp_cpu_offload means shards, and activations stay theirs",
          "[plan][sources][programs]") {
  const std::string both =
      "model:\n  _component_: torchtune.models.llama3.llama3_8b\nbatch_size: 2\n"
      "enable_activation_checkpointing: True\nenable_activation_offloading: True\n";
  const PlanSource alone = from_yaml(both);
  CHECK(word(words_of(alone), "offload") == "activations");
  const PlanSource source = from_yaml(both + "fsdp_cpu_offload: True\n");
  CHECK(word(words_of(source), "offload") == "params");
  CHECK(fate_of(source, "enable_activation_offloading") == KeyFate::not_supported);
}

TEST_CASE("programs: what torchtune compiles takes less, and is simulated eagerly",
          "[plan][sources][programs]") {
  const PlanSource source = from_yaml(
      "model:\n  _component_: torchtune.models.llama3.llama3_8b\nbatch_size: 2\ncompile: True\n");
  const auto compiled = std::ranges::find(source.keys, "compile", &SourceKey::key);
  REQUIRE(compiled != source.keys.end());
  CHECK(compiled->fate == KeyFate::not_supported);
  CHECK(compiled->sign == MemorySign::less);
}

TEST_CASE("programs: torchtune's recipes with a second model are refused",
          "[plan][sources][programs]") {
  const PlanSource source = from_yaml(
      "model:\n  _component_: torchtune.models.llama3.llama3_8b\n"
      "loss:\n  _component_: torchtune.rlhf.loss.DPOLoss\nbatch_size: 4\n");
  CHECK(word(words_of(source), "model").empty());
}

TEST_CASE("programs: Megatron's FSDP decides beside its distributed optimizer",
          "[plan][sources][programs]") {
  const OptionWords words = words_of(from_line("python pretrain_gpt.py" + std::string(kLlama) +
                                               " --use-megatron-fsdp --use-distributed-optimizer"));
  CHECK(word(words, "dp-kind") == "zero3");
}

TEST_CASE("programs: Megatron-LM's files have sections that say nothing",
          "[plan][sources][programs]") {
  const PlanSource source = from_yaml(
      "language_model:\n  num_layers: 24\n  hidden_size: 1024\n  num_attention_heads: 16\n"
      "model_parallel:\n  tensor_model_parallel_size: 2\n  bf16: True\n"
      "micro_batch_size: 2\nseq_length: 1024\ntokenizer_type: GPT2BPETokenizer\n");
  CHECK(word(words_of(source), "tp") == "2");
  CHECK(word(words_of(source), "model") == "gpt2-medium");
}

TEST_CASE("programs: NeMo's optimizer tells the framework, and O2 the types",
          "[plan][sources][programs]") {
  const std::string sizes =
      "model:\n  micro_batch_size: 4\n  encoder_seq_length: 2048\n  num_layers: 24\n"
      "  hidden_size: 2048\n  ffn_hidden_size: 5440\n  num_attention_heads: 16\n"
      "  normalization: layernorm1p\n  bias: False\n  activation: fast-swiglu\n"
      "  position_embedding_type: rope\n  share_embeddings_and_output_weights: False\n"
      "  tokenizer:\n    type: GPT2BPETokenizer\n  hidden_dropout: 0.0\n"
      "  attention_dropout: 0.0\n  megatron_amp_O2: True\n";
  const std::string trainer = "trainer:\n  devices: 8\n  num_nodes: 2\n  precision: bf16\n";
  const OptionWords apex = words_of(from_yaml(
      trainer + sizes + "  optim:\n    name: distributed_fused_adam\n    bucket_cap_mb: 128\n"));
  CHECK(word(apex, "model") == "nemo-gpt-1b");
  CHECK(word(apex, "framework") == "nemo");
  CHECK(word(apex, "apex-bucket-mb") == "128");
  CHECK(word(apex, "dp") == "16");
  const OptionWords core =
      words_of(from_yaml(trainer + sizes + "  optim:\n    name: mcore_distributed_optim\n"));
  CHECK(word(core, "framework") == "megatron");
  CHECK(word(core, "dp-kind") == "zero1");
}

TEST_CASE("programs: a recipe of Megatron Bridge is changed by what stands beside it",
          "[plan][sources][programs]") {
  const PlanSource source = from_line(
      "torchrun --nproc_per_node 8 scripts/training/run_recipe.py"
      " --recipe llama3_8b_pretrain_2gpu_h100_bf16_config --mode pretrain"
      " model.tensor_model_parallel_size=2 train.micro_batch_size=2");
  const OptionWords words = words_of(source);
  CHECK(word(words, "model") == "llama-3-8b");
  CHECK(word(words, "tp") == "2");
  CHECK(word(words, "cp") == "2");
  CHECK(word(words, "dp") == "2");
  CHECK(word(words, "batch") == "2");
  CHECK(word(words, "grad-accum") == "128");
}

TEST_CASE("programs: torchtitan's Python configurations, as the reader prints them",
          "[plan][sources][programs]") {
  const std::string text = R"({"program": "torchtitan", "release": "0.3.0",
    "model": {"class": "Llama3Model.Config", "config": {"model_type": "llama",
      "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
      "tie_word_embeddings": false}, "converters": ["Linear.Config"]},
    "job": {"training": {"local_batch_size": 1, "seq_len": 8192, "disable_cuda_graphs": false},
      "activation_checkpoint": {"class": "FullAC.Config"},
      "loss": {"class": "ChunkedLossWrapper.Config", "num_chunks": 4}}})";
  const PlanSource source = plan_of_settings(read_json_settings(text, "a.json"), "a.json");
  const OptionWords words = words_of(source);
  CHECK(word(words, "model") == "llama-3-8b");
  CHECK(word(words, "checkpoint") == "full");
  CHECK(word(words, "loss") == "chunked-4");
  CHECK(fate_of(source, "job.training.disable_cuda_graphs") == KeyFate::not_supported);
}

TEST_CASE("programs: files of Megatron-LM's tests are Megatron's", "[plan][sources][programs]") {
  const PlanSource source = from_yaml(
      "ENV_VARS:\n  NCCL_ALGO: Ring\nMODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n"
      "  --num-attention-heads: 8\n  --seq-length: 1024\n  --max-position-embeddings: 1024\n"
      "  --vocab-size: 50257\n  --tensor-model-parallel-size: 2\n  --bf16: true\n"
      "TEST_TYPE: regular\n");
  CHECK(word(words_of(source), "framework") == "megatron");
  CHECK(word(words_of(source), "tp") == "2");
  CHECK(fate_of(source, "MODEL_ARGS.--tensor-model-parallel-size") == KeyFate::used);
  CHECK(fate_of(source, "ENV_VARS.NCCL_ALGO") == KeyFate::no_effect);
}

TEST_CASE("programs: DeepSpeed's engine around Megatron's model is refused",
          "[plan][sources][programs]") {
  const std::string line = "deepspeed pretrain_gpt.py" + std::string(kLlama) + " --zero-stage 1";
  CHECK_THROWS_WITH(from_line(line + " --deepspeed"),
                    Catch::Matchers::Contains("Megatron-DeepSpeed"));
  CHECK(word(words_of(from_line(line)), "framework") == "megatron");
}

TEST_CASE("programs: launch lines of Pai-Megatron-Patch are Megatron's",
          "[plan][sources][programs]") {
  const PlanSource source = from_line("torchrun pretrain_mcore_llama.py" + std::string(kLlama) +
                                      " --dataset LLama-Pretrain-Idxmap --extra-vocab-size 256");
  CHECK(word(words_of(source), "model") == "llama-3-8b");
  CHECK(fate_of(source, "extra-vocab-size") == KeyFate::not_supported);
}

TEST_CASE("programs: a file with keys of a model alone is not torchtune's",
          "[plan][sources][programs]") {
  CHECK_THROWS_WITH(from_yaml("trainer:\n  devices: 8\nexp_manager:\n  name: unet\nmodel:\n"
                              "  unet: 1\n  vae: 2\n  clip: 3\n  steps: 4\n"),
                    Catch::Matchers::Contains("no file of a known program") &&
                        Catch::Matchers::Contains("model.unet"));
}

TEST_CASE(
    "programs: recipes of torchtune that train nothing are refused, other families are "
    "transformers'",
    "[plan][sources][programs]") {
  CHECK_THROWS_WITH(from_yaml("model:\n  _component_: torchtune.models.llama2.llama2_7b\n"
                              "tasks: [\"truthfulqa\"]\n"),
                    Catch::Matchers::Contains("trains nothing"));
  const PlanSource source = from_yaml(
      "model:\n  _component_: torchtune.models.phi4.lora_phi4_14b\n  lora_rank: 8\n"
      "  lora_attn_modules: [q_proj, v_proj, output_proj]\n  apply_lora_to_mlp: true\n"
      "optimizer:\n  _component_: torch.optim.AdamW\nbatch_size: 2\n");
  CHECK(word(words_of(source), "model") == "phi-4");
  CHECK(word(words_of(source), "model-code") == "hf");
  CHECK(word(words_of(source), "lora-targets") == "qkv_proj,o_proj,gate_up_proj,down_proj");
  CHECK(fate_of(source, "(torchtune.models)") == KeyFate::not_supported);
}

TEST_CASE("programs: Megatron Bridge's recipes of fine-tuning and of Qwen2",
          "[plan][sources][programs]") {
  const PlanSource tuned = from_line(
      "torchrun --nproc_per_node 8 run_recipe.py --recipe llama3_8b_sft_config --mode sft "
      "train.global_batch_size=16");
  CHECK(word(words_of(tuned), "model") == "llama-3-8b");
  CHECK(word(words_of(tuned), "tp") == "2");
  CHECK(word(words_of(tuned), "seq") == "4096");
  CHECK(word(words_of(tuned), "grad-accum") == "4");
  CHECK(word(words_of(tuned), "overlap-grad-reduce").empty());  // off, the default
  CHECK(word(words_of(from_line("run_recipe.py --recipe qwen2_7b_sft_config")),
             "overlap-grad-reduce") == "true");
  CHECK(fate_of(tuned, "(dataset.enable_offline_packing)") == KeyFate::not_supported);
  const PlanSource qwen =
      from_line("run_recipe.py --recipe qwen25_7b_pretrain_2gpu_h100_bf16_config");
  CHECK(word(words_of(qwen), "model") == "qwen2.5-7b");
  CHECK(word(words_of(qwen), "batch") == "2");
}

// AMD-AGI/Primus, primus/configs/modules/megatron/trainer_base.yaml and pre_trainer.yaml.
TEST_CASE("programs: Primus has Megatron's arguments, and defaults of its own",
          "[plan][sources][programs]") {
  const std::string head =
      "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n"
      "    model: llama3.1_8B.yaml\n    overrides:\n";
  const PlanSource source =
      from_yaml(head +
                "      seq_length: ${PRIMUS_SEQ_LENGTH:8192}\n      tensor_model_parallel_size: 2\n"
                "      log_avg_skip_iterations: 2\n");
  const OptionWords words = words_of(source, {{"dp", "4"}});
  CHECK(word(words, "model") == "llama-3.1-8b");
  CHECK(word(words, "seq") == "8192");
  CHECK(word(words, "tp") == "2");
  CHECK(word(words, "batch") == "2");
  CHECK(word(words, "grad-accum") == "2");
  CHECK(word(words, "dp-kind") == "zero1");
  CHECK(word(words, "fp32-grads") == "false");
  const PlanSource other =
      from_yaml("modules:\n  pre_trainer:\n    framework: torchtitan\n    model: llama3_8B.yaml\n");
  CHECK(fate_of(other, "modules.pre_trainer.framework") == KeyFate::not_supported);
}

// nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py build_transformer_config.
TEST_CASE("programs: NeMo's mixtures are Megatron's", "[plan][sources][programs]") {
  const PlanSource source = from_yaml(
      "trainer:\n  devices: 8\n  num_nodes: 1\n  precision: bf16\nmodel:\n"
      "  mcore_gpt: true\n  micro_batch_size: 1\n  moe_grouped_gemm: true\n"
      "  moe_aux_loss_coeff: 0.01\n  moe_pad_expert_input_to_capacity: true\n"
      "  moe_expert_capacity_factor: 1.0\n  moe_permute_fusion: true\n");
  CHECK(word(words_of(source), "experts") == "grouped_mm");
  CHECK(word(words_of(source), "moe-capacity-factor") == "1.0");
  CHECK(fate_of(source, "model.moe_aux_loss_coeff") == KeyFate::no_effect);
  CHECK(fate_of(source, "model.moe_permute_fusion") == KeyFate::not_supported);
}

TEST_CASE("programs: a file that runs commands is no configuration of accelerate",
          "[plan][sources][programs]") {
  CHECK_THROWS_AS(from_yaml("type: task\nname: train\ncommands:\n  - python train.py\n"),
                  InputError);
}

TEST_CASE("programs: a key that stands twice is what it is for the program", "[plan][programs]") {
  using Catch::Matchers::Contains;
  const auto from_json = [](std::string_view text) {
    return plan_of_settings(read_json_settings(text, "ds.json"), "ds.json");
  };
  // deepspeed runtime/config_utils.py dict_raise_error_on_duplicate_keys()
  CHECK_THROWS_WITH(
      from_json(R"({"train_micro_batch_size_per_gpu": 1,
                    "zero_optimization": {"stage": 1, "stage": 3}})"),
      Contains("ds.json: zero_optimization.stage: this key stands twice, and deepspeed refuses") &&
          Contains("Duplicate keys in DeepSpeed config") && Contains("leave one of them out"));
  // omegaconf/_utils.py get_yaml_loader()
  CHECK_THROWS_WITH(from_yaml("model:\n  _component_: torchtune.models.llama3.llama3_8b\n"
                              "batch_size: 2\nbatch_size: 4\n"),
                    Contains("a.yaml: line 4: batch_size: this key stands twice, and torchtune"));
  // axolotl reads its file with yaml.safe_load()
  const PlanSource axolotl =
      from_yaml("base_model: gpt2\nmicro_batch_size: 2\nsequence_len: 64\nmicro_batch_size: 4\n");
  CHECK(word(words_of(axolotl), "batch") == "4");
  const auto first = std::ranges::find(axolotl.keys, "micro_batch_size", &SourceKey::key);
  REQUIRE(first != axolotl.keys.end());
  CHECK(first->fate == KeyFate::no_effect);
  CHECK(first->meaning == "given again further down");
}

// Alongoodall/SIDReasoner scripts/sft_Qwen3_ablation.sh: four GPUs were one.
TEST_CASE("programs: torchrun behind a variable of another file is known by its option",
          "[plan][sources][programs]") {
  const PlanSource source = from_line(
      "${TORCHRUN_CMD} --master_port 9 --nproc_per_node 4 own.py --base_model gpt2 --output_dir a "
      "--per_device_train_batch_size 1 --learning_rate 1e-4");
  CHECK(word(words_of(source), "dp") == "4");
}
