// Configurations and launch lines around transformers' Trainer as plans.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/source_words.hpp"
#include "traces/error.hpp"
#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/launch_line.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

PlanSource of_yaml(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "x.yaml"), "x.yaml");
}

PlanSource of_json(const std::string& text) {
  return plan_of_settings(read_json_settings(text, "x.json"), "x.json");
}

PlanSource of_line(const std::string& text) {
  return plan_of_launch(read_launch_line(text, "x.sh"), "x.sh");
}

/// What is left of a source's option when all sources have been put together.
std::string combined_word(const PlanSource& source, std::string_view option) {
  const OptionWords words = combined_words({&source, 1}, {});
  const std::string* const found = find_word(words, option);
  return found == nullptr ? "-" : *found;
}

std::string fate_of(const PlanSource& source, std::string_view key) {
  std::string fates;
  for (const SourceKey& row : source.keys) {
    if (row.key == key) {
      fates += (fates.empty() ? "" : "; ") + std::string(to_string(row.fate));
    }
  }
  return fates;
}

}  // namespace

TEST_CASE("launch lines: arguments of a script have no options, other variables may",
          "[plan][sources]") {
  const PlanSource plan = of_line(
      "torchrun run_clm.py --model_name_or_path gpt2 --bf16 \\ \n --fp16 false \"$@\" ${ARGS[@]}");
  CHECK(fate_of(plan, "argument") == "no effect; not supported");
  CHECK(fate_of(plan, "(line)") == "not supported");
  CHECK(fate_of(of_line("torchrun run_clm.py --model_name_or_path $MODEL --bf16 ${EXTRA_ARGS}"),
                "argument") == "not supported");
}

TEST_CASE("trainer: a launch line of run_clm.py", "[plan][sources]") {
  const PlanSource plan = of_line(
      "torchrun --nproc_per_node 4 run_clm.py --model_name_or_path gpt2 --bf16 --block_size 512 "
      "--gradient_accumulation_steps 2 --optim adamw_torch --gradient_checkpointing "
      "--gradient_checkpointing_kwargs '{\"use_reentrant\": true}' --learning_rate 1e-4");
  CHECK(test::source_words(plan, {"framework", "model", "gpus", "precision", "batch", "seq",
                                  "grad-accum"}) == "trainer gpt2 4 amp-bf16 8 512 2");
  CHECK(test::source_words(plan, {"checkpoint", "checkpoint-impl", "optimizer",
                                  "optimizer-impl"}) == "full reentrant adamw default");
  CHECK(fate_of(plan, "learning_rate") == "no effect");
}

TEST_CASE("trainer: weights come in the checkpoint's type since transformers 5",
          "[plan][sources]") {
  const std::string line = "python run_clm.py --model_name_or_path meta-llama/Llama-3.2-1B --bf16";
  CHECK(test::source_words(of_line(line), {"precision"}) == "bf16+amp");
  CHECK(test::source_words(of_line(line + " --dtype float32"), {"precision"}) == "amp-bf16");
  CHECK(test::source_words(of_line(line + " --evaluation_strategy no"), {"precision"}) ==
        "amp-bf16");
}

TEST_CASE("trainer: FSDP is its second version unless the line is of transformers 4",
          "[plan][sources]") {
  const std::string line = "torchrun --nproc_per_node 8 train.py --model_name_or_path gpt2 --bf16 ";
  CHECK(test::source_words(of_line(line + "--fsdp shard_grad_op"),
                           {"dp-kind", "reshard", "precision"}) == "fsdp2 never amp-bf16");
  CHECK(test::source_words(of_line(line + "--fsdp \"full_shard auto_wrap offload\" "
                                          "--fsdp_transformer_layer_cls_to_wrap GPT2Block"),
                           {"dp-kind", "strategy", "offload"}) == "fsdp1 full_shard both");
}

// LLaVA-VL/LLaVA-NeXT, scripts/train/finetune_si.sh.
TEST_CASE("trainer: a vision tower beside the model is refused", "[plan][sources]") {
  const std::string line =
      "torchrun train_mem.py --model_name_or_path lmsys/vicuna-7b-v1.5 --bf16 --vision_tower ";
  CHECK_THROWS_WITH(of_line(line + "openai/clip-vit-large-patch14-336"), Contains("vision_tower"));
  CHECK(test::source_words(of_line(line + "none"), {"model"}) == "lmsys/vicuna-7b-v1.5");
}

TEST_CASE("trainer: words without a name do not tell whose they are", "[plan][sources]") {
  CHECK(find_program(read_launch_line("accelerate launch src/train.py x.yaml", "x.sh")) == nullptr);
}

TEST_CASE("trl: supervised fine-tuning, with TRL's own defaults", "[plan][sources]") {
  const PlanSource plan = of_line(
      "accelerate launch --num_processes 2 sft.py --model_name_or_path Qwen/Qwen2-0.5B --use_peft "
      "--lora_target_modules all-linear --dtype bfloat16 --bf16 --max_length 2048");
  CHECK(test::source_words(plan,
                           {"framework", "gpus", "lora", "lora-dropout", "lora-targets", "seq"}) ==
        "trl-sft 2 16 0.05 q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj 2048");
  CHECK(test::source_words(plan, {"precision", "checkpoint", "batch"}) == "bf16+amp full 8");
}

TEST_CASE("trl: bf16 unless fp16, and strategies by name", "[plan][sources]") {
  const std::string line = "trl sft --model_name_or_path gpt2 ";
  CHECK(test::source_words(of_line(line), {"precision", "gpus"}) == "amp-bf16 -");
  CHECK(test::source_words(of_line(line + "--fp16 --accelerate_config fsdp2 --num_processes 4"),
                           {"precision", "dp-kind", "gpus"}) == "amp-fp16 fsdp2 4");
  CHECK(test::source_words(of_line(line + "--no_gradient_checkpointing"), {"checkpoint"}) ==
        "none");
}

TEST_CASE("trl: other trainers are refused", "[plan][sources]") {
  CHECK_THROWS_WITH(of_yaml("model_name_or_path: gpt2\nbeta: 0.1\nmax_prompt_length: 512\n"),
                    Contains("beta") && Contains("another trainer"));
}

TEST_CASE("accelerate: strategies of its file", "[plan][sources]") {
  const std::string head = "compute_environment: LOCAL_MACHINE\nnum_processes: 8\n";
  CHECK(test::source_words(
            of_yaml(head + "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n"
                           "  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n"
                           "  fsdp_cpu_ram_efficient_loading: true\n"),
            {"framework", "gpus", "dp-kind", "precision", "reshard", "init"}) ==
        "accelerate-fsdp2 8 fsdp2 amp-bf16 never meta");
  CHECK(test::source_words(
            of_yaml(head + "distributed_type: FSDP\nfsdp_config:\n"
                           "  fsdp_sharding_strategy: 2\n  fsdp_backward_prefetch: BACKWARD_PRE\n"),
            {"dp-kind", "strategy", "backward-prefetch"}) == "fsdp1 shard_grad_op pre");
  CHECK(test::source_words(
            of_yaml(head + "distributed_type: DEEPSPEED\nmixed_precision: fp16\n"
                           "deepspeed_config:\n  zero_stage: 3\n  offload_param_device: cpu\n"
                           "  offload_optimizer_device: cpu\n  zero3_init_flag: true\n"),
            {"framework", "dp-kind", "precision", "offload", "zero-init"}) ==
        "deepspeed zero3 fp16 both true");
}

// accelerate 1.15, utils/fsdp_utils.py fsdp2_prepare_model: fp32 of what is trained.
TEST_CASE("accelerate: frozen weights that FSDP shards keep their type", "[plan][sources]") {
  const std::string line =
      "accelerate launch --use_fsdp --fsdp_version 2 --num_processes 8 sft.py --model_name_or_path "
      "Qwen/Qwen2-0.5B --dtype bfloat16 --bf16 --max_length 512 ";
  CHECK(combined_word(of_line(line + "--use_peft"), "precision") == "bf16+amp");
  CHECK(combined_word(of_line(line), "precision") != "bf16+amp");
  const std::string axolotl =
      "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 512\nmicro_batch_size: 1\n"
      "fsdp_version: 2\nfsdp_config:\n  offload_params: false\n";
  CHECK(test::source_word(of_yaml(axolotl + "adapter: lora\nlora_r: 8\n"), "precision") ==
        "bf16+amp");
  CHECK(test::source_word(of_yaml(axolotl), "precision") == "amp-bf16");
}

TEST_CASE("accelerate: quantised models under zero.Init() and efficient loading",
          "[plan][sources]") {
  const std::string line = "accelerate launch --num_processes 8 ";
  const std::string script =
      "sft.py --model_name_or_path Qwen/Qwen2-0.5B --use_peft --load_in_4bit --max_length 512";
  const PlanSource zero3 =
      of_line(line + "--use_deepspeed --zero_stage 3 --zero3_init_flag true " + script);
  CHECK(combined_word(zero3, "dp-kind") == "zero3");
  CHECK(combined_word(zero3, "zero-init") == "-");
  const PlanSource sharded =
      of_line(line + "--use_fsdp --fsdp_version 2 --fsdp_cpu_ram_efficient_loading true " + script);
  CHECK(combined_word(sharded, "init") == "-");
  // axolotl 0.19, loaders/model.py _build_model: device_map "cpu" or "meta".
  const PlanSource axolotl = of_yaml(
      "base_model: NousResearch/Llama-2-7b-hf\nadapter: qlora\nload_in_4bit: true\nlora_r: 16\n"
      "sequence_len: 2048\nmicro_batch_size: 1\nfsdp_version: 2\n"
      "fsdp_config:\n  cpu_ram_efficient_loading: true\n");
  CHECK(combined_word(axolotl, "dp-kind") == "fsdp2");
  CHECK(combined_word(axolotl, "init") == "meta");
}

TEST_CASE("deepspeed: its file", "[plan][sources]") {
  const PlanSource plan = of_json(
      R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
          "gradient_accumulation_steps": 2, "bf16": {"enabled": true},
          "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
          "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e7, "sub_group_size": 1e9,
            "offload_optimizer": {"device": "nvme"}, "stage3_prefetch_bucket_size": "auto"}})");
  CHECK(test::source_words(plan, {"framework", "dp-kind", "dp", "batch", "grad-accum",
                                  "precision"}) == "deepspeed zero3 8 4 2 bf16");
  CHECK(test::source_words(plan, {"reduce-bucket-size", "sub-group-size", "offload",
                                  "optimizer-impl", "grad-clip"}) ==
        "50000000 1000000000 optimizer fused 1.0");
  CHECK(fate_of(plan, "zero_optimization.stage3_prefetch_bucket_size") == "not supported");
}

TEST_CASE("deepspeed: a program fills in what its file leaves open", "[plan][sources]") {
  const PlanSource plan = of_line(
      "deepspeed --num_gpus 4 --num_nodes 2 run_clm.py --model_name_or_path gpt2 --fp16 "
      "--deepspeed '{\"fp16\": {\"enabled\": \"auto\"}, \"zero_optimization\": {\"stage\": 3, "
      "\"reduce_bucket_size\": \"auto\", \"stage3_prefetch_bucket_size\": \"auto\", "
      "\"stage3_param_persistence_threshold\": \"auto\"}}'");
  CHECK(test::source_words(plan, {"framework", "gpus", "dp-kind", "precision", "zero-init"}) ==
        "trainer 8 zero3 fp16 true");
  CHECK(test::source_words(plan, {"reduce-bucket-size", "prefetch-bucket-size",
                                  "param-persistence-threshold"}) == "589824 530841 7680");
}

TEST_CASE("axolotl: a file of LoRA and one of FSDP", "[plan][sources]") {
  const PlanSource lora = of_yaml(
      "base_model: NousResearch/Llama-2-7b-hf\nadapter: lora\nlora_r: 32\nlora_target_linear: "
      "true\n"
      "sequence_len: 4096\nmicro_batch_size: 2\noptimizer: adamw_bnb_8bit\nflash_attention: true\n"
      "gradient_checkpointing: true\nwandb_project:\n");
  CHECK(test::source_words(
            lora, {"model", "lora", "seq", "batch", "optimizer", "precision", "attention"}) ==
        "llama-2-7b 32 4096 2 adamw-8bit bf16+amp sdpa-flash");
  CHECK(fate_of(lora, "flash_attention") == "used; not supported");
  const PlanSource sharded = of_yaml(
      "base_model: Qwen/Qwen2.5-0.5B\nsequence_len: 512\nmicro_batch_size: 1\nfsdp_version: 2\n"
      "fsdp_config:\n  offload_params: true\n  reshard_after_forward: true\n");
  CHECK(test::source_words(sharded, {"dp-kind", "offload", "reshard", "precision"}) ==
        "fsdp2 both always amp-bf16");
  CHECK_THROWS_WITH(of_yaml("base_model: gpt2\nsequence_len: 512\nrl: dpo\n"),
                    Contains("rl dpo") && Contains("another trainer"));
  CHECK_THROWS_WITH(of_yaml("base_model: gpt2\nsequence_len: 512\nhatchery:\n  backend: tinker\n"),
                    Contains("hatchery.backend tinker") && Contains("another trainer"));
}

TEST_CASE("llamafactory: both versions of its file", "[plan][sources]") {
  const PlanSource plan = of_yaml(
      "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\ndo_train: true\n"
      "finetuning_type: lora\nlora_rank: 16\ntemplate: llama3\ncutoff_len: 1024\nbf16: true\n"
      "per_device_train_batch_size: 1\n");
  CHECK(test::source_words(plan, {"model", "framework", "lora", "seq", "batch", "precision",
                                  "checkpoint", "checkpoint-impl"}) ==
        "meta-llama/Meta-Llama-3-8B-Instruct trainer 16 1024 1 bf16+amp full reentrant");
  const PlanSource second = of_yaml(
      "model: Qwen/Qwen3-0.6B\nmodel_class: llm\ndist_config:\n  name: fsdp2\n"
      "train_dataset: x.yaml\nmicro_batch_size: 2\ncutoff_len: 256\n");
  CHECK(test::source_words(second, {"framework", "dp-kind", "batch", "seq", "precision"}) ==
        "hf fsdp2 2 256 bf16");
  CHECK_THROWS_WITH(of_yaml("model_name_or_path: gpt2\nstage: dpo\ntemplate: x\ncutoff_len: 8\n"),
                    Contains("stage dpo"));
}

TEST_CASE("flash attention of another package: PyTorch's where the model has it",
          "[plan][sources]") {
  const auto attention = [](const std::string& model) {
    return test::source_words(
        of_line("trl sft --attn_implementation flash_attention_2 --model_name_or_path " + model),
        {"attention"});
  };
  CHECK(attention("Qwen/Qwen3-0.6B") == "sdpa-flash");
  CHECK(attention("google/gemma-2-9b") == "eager");                // no SDPA
  CHECK(attention("microsoft/Phi-3-mini-4k-instruct") == "sdpa");  // a window
}

TEST_CASE("quantised weights: each program's keys and its own defaults", "[plan][sources]") {
  const std::initializer_list<std::string_view> options{"quantize", "double-quant", "quant-storage",
                                                        "quant-compute-dtype", "prepare-kbit"};
  const std::string trl = "trl sft --model_name_or_path gpt2 --use_peft --load_in_4bit ";
  // trainer/model_config.py: nf4, one quantisation, dtype float32.
  CHECK(test::source_words(of_line(trl), options) == "nf4 - - fp32 -");
  CHECK(test::source_words(of_line(trl + "--torch_dtype bfloat16"), {"quant-compute-dtype"}) ==
        "bf16");
  CHECK(test::source_words(
            of_line(trl + "--dtype bfloat16 --use_bnb_nested_quant --bnb_4bit_quant_type fp4 "
                          "--bnb_4bit_quant_storage bfloat16"),
            options) == "fp4 true bf16 bf16 -");
  CHECK(test::source_words(
            of_line("trl sft --model_name_or_path gpt2 --use_peft --load_in_8bit --use_dora true"),
            {"quantize", "dora", "quant-compute-dtype"}) == "int8 true -");
  // loaders/model.py: doubly quantised, kept in bf16.
  const std::string axolotl =
      "base_model: NousResearch/Llama-2-7b-hf\nadapter: qlora\nlora_r: 32\nload_in_4bit: true\n";
  CHECK(test::source_words(of_yaml(axolotl), options) == "nf4 true bf16 - false");
  CHECK(test::source_words(
            of_yaml(axolotl + "bnb_config_kwargs:\n  bnb_4bit_use_double_quant: false\n"),
            {"double-quant"}) == "false");
  // model/model_utils/quantization.py: the compute type is the storage's, too.
  const std::string factory =
      "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: sft\nfinetuning_type: lora\n"
      "lora_target: all\nbf16: true\n";
  CHECK(test::source_words(of_yaml(factory + "quantization_bit: 4\n"), options) ==
        "nf4 true bf16 - false");
  CHECK(test::source_words(of_yaml(factory + "quantization_bit: 8\n"),
                           {"quantize", "double-quant"}) == "int8 -");
  CHECK(fate_of(of_yaml(factory + "quantization_bit: 4\nquantization_method: hqq\n"),
                "quantization_bit") == "not supported");
}

TEST_CASE("trainer: people's own scripts around it", "[plan][sources]") {
  const PlanSource own = of_line(
      "accelerate launch train.py --model_id HuggingFaceTB/SmolLM2-1.7B --max_seq_length 2048 "
      "--micro_batch_size 1 --gradient_accumulation_steps 8");
  CHECK(test::source_words(own, {"model", "seq", "batch"}) == "HuggingFaceTB/SmolLM2-1.7B 2048 1");
  const PlanSource adapters = of_line(
      "deepspeed fastchat/train/train_lora.py --model_name_or_path lmsys/vicuna-7b-v1.5 "
      "--lora_r 8 --lora_dropout 0.05 --per_device_train_batch_size 2");
  CHECK(test::source_words(adapters, {"lora", "lora-dropout"}) == "8 0.05");
  const PlanSource switched_off =
      of_line("torchrun finetune.py --model_name_or_path gpt2 --use_lora False --lora_r 8 --bf16");
  CHECK(test::source_word(switched_off, "lora") == "-");
}

TEST_CASE("trainer: the launcher behind a submitting script counts", "[plan][sources]") {
  const LaunchLine line = read_launch_line(
      "python mason.py --cluster a --gpus 8 -- accelerate launch --num_processes 4 "
      "open_instruct/finetune.py --model_name_or_path gpt2 --learning_rate 1e-5",
      "x.sh");
  CHECK(line.program == "finetune.py");
  CHECK(line.launcher == "accelerate");
  CHECK(line.launcher_options.text("num_processes") == "4");
}

TEST_CASE("deepspeed: stage 0 reads none of ZeRO's keys", "[plan][sources]") {
  const PlanSource plan = of_json(
      R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true, "loss_scale": 0},
          "zero_optimization": {"stage": 0, "reduce_bucket_size": 500000, "overlap_comm": true,
                                "offload_optimizer": {"device": "cpu"}}})");
  CHECK(test::source_words(plan, {"dp-kind", "reduce-bucket-size", "overlap-comm", "offload"}) ==
        "zero0 - - -");
  CHECK(fate_of(plan, "zero_optimization.reduce_bucket_size") == "no effect");
  CHECK(fate_of(plan, "bf16.loss_scale") == "no effect");
}

TEST_CASE("llamafactory: files of chat and export train nothing", "[plan][sources]") {
  const std::string model = "model_name_or_path: Qwen/Qwen3-4B\ntemplate: qwen3\n";
  CHECK_THROWS_WITH(of_yaml(model + "infer_backend: huggingface\n"), Contains("trains nothing"));
  CHECK_THROWS_WITH(of_yaml(model + "export_dir: out\nexport_size: 5\n"), Contains("export_dir"));
  CHECK(test::source_word(
            of_yaml(model + "export_dir: out\nstage: sft\ndo_train: true\ncutoff_len: 512\n"),
            "seq") == "512");
}

// artidoro/qlora of July 2023, qlora.py: defaults of its arguments, and a row of source and target.
TEST_CASE("qlora.py: adapters of every layer over NF4, by its own defaults", "[plan][sources]") {
  const PlanSource plan = of_line(
      "python qlora.py --model_name_or_path huggyllama/llama-7b --bf16 --source_max_len 16 "
      "--target_max_len 512");
  CHECK(test::source_words(plan, {"model", "precision", "seq", "batch", "grad-accum",
                                  "grad-clip"}) == "huggyllama/llama-7b bf16+amp 528 1 16 0.3");
  CHECK(test::source_words(
            plan, {"quantize", "double-quant", "quant-compute-dtype", "lora", "lora-targets"}) ==
        "nf4 true bf16 64 q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj");
  CHECK(test::source_words(plan, {"optimizer", "checkpoint", "framework"}) ==
        "paged-adamw-32bit full trainer");
  const PlanSource whole = of_line(
      "python qlora.py --model_name_or_path gpt2 --bits 16 --full_finetune --source_max_len 256");
  CHECK(test::source_words(whole, {"quantize", "lora", "seq", "double-quant"}) == "- - 512 -");
}

TEST_CASE("trainer: what people call the same in scripts of their own", "[plan][sources]") {
  const PlanSource plan = of_line(
      "python train.py --model_name_or_path meta-llama/Llama-2-7b-hf --use_peft "
      "--target_modules q_proj k_proj --lora_rank 16 --load_in_bits 4 --double_quant True "
      "--max_seq_len 2048 --per_device_train_batch_size 1 --train_file_dir data");
  CHECK(test::source_words(plan, {"lora", "lora-targets", "quantize", "double-quant", "seq"}) ==
        "16 q_proj,k_proj nf4 true 2048");
  CHECK(fate_of(plan, "train_file_dir") == "no effect");
}

// transformers 5.23 modeling_utils.py: dtype "auto" is the checkpoint's, whatever training runs in.
TEST_CASE("trainer: autocast over 16-bit weights of another type is simulated as the nearest",
          "[plan][sources]") {
  const PlanSource plan = of_line("python run_clm.py --model_name_or_path Qwen/Qwen2.5-7B --fp16");
  CHECK(test::source_words(plan, {"precision"}) == "bf16+amp");
  CHECK(fate_of(plan, "fp16") == "used; not supported");
  CHECK(test::source_words(
            of_line("python run_clm.py --model_name_or_path meta-llama/Llama-2-7b-hf --fp16"),
            {"precision"}) == "bf16+amp");  // fp16 over fp16: the same sizes
}

// transformers 5.23, trainer_optimizer.py: optim_args and optim_target_modules.
TEST_CASE("trainer: GaLore's and APOLLO's rank and targets", "[plan][sources]") {
  const PlanSource plan = of_line(
      "python run_clm.py --model_name_or_path gpt2 --optim galore_adamw --optim_target_modules "
      "all-linear --optim_args 'rank=64, update_proj_gap=100, scale=0.10'");
  CHECK(test::source_words(plan, {"optimizer", "optimizer-rank"}) == "galore-adamw 64");
  CHECK(fate_of(plan, "optim_target_modules") == "no effect");
  const PlanSource some = of_line(
      "python run_clm.py --model_name_or_path gpt2 --optim apollo_adamw --optim_target_modules "
      "attn");
  CHECK(fate_of(some, "optim_target_modules") == "not supported");
  CHECK(fate_of(of_line("python run_clm.py --model_name_or_path gpt2 --optim_args a=1"),
                "optim_args") == "not supported");
}

// LLaMA-Factory, train/trainer_utils.py _create_galore_optimizer and _create_apollo_optimizer;
// hparams/finetuning_args.py: a rank of 16; hparams/parser.py: weights in the type of training.
TEST_CASE("llamafactory: optimizers of its own", "[plan][sources]") {
  const std::string head =
      "stage: sft\nfinetuning_type: full\nmodel_name_or_path: meta-llama/Llama-3.1-8B\n";
  const PlanSource galore = of_yaml(head +
                                    "use_galore: true\ngalore_layerwise: true\n"
                                    "galore_rank: 128\noptim: adamw_8bit\n");
  CHECK(test::source_words(galore, {"optimizer", "optimizer-rank", "optimizer-in-backward"}) ==
        "galore-adamw-8bit 128 true");
  CHECK(test::source_words(of_yaml(head + "use_apollo: true\n"), {"optimizer", "optimizer-rank"}) ==
        "apollo-adamw 16");
  CHECK(test::source_words(of_yaml(head + "use_muon: true\n"), {"optimizer"}) == "muon");
  CHECK(test::source_words(
            of_yaml("stage: sft\nmodel_name_or_path: meta-llama/Llama-2-7b-hf\nbf16: true\n"),
            {"precision"}) == "bf16+amp");
}

// TRL 1.7 (pull request 5846) was the first without logits unless told.
TEST_CASE("trl: the loss is that of the release that the keys are of", "[plan][sources]") {
  CHECK(test::source_words(of_line("trl sft --model_name_or_path gpt2 --max_length 512"),
                           {"loss"}) == "-");
  const PlanSource older =
      of_line("python sft.py --model_name meta-llama/Llama-2-7b-hf --max_seq_length 512");
  CHECK(test::source_words(older, {"model", "seq", "loss"}) == "meta-llama/Llama-2-7b-hf 512 hf");
}

TEST_CASE("trl: a script that is called after another trainer is refused, whatever its options",
          "[plan][sources]") {
  const std::string options =
      " --model_name_or_path gpt2 --per_device_train_batch_size 1 --learning_rate 1 --max_steps 1 "
      "--logging_steps 1 --save_steps 1 --bf16 --warmup_steps 1 --output_dir x --seed 1 "
      "--gradient_checkpointing --weight_decay 0 --report_to none";
  CHECK_THROWS_WITH(of_line("python dpo_training.py" + options), Contains("another trainer"));
  CHECK_THROWS_WITH(of_line("python scripts/run_dpo.py" + options), Contains("another trainer"));
}

// The hub's config.json of each; Unsloth's copies have a quantization_config of their own.
TEST_CASE("hub: names of copies and tunings lead to the sizes that they have", "[plan][sources]") {
  const auto model_of = [](const std::string& name) {
    return test::source_word(of_line("python run_clm.py --model_name_or_path " + name), "model");
  };
  CHECK(model_of("allenai/OLMo-2-1124-7B-SFT") == "olmo-2-7b");
  CHECK(model_of("allenai/Llama-3.1-Tulu-3-8B-SFT") == "llama-3.1-tulu-3-8b");
  CHECK(model_of("google/gemma-3-4b-pt") == "gemma-3-4b");
  CHECK(model_of("deepseek-ai/deepseek-math-7b-base") == "deepseek-llm-7b");
  CHECK(model_of("Qwen/Qwen1.5-7B-Chat") == "qwen1.5-7b");
  CHECK(model_of("bigcode/starcoderbase") == "starcoder");
  const PlanSource unsloth =
      of_line("python run_clm.py --model_name_or_path unsloth/Meta-Llama-3.1-8B-bnb-4bit");
  CHECK(test::source_words(unsloth, {"model", "quantize", "double-quant"}) ==
        "llama-3.1-8b nf4 true");
}

// DeepSpeedExamples, applications/DeepSpeed-Chat/training: main.py of each step.
TEST_CASE("deepspeed-chat: without ZeRO it has none of its options, and later steps are refused",
          "[plan][sources]") {
  const std::string line =
      "deepspeed main.py --model_name_or_path facebook/opt-350m --data_split 2,4,4 "
      "--per_device_train_batch_size 2 --max_seq_len 512 --offload --zero_stage ";
  CHECK(test::source_words(of_line(line + "0"), {"overlap-comm", "offload"}) == "- -");
  CHECK(test::source_words(of_line(line + "2"), {"overlap-comm", "offload"}) == "true optimizer");
  CHECK_THROWS_WITH(of_line(line + "2 --num_padding_at_beginning 0"), Contains("another trainer"));
}

// TrainingArguments.to_json_string() writes every argument, off or not.
TEST_CASE("trainer: numbers of JSON that are off", "[plan][sources]") {
  const PlanSource plan =
      of_json(R"({"model_name_or_path": "gpt2", "per_device_train_batch_size": 4,
                  "label_smoothing_factor": 0.0, "max_grad_norm": 0.0, "optim": "adamw_torch"})");
  CHECK(fate_of(plan, "label_smoothing_factor") == "no effect");
  CHECK(test::source_words(plan, {"grad-clip"}) == "none");
}

TEST_CASE("trl: a line of TRL 0 has the defaults of its time", "[plan][sources]") {
  // trl 0.16 trainer/sft_config.py: neither bf16 nor gradient_checkpointing is set there.
  const std::string line =
      "python sft.py --model_name_or_path gpt2 --max_seq_length 1024 "
      "--per_device_train_batch_size 4 ";
  const PlanSource old = of_line(line + "--evaluation_strategy steps");
  CHECK(test::source_words(old, {"precision", "checkpoint", "seq", "loss"}) == "fp32 none 1024 hf");
  CHECK(test::source_words(old, {"torch", "transformers"}) == "2.6 4.50");
  CHECK_FALSE(old.earlier);
  const PlanSource now = of_line("python sft.py --model_name_or_path gpt2 --max_length 1024");
  CHECK(test::source_words(now, {"precision", "checkpoint", "seq", "loss"}) ==
        "amp-bf16 full 1024 -");
  CHECK(test::source_words(now, {"torch", "transformers"}) == "- -");
}

TEST_CASE("trl: where earlier releases have other defaults, both readings are there",
          "[plan][sources]") {
  // bf16 is on since TRL 0.19, the last release with max_seq_length.
  const PlanSource line = of_line("trl sft --model_name_or_path gpt2 --max_seq_length 512");
  CHECK(test::source_words(line, {"precision", "checkpoint"}) == "amp-bf16 none");
  REQUIRE(line.earlier);
  CHECK(line.earlier->releases == "trl before 0.19");
  const PlanSource earlier{.words = line.earlier->words, .defaults = line.earlier->defaults};
  CHECK(test::source_words(earlier, {"precision", "checkpoint"}) == "fp32 none");
  CHECK_FALSE(of_line("trl sft --model_name_or_path gpt2 --max_seq_length 512 --bf16").earlier);
}

TEST_CASE("trl: nll makes no logits since 1.15", "[plan][sources]") {
  const std::string line = "trl sft --model_name_or_path gpt2 --loss_type nll ";
  CHECK(test::source_word(of_line(line), "loss") == "-");
  CHECK(test::source_word(of_line(line + "--exp_name x"), "loss") == "hf");  // of 0.27 or before
}

TEST_CASE("trainer: keys of transformers 5 do not make a file one of transformers 4",
          "[plan][sources]") {
  const std::string line = "torchrun run_clm.py --model_name_or_path gpt2 --block_size 64 ";
  CHECK(test::source_words(of_line(line + "--warmup_ratio 0.1"), {"torch", "transformers"}) ==
        "2.13 5.14");
  CHECK(test::source_words(of_line(line + "--no_cuda false"), {"transformers"}) == "4.57");
}

TEST_CASE("trainer: evaluation is simulated, and counts where it is not and takes more sequences",
          "[plan][sources]") {
  const std::string line = "torchrun run_clm.py --model_name_or_path gpt2 --eval_strategy steps ";
  const auto key_of = [&](const std::string& more) {
    const PlanSource plan = of_line(line + more);
    return *std::ranges::find(plan.keys, "eval_strategy", &SourceKey::key);
  };
  CHECK(key_of("").meaning == "--eval-batch 8");
  CHECK(key_of("").lacks == "eval-batch");
  CHECK(key_of("").sign == MemorySign::little);  // 8 and 8
  CHECK(key_of("--per_device_train_batch_size 2").sign == MemorySign::more);
  CHECK(key_of("--per_device_train_batch_size 2 --per_device_eval_batch_size 2").sign ==
        MemorySign::little);
  CHECK(test::source_words(of_line(line + "--eval_accumulation_steps 4"),
                           {"eval-accumulation-steps"}) == "4");
  CHECK(fate_of(of_line("torchrun run_clm.py --model_name_or_path gpt2 --eval_strategy no"),
                "eval_strategy") == "no effect");
}

// What goes with one GPU and DDP only leaves other plans, as Trainer's loss leaves those of TRL.
TEST_CASE("trainer: evaluation and smoothed labels leave plans that lack them", "[plan][sources]") {
  const auto words_of = [](const std::string& line) {
    const std::vector<PlanSource> sources{of_line(line)};
    return combined_words(sources, {});
  };
  const std::string line =
      "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --eval_strategy steps "
      "--label_smoothing_factor 0.1 ";
  CHECK(find_word(words_of(line), "eval-batch") != nullptr);
  CHECK(find_word(words_of(line), "label-smoothing") != nullptr);
  CHECK(find_word(words_of(line + "--fsdp full_shard"), "eval-batch") == nullptr);
  const std::string sft =
      "trl sft --model_name_or_path gpt2 --eval_strategy steps "
      "--label_smoothing_factor 0.1";
  CHECK(find_word(words_of(sft), "eval-batch") == nullptr);
  CHECK(find_word(words_of(sft), "label-smoothing") == nullptr);
}
