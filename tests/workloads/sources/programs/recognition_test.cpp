// Whose a file is: least share, marks, and models that a file names by a key of nobody.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/source_words.hpp"
#include "traces/error.hpp"
#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

PlanSource of_yaml(const std::string& text) {
  return plan_of_settings(read_yaml_settings(text, "x.yaml"), "x.yaml");
}

PlanSource of_toml(const std::string& text) {
  return plan_of_settings(read_toml_settings(text, "x.toml"), "x.toml");
}

PlanSource of_line(const std::string& text) {
  return plan_of_launch(read_launch_line(text, "x.sh"), "x.sh");
}

const std::string* model_of(const PlanSource& source) {
  const std::string* const word = find_word(source.words, "model");
  return word == nullptr ? find_word(source.defaults, "model") : word;
}

}  // namespace

TEST_CASE("recognition: a file with words of torchtitan is not torchtitan's", "[plan][programs]") {
  CHECK_THROWS_WITH(of_yaml("base:\n  checkpoint_path: Qwen/Qwen3-32B\n"
                            "training:\n  steps: 100\n  seq_len: 4096\n  num_gpus: 8\n"
                            "metrics:\n  enable_wandb: true\n"),
                    Contains("x.yaml"));
  CHECK_THROWS_WITH(of_yaml("trainer:\n  steps: 100\n  run_dir: a\nnetwork:\n  width: 3\n"
                            "training:\n  steps: 3\n  dataset: c4\n"),
                    Contains("x.yaml"));
}

TEST_CASE("recognition: less than half of known keys is nobody's file", "[plan][programs]") {
  CHECK_THROWS_WITH(of_yaml("learning_rate: 1e-4\nper_device_train_batch_size: 4\n"
                            "backbone: vit\nheads: 3\nclasses: 7\nstride: 2\n"),
                    Contains("2 of its 6 keys") && Contains("backbone"));
  CHECK(find_word(of_yaml("learning_rate: 1e-4\nper_device_train_batch_size: 4\nclasses: 7\n"
                          "model_name_or_path: gpt2\n")
                      .words,
                  "batch") != nullptr);
}

// oumi's keys are found by sections; a script of somebody else's may have the same ones.
TEST_CASE("recognition: sections that nobody knows make a file nobody's", "[plan][programs]") {
  const std::string known =
      "model:\n  model_name: gpt2\ndata:\n  train_path: a\n  eval_path: b\n"
      "training:\n  per_device_train_batch_size: 1\n  learning_rate: 1e-4\n  output_dir: out\n"
      "  optimizer: adamw_torch\n";
  CHECK(find_word(of_yaml(known).words, "batch") != nullptr);
  CHECK_THROWS_WITH(of_yaml(known + "chinese:\n  emoji: true\nsystem:\n  level: INFO\n"
                                    "multigpu:\n  backend: nccl\nhooks:\n  all: true\n"),
                    Contains("3 of its 7 sections") && Contains("chinese.emoji"));
  CHECK_THROWS_WITH(of_yaml(known + "lora:\n  r: 16\n"),
                    Contains("no key lora.r, which says that adapters are trained"));
}

// Megatron-LM, examples/finetune_mnli_distributed.sh
TEST_CASE("recognition: Megatron's tasks are no pretraining of GPT", "[plan][programs]") {
  const PlanSource source = of_line(
      "python -m torch.distributed.launch --nproc_per_node 8 ./tasks/main.py --task MNLI "
      "--tokenizer-type BertWordPieceLowerCase --num-layers 24 --hidden-size 1024 "
      "--num-attention-heads 16 --micro-batch-size 8 --seq-length 512 "
      "--max-position-embeddings 512 --fp16");
  CHECK(model_of(source) == nullptr);
  CHECK(std::ranges::any_of(source.keys, [](const SourceKey& key) {
    return key.key == "num-layers" && key.lacks == "model";
  }));
}

TEST_CASE("recognition: torchtitan's smallest model stands for no other", "[plan][programs]") {
  const std::string rest =
      "[training]\nsteps = 3\nlocal_batch_size = 1\n[job]\ndump_folder = 'a'\n";
  CHECK_THROWS_AS(of_toml(rest), InputError);
  CHECK(*model_of(of_toml("[model]\nname = 'llama3'\nflavor = '8B'\n" + rest)) == "llama-3-8b");
}

TEST_CASE("recognition: a model that only an unknown key names leaves no default in its place",
          "[plan][programs]") {
  const PlanSource source =
      of_line("python qlora.py --source_max_len 512 --hf_model meta-llama/Llama-2-7b --bits 4");
  CHECK(model_of(source) == nullptr);
  CHECK(source.keys.back().lacks == "model");
  CHECK_THAT(source.keys.back().meaning, Contains("qlora.py") && Contains("--model"));
  CHECK(*model_of(of_line("python qlora.py --source_max_len 512 --bits 4")) ==
        "EleutherAI/pythia-12b");
}

TEST_CASE("recognition: lines of programs that are refused are no other program's",
          "[plan][programs]") {
  CHECK_THROWS_WITH(
      of_line(
          "python3 -m verl.trainer.main_ppo data.train_files=a.parquet data.train_batch_size=64 "
          "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8 "
          "trainer.nnodes=1 trainer.total_epochs=3 algorithm.adv_estimator=grpo"),
      Contains("verl"));
  CHECK_THROWS_WITH(of_line("python3 main_dapo.py data.train_files=a.parquet "
                            "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.nnodes=1"),
                    Contains("verl"));
  CHECK_THROWS_WITH(of_line("colossalai run --nproc_per_node 8 main.py --batch_size 4 --lr 1e-4"),
                    Contains("colossalai"));
}

// Facico/Chinese-Vicuna: the script's own batch and 8 bits stand in its Python, so no default of
// TrainingArguments says what it takes.
TEST_CASE("recognition: a script of one's own says what TrainingArguments are given",
          "[plan][programs]") {
  const std::string line =
      "torchrun --nproc_per_node=2 finetune.py --data_path a.jsonl --output_path b "
      "--model_path yahma/llama-7b-hf --eval_steps 200 --save_steps 200 --test_size 1";
  CHECK_THROWS_WITH(of_line(line), Contains("finetune.py"));
  CHECK(
      *model_of(of_line(
          "torchrun --nproc_per_node=2 finetune.py --data_path a.jsonl --output_dir b "
          "--model_path yahma/llama-7b-hf --per_device_train_batch_size 4 --learning_rate 1e-4")) ==
      "llama-7b");
}

// simplescaling/s1, data/bulk_inference.sh: nothing is trained.
TEST_CASE("recognition: a line with nothing but a model name is not read as training",
          "[plan][programs]") {
  CHECK_THROWS_WITH(of_line("python bulk_inference.py --shard_index 3 --model_name "
                            "Qwen/Qwen2.5-7B-Instruct"),
                    Contains("bulk_inference.py"));
}

TEST_CASE("recognition: a script with a common name is a program's by its options",
          "[plan][programs]") {
  CHECK(find_program(read_launch_line(
            "torchrun main.py --width 3 --depth 4 --optimizer_name x --lr_peak 3", "x.sh")) ==
        nullptr);
  const Program* const chat = find_program(read_launch_line(
      "deepspeed main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 8 "
      "--max_seq_len 512 --zero_stage 2",
      "x.sh"));
  REQUIRE(chat != nullptr);
  CHECK(chat->name == "deepspeed-chat");
}

// transformers 5.24, examples/pytorch/translation: Trainer's own script, whatever else TRL knows.
TEST_CASE("recognition: transformers' translation script is not TRL's", "[plan][sources]") {
  const PlanSource plan = of_line(
      "torchrun --nproc_per_node 1 translation/run_translation.py --model_name_or_path t5-small "
      "--per_device_train_batch_size 1 --output_dir out --do_train --num_train_epochs 1 "
      "--dataset_name wmt16 --dataset_config ro-en --source_lang en --target_lang ro");
  CHECK(test::source_words(plan, {"framework", "checkpoint"}) == "trainer -");
  CHECK(find_word(plan.defaults, "seq") != nullptr);
  CHECK(*find_word(plan.defaults, "target-seq") == "128");
  const PlanSource told = of_line(
      "python run_summarization.py --model_name_or_path t5-small --output_dir out "
      "--max_source_length 512 --max_target_length 64");
  CHECK(test::source_words(told, {"seq", "target-seq", "batch"}) == "512 64 8");
}

TEST_CASE("recognition: scripts of one's own turn adapters on by many names", "[plan][sources]") {
  const std::string yaml =
      "model_name_or_path: Qwen/Qwen2.5-0.5B\nper_device_train_batch_size: 1\noutput_dir: out\n"
      "learning_rate: 1.0e-4\nlora_r: 16\nmax_seq_length: 64\ntest_size: 0.05\n";
  const std::string line =
      "torchrun --nproc_per_node 1 run_sft.py --model_name_or_path gpt2 --lora_r 16 "
      "--peft_enabled ";
  CHECK(test::source_words(of_yaml(yaml + "peft_enabled: true\n"), {"lora"}) == "16");
  CHECK(test::source_words(of_yaml(yaml + "peft_enabled: false\n"), {"lora"}) == "-");
  CHECK(test::source_words(of_line(line + "True"), {"lora"}) == "16");
  CHECK(test::source_words(of_line(line + "False"), {"lora"}) == "-");
  // DPO's: a second model or its probabilities, and pairs of texts.
  CHECK_THROWS_WITH(of_yaml(yaml + "peft_enabled: true\nbeta: 0.01\n"),
                    Catch::Matchers::Contains("beta"));
}

TEST_CASE("recognition: a refusal names the file whose key it is about", "[plan][programs]") {
  CHECK_THROWS_WITH(of_yaml("model_name_or_path: gpt2\noutput_dir: x\nbeta: 0.1\n"),
                    Catch::Matchers::StartsWith("x.yaml: beta"));
}

// AkulDatta/FnCTOD scripts/finetune.sh and Acforest/LogLLaMA scripts/finetune.sh were read as
// axolotl's and Trainer's, which trained all weights.
TEST_CASE("recognition: scripts after alpaca-lora train adapters beside 8-bit weights",
          "[plan][sources]") {
  const std::string line =
      "python finetune.py --base_model meta-llama/Llama-2-13b-chat-hf --data_path a.json "
      "--output_dir out --micro_batch_size 1 --batch_size 2 ";
  const PlanSource told = of_line(line +
                                  "--num_epochs 1 --cutoff_len 4096 --val_set_size 0 --lora_r 16 "
                                  "--lora_target_modules '[q_proj, v_proj]' --group_by_length "
                                  "False --lr_scheduler cosine --train_on_response False");
  CHECK(test::source_words(told, {"seq", "batch", "lora", "lora-targets", "quantize"}) ==
        "4096 1 16 q_proj,v_proj int8");
  CHECK(test::source_word(told, "eval-batch") == "-");
  const PlanSource untold = of_line(line + "--prompt_template_name alpaca");
  CHECK(test::source_words(untold, {"seq", "lora", "lora-targets", "quantize", "eval-batch"}) ==
        "256 8 q_proj,v_proj int8 8");
}

// lrgao/W2S train_sft_webnlg.sh: eight sequences of 1,024 tokens stood for four of 2,500.
TEST_CASE("recognition: a batch or a length by an unknown key leaves no default in its place",
          "[plan][sources]") {
  const std::string line =
      "python cli_gt.py --do_train --output_dir out --train_file a.json --model_path t5-base "
      "--gradient_accumulation_steps 8 --learning_rate 2e-5 --num_train_epochs 40 ";
  const auto left_open = [](const PlanSource& source) {
    std::string options;
    for (const SourceKey& key : source.keys) {
      options += key.is_decisive ? key.lacks + " " : "";
    }
    return options;
  };
  CHECK(left_open(of_line(line)).empty());
  CHECK(left_open(of_line(line + "--train_mini_batch_size 4 --predict_batch_size 2")) == "batch ");
  CHECK(left_open(of_line(line + "--max_input_length 2500")) == "seq ");
  CHECK(left_open(of_line(line + "--per_device_max_tokens 524288")) == "seq ");
  CHECK(left_open(of_line(line + "--max_input_length 9 --max_seq_length 8")).empty());
  CHECK(find_word(of_line(line + "--train_mini_batch_size 4").defaults, "batch") == nullptr);
}

// bill-lee-mk/qwen32b-sft scripts/train_sft.sh was Megatron's, for its --sft-only.
TEST_CASE("recognition: one option of Megatron's makes no script Megatron's", "[plan][sources]") {
  CHECK_THROWS_WITH(of_line("deepspeed --num_gpus=8 --module training.full_finetune --config "
                            "configs/training_config.yaml --sft-only"),
                    Contains("full_finetune"));
}

// Lagooon/LeanSTaR gpt-accelera: full training that took qlora.py's 4 bits and adapters.
TEST_CASE("recognition: a length as qlora.py calls it makes no script qlora.py",
          "[plan][sources]") {
  const PlanSource source = of_line(
      "torchrun --nproc_per_node=8 finetune.py --do_train --checkpoint_path a/model.pth "
      "--source_max_len 2048 --target_max_len 2048 --per_device_train_batch_size 16 "
      "--learning_rate 2e-5 --num_train_epochs 1 --dataset a.json --save_strategy epoch "
      "--save_steps 60 --save_total_limit 3");
  CHECK(test::source_words(source, {"quantize", "lora"}) == "- -");
  CHECK(model_of(source) == nullptr);
}

// vaijsc/keallm script/train_sft_pt.sh predicts; so does a file with a model and a template alone.
TEST_CASE("recognition: runs that train nothing are refused", "[plan][sources]") {
  const std::string line =
      "python src/train.py --stage sft --model_name_or_path meta-llama/Llama-2-7b-chat-hf "
      "--template llama2 --finetuning_type lora --output_dir out --dataset a "
      "--per_device_train_batch_size 5 --do_predict true --do_train ";
  CHECK_THROWS_WITH(of_line(line + "false"), Contains("do_train false: this run trains nothing"));
  CHECK(test::source_words(of_line(line + "true"), {"batch"}) == "5");
  CHECK_THROWS_WITH(of_line("python run_clm.py --model_name_or_path gpt2 --output_dir a "
                            "--do_train False --do_eval True"),
                    Contains("trains nothing"));
  CHECK_THROWS_WITH(of_yaml("model_name_or_path: Qwen/Qwen2-7B-Instruct\ntemplate: qwen\n"
                            "adapter_name_or_path: model\nfinetuning_type: lora\n"),
                    Contains("chat or export"));
}

TEST_CASE("recognition: training on the host is refused", "[plan][sources]") {
  CHECK_THROWS_WITH(of_yaml("distributed_type: 'NO'\nnum_processes: 1\nuse_cpu: true\n"),
                    Contains("use_cpu true") && Contains("leave use_cpu out"));
}

// CzD-CzD/Qwen2.5-Math-Post-train configs/lora_sft.yaml: TRL's files have use_peft, and this one's
// script makes adapters of lora_r alone. All weights were trained.
TEST_CASE("recognition: a rank without TRL's switch is of another script", "[plan][sources]") {
  const std::string file =
      "output_dir: out\nlora_r: 16\nlora_alpha: 32\nmax_length: 1024\nlearning_rate: 1e-5\n"
      "per_device_train_batch_size: 4\neval_strategy: steps\nbf16: true\nmodel_name_or_path: "
      "gpt2\n";
  const PlanSource own = of_yaml(file);
  CHECK(test::source_words(own, {"framework", "lora", "seq"}) == "trainer 16 1024");
  const PlanSource trl = of_yaml(file + "use_peft: false\n");
  CHECK(test::source_words(trl, {"framework", "lora"}) == "trl-sft -");
}

// asaiacai/torchtitan scripts/generate/run_llama_generate.sh and real-ljs/LifeAlign
// llama3_lora_predict.yaml were answered as training.
TEST_CASE("recognition: scripts that generate, and files that predict, are refused",
          "[plan][sources]") {
  const std::string options =
      " --model_name_or_path gpt2 --output_dir a --per_device_train_batch_size 1 --bf16 True";
  CHECK_THROWS_WITH(of_line("python scripts/generate/test_generate.py" + options),
                    Contains("no script that trains, by its name"));
  CHECK(*model_of(of_line("python train_and_evaluate.py" + options)) == "gpt2");
  const std::string file =
      "stage: sft\nmodel_name_or_path: gpt2\nfinetuning_type: lora\ntemplate: a\ndataset: b\n"
      "output_dir: c\nper_device_eval_batch_size: 1\ndo_predict: true\n";
  CHECK_THROWS_WITH(of_yaml(file), Contains("do_predict true: this run trains nothing"));
  CHECK_FALSE(of_yaml(file + "do_train: true\n").words.empty());
}

// 2noweyh/DILAB-Alibaba-Ecommerce-Search script/train.sh takes the model as an argument.
TEST_CASE("recognition: a model that the script's arguments would name is asked for",
          "[plan][sources]") {
  const PlanSource source =
      of_line("torchrun finetune.py --base_model --data_path a --output_dir b --cutoff_len 9");
  const auto key = std::ranges::find(source.keys, "base_model", &SourceKey::key);
  REQUIRE(key != source.keys.end());
  CHECK(key->lacks == "model");
  CHECK_THAT(key->meaning, Contains("bash SCRIPT"));
}
