// Plan options: words become the axis they name and back, and no mistake hides another.
#include "tools/options/plan_options.hpp"

#include <set>

#include <boost/json.hpp>
#include <boost/program_options/variables_map.hpp>
#include <catch2/catch.hpp>

#include "tools/commands/commands.hpp"
#include "tools/studies/runs/value_search.hpp"
#include "workloads/plan/options/aliases.hpp"
#include "workloads/plan/options/plan_json.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

PlannedRun read(const Arguments& arguments, PlanUse use = PlanUse::generate) {
  OptionParser parser(command("simulate"));
  add_plan_options(parser);
  return read_plan(parser.parse(arguments), {}, use);
}

std::vector<std::string> problems_of(const Arguments& arguments) {
  try {
    read(arguments);
  } catch (const UsageErrors& errors) {
    return errors.problems();
  }
  return {};
}

Arguments with_model(const std::string& options, const std::string& model = "gpt2") {
  Arguments arguments{"--model", model};
  std::string word;
  for (const char c : options + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      arguments.push_back(std::exchange(word, ""));
    }
  }
  return arguments;
}

Arguments as_options(const TrainingPlan& plan) {
  Arguments arguments;
  for (const auto& [option, text] : plan_words(plan)) {
    arguments.push_back("--" + option + "=" + text);
  }
  return arguments;
}

}  // namespace

TEST_CASE("plan options: each axis is read", "[cli][plan]") {
  const TrainingPlan plan =
      read(with_model("--batch 3 --seq 16,12,20,8 --precision bf16 --attention sdpa-flash "
                      "--checkpoint every-3 --checkpoint-impl reentrant --optimizer sgd-momentum "
                      "--optimizer-impl fused --param-groups 2 --grad-clip 0.5 --grad-accum 4 "
                      "--steps 5 --set-to-none false --zero-grad-at start --loss chunked-16 "
                      "--use-cache --attention-mask --dropout 0.25 --data device "
                      "--init meta --master-weights --empty-cache-every-step --gpu h100-80 "
                      "--torch 2.6.0+cu124 --transformers 5.12"))
          .plan;
  CHECK(plan.batch == 3);
  CHECK(plan.seq == std::vector<std::int64_t>{16, 12, 20, 8});
  CHECK(plan.precision == Precision::bf16);
  CHECK(plan.attention == Attention::sdpa_flash);
  CHECK((plan.checkpoint.kind == CheckpointKind::every_n && plan.checkpoint.n == 3));
  CHECK(plan.checkpoint.reentrant);
  CHECK(plan.optimizer.kind == OptimizerKind::sgd_momentum);
  CHECK(plan.optimizer.impl == OptimizerImpl::fused);
  CHECK(plan.optimizer.param_groups == 2);
  CHECK(plan.grad_clip == 0.5);
  CHECK(plan.grad_accum == 4);
  CHECK(plan.steps == 5);
  CHECK_FALSE(plan.set_to_none);
  CHECK(plan.zero_grad_at == ZeroGradAt::start);
  CHECK((plan.loss.kind == LossKind::chunked && plan.loss.chunks == 16));
  CHECK(plan.use_cache);
  CHECK(plan.attention_mask == AttentionMask::full);
  CHECK(plan.dropout == 0.25);
  CHECK(plan.data == DataSource::device);
  CHECK(plan.init == ModelInit::meta);
  CHECK(plan.optimizer.master_weights);
  CHECK(plan.empty_cache_every_step);
  CHECK(plan.gpu.name == "h100-80");
  CHECK(plan.versions.torch == "2.6");
}

TEST_CASE("plan options: names and words of other programs", "[cli][plan]") {
  const TrainingPlan trainer =
      read({"--model_name_or_path", "openai-community/gpt2", "--per_device_train_batch_size=4",
            "--gradient-accumulation-steps", "2", "--gradient_checkpointing", "--bf16", "True",
            "--optim", "adamw_torch_fused", "--max_grad_norm", "1.0", "--max-length", "128",
            "--lora_r", "8", "--attn-implementation", "eager", "--lora_dropout=0.5"})
          .plan;
  CHECK(trainer.model.name == "gpt2");
  CHECK(trainer.batch == 4);
  CHECK(trainer.grad_accum == 2);
  CHECK(trainer.checkpoint.kind == CheckpointKind::full);
  CHECK(trainer.precision == Precision::amp_bf16);
  CHECK(trainer.optimizer.kind == OptimizerKind::adamw);
  CHECK(trainer.optimizer.impl == OptimizerImpl::fused);
  CHECK(trainer.grad_clip == 1.0);
  CHECK(trainer.seq == std::vector<std::int64_t>{128});
  CHECK(trainer.lora.rank == 8);
  CHECK(trainer.lora.dropout == 0.5);
  CHECK(trainer.attention == Attention::eager);
  const TrainingPlan off =
      read(with_model("--bf16 False --fp16=false --optim adamw_torch_fused --optimizer-impl loop"))
          .plan;
  CHECK(off.precision == Precision::fp32);
  CHECK(off.optimizer.impl == OptimizerImpl::loop);
  CHECK(read(with_model("--optim adamw_bnb_8bit")).plan.optimizer.kind ==
        OptimizerKind::adamw_8bit);
  for (const std::string mm : {"grouped_mm", "grouped-mm"}) {
    CHECK(read({"--model", "mixtral-small", "--experts", mm}).plan.experts == Experts::grouped_mm);
  }
  CHECK(read(with_model("--torch_dtype bfloat16")).plan.precision == Precision::bf16);
  CHECK(read(with_model("--dp 2 --zero_stage 3")).plan.parallel.dp_kind == DataParallel::zero3);
  CHECK(read(with_model("--framework megatron --micro-batch-size 2 --seq-length 64 "
                        "--tensor-model-parallel-size 2 --sequence-parallel "
                        "--recompute-granularity full"))
            .plan.parallel.sequence_parallel);
}

TEST_CASE("plan options: an attention mask may be given as a flag", "[cli][plan]") {
  const auto mask = [](const std::string& words) {
    return read(with_model(words)).plan.attention_mask;
  };
  CHECK(mask("") == AttentionMask::none);
  CHECK(mask("--attention-mask") == AttentionMask::full);
  CHECK(mask("--attention-mask=yes") == AttentionMask::full);
  CHECK(mask("--attention-mask=false") == AttentionMask::none);
  CHECK(mask("--attention-mask=padded") == AttentionMask::padded);
  CHECK_THAT(problems_of(with_model("--attention-mask=half")).front(),
             Contains("use one of none, full, padded"));
}

TEST_CASE("plan options: every alias leads to an option and a word", "[cli][plan]") {
  std::set<std::string_view> names;
  for (const OptionAlias& alias : option_aliases()) {
    CAPTURE(alias.name);
    CHECK(names.insert(alias.name).second);
    CHECK(find_option(alias.name) == nullptr);
    REQUIRE(find_option(alias.option) != nullptr);
    CHECK((alias.value.empty() ||
           !complaint_about(alias.option, std::string(alias.value)).has_value()));
  }
  for (const ValueAlias& alias : value_aliases()) {
    CAPTURE(alias.option, alias.text);
    CHECK_FALSE(complaint_about(alias.option, std::string(alias.text)).has_value());
  }
}

TEST_CASE("plan options: what is known but not modelled is said to be so", "[cli][plan]") {
  const auto complaint = [](const std::string& options) {
    const auto problems = problems_of(with_model(options));
    return problems.empty() ? std::string() : problems.front();
  };
  CHECK(complaint("--optim adamw_apex_fused") ==
        "--optimizer adamw-apex-fused: known, but not modelled yet; the nearest is adamw");
  CHECK_THAT(complaint("--optim galore_adafactor_layerwise"), Contains("without relative_step"));
  const std::string unmodelled =
      ": known, but not modelled yet; --help-all lists the values that are";
  CHECK(complaint("--optimizer prodigy") == "--optimizer prodigy" + unmodelled);
  CHECK(complaint("--optimizer soap") == "--optimizer soap" + unmodelled);
  CHECK(complaint("--precision fp8") == "--precision fp8" + unmodelled);
  CHECK_THAT(complaint("--attention flash_attention_2"), Contains("the nearest is sdpa-flash"));
  for (const std::string format : {"nf4", "int8", "4bit"}) {
    CHECK_THAT(complaint("--precision " + format), Contains("use --quantize nf4, fp4 or int8"));
  }
  CHECK_THAT(complaint("--precision fp7"), Contains("use one of fp32"));
  CHECK_THAT(complaint("--gpu h10"), Contains("--gpu h10: neither a known GPU nor a size such as "
                                              "24GiB; "));
  CHECK_THAT(complaint("--framework megatron --bf16 --seq 64"), Contains("use precision bf16"));
}

TEST_CASE("plan options: lengths have to match micro-batches and steps", "[cli][plan]") {
  CHECK_THAT(problems_of(with_model("--seq 64,128 --grad-accum 3")).front(),
             Contains("2 lengths do not match 3 micro-batches per step"));
  CHECK_THAT(problems_of(with_model("--seq 64,128,256,512 --steps 3")).front(),
             Contains("4 lengths are more than the micro-batches of 3 steps"));
  CHECK(problems_of(with_model("--seq 64,128,256,512 --grad-accum 2")).empty());
  CHECK_THAT(problems_of(with_model("--seq 64,,64")).front(), Contains("an empty length"));
}

TEST_CASE("plan options: DDP's axes are read", "[cli][plan]") {
  const Parallelism parallel =
      read(with_model("--dp 4 --bucket-cap-mb 12.5 --bucket-view --no-sync --grad-accum 2 "
                      "--backend fake --event-lag 20 --event-queries 3"))
          .plan.parallel;
  CHECK(parallel == Parallelism{.dp = 4,
                                .ddp = {.bucket_cap_mb = 12.5, .bucket_view = true},
                                .no_sync = true,
                                .backend = CommBackend::fake,
                                .event_lag = 20,
                                .event_queries = 3});
  CHECK(read(with_model("--dp 2 --static-graph")).plan.parallel.ddp.static_graph);
  CHECK(problems_of(with_model("--bucket-view")).size() == 1);
  CHECK(problems_of(with_model("--no-sync")).size() == 1);
  CHECK(problems_of(with_model("--dp 2 --bucket-cap-mb 0")).size() == 1);
  CHECK(problems_of(with_model("--dp 2 --optimizer-in-backward")).size() == 1);
  CHECK(problems_of(with_model("--dp 2 --dp-kind zero3 --mode eval --engine model")).size() == 1);
}

TEST_CASE("plan options: FSDP's axes are read", "[cli][plan]") {
  const Parallelism parallel =
      read(with_model("--dp 8 --dp-kind fsdp2 --param-dtype bf16 --reduce-dtype fp32 "
                      "--reshard but-last --dp-replicate 2"))
          .plan.parallel;
  CHECK(parallel == Parallelism{.dp = 8,
                                .dp_kind = DataParallel::fsdp2,
                                .fsdp = {.param_dtype = DType::bf16,
                                         .reduce_dtype = DType::fp32,
                                         .reshard = Reshard::but_last,
                                         .replicas = 2}});
  CHECK(read(with_model("--dp 8 --dp-kind fsdp2")).plan.init == ModelInit::meta);
  CHECK(read(with_model("--dp 8 --dp-kind fsdp2 --init cpu")).plan.init == ModelInit::cpu);
  CHECK(problems_of(with_model("--dp 8 --dp-kind fsdp2 --dp-replicate 3")).size() == 1);
  CHECK(problems_of(with_model("--dp 8 --reshard never")).size() == 1);
  CHECK(problems_of(with_model("--dp 8 --dp-kind fsdp2 --param-dtype int8")).size() == 1);
}

TEST_CASE("plan options: FSDP1's axes are read", "[cli][plan]") {
  const Fsdp fsdp = read(with_model("--dp 8 --dp-kind fsdp1 --param-dtype bf16 --reduce-dtype fp32 "
                                    "--strategy hybrid_shard --dp-replicate 2 --forward-prefetch "
                                    "--use-orig-params false --limit-all-gathers false"))
                        .plan.parallel.fsdp;
  CHECK(fsdp == Fsdp{.param_dtype = DType::bf16,
                     .reduce_dtype = DType::fp32,
                     .strategy = ShardingStrategy::hybrid_shard,
                     .use_orig_params = false,
                     .limit_all_gathers = false,
                     .forward_prefetch = true,
                     .replicas = 2});
  CHECK(problems_of(with_model("--dp 8 --strategy shard_grad_op")).size() == 1);
  CHECK(problems_of(with_model("--dp 8 --dp-kind fsdp1 --strategy hybrid_shard")).size() == 1);
}

TEST_CASE("plan options: a plan's words make the same plan again", "[cli][plan]") {
  for (const std::string options :
       {"", "--batch 2 --seq 512,256 --precision amp-fp16 --loss shift --grad-clip 1",
        "--checkpoint selective --optimizer adamw-8bit --keep-logits true --mode train",
        "--lora 16 --lora-targets c_attn,c_proj --lora-dropout 0.05 --dropout 0",
        "--optimizer none --mode eval --use-cache false --loss chunked --gpu v100-16",
        "--optimizer-in-backward --zero-grad-at start --init cpu --torch 2.4",
        "--dp 4 --bucket-cap-mb 12.5 --bucket-view --no-sync --grad-accum 2 --event-lag 20",
        "--dp 8 --dp-kind fsdp2 --param-dtype bf16 --reduce-dtype fp32 --reshard never "
        "--dp-replicate 4",
        "--dp 2 --static-graph --backend fake --event-queries 3 --bucket-cap-mb default",
        "--dp 8 --dp-kind fsdp1 --param-dtype bf16 --reduce-dtype fp32 --use-orig-params false",
        "--dp 8 --dp-kind fsdp1 --strategy hybrid_shard --dp-replicate 2 --limit-all-gathers false "
        "--forward-prefetch"}) {
    CAPTURE(options);
    const TrainingPlan plan = read(with_model(options)).plan;
    const TrainingPlan again = read(as_options(plan)).plan;
    CHECK(plan_words(again) == plan_words(plan));
    CHECK(plan_json(again) == plan_json(plan));
  }
}

TEST_CASE("plan options: classes without SDPA run eager unless told otherwise", "[cli][plan]") {
  CHECK(read(with_model("", "bloom-560m")).plan.attention == Attention::eager);
  CHECK(read(with_model("", "gpt2")).plan.attention == Attention::sdpa);
  CHECK(problems_of(with_model("--attention sdpa", "bloom-560m")).size() == 1);
}

TEST_CASE("plan options: sequences end where a table of positions does, unless they are given",
          "[cli][plan]") {
  CHECK(read(with_model("", "bert-base")).plan.seq == std::vector<std::int64_t>{512});
  CHECK(read(with_model("", "llama-7b")).plan.seq == std::vector<std::int64_t>{1024});
  CHECK(problems_of(with_model("--seq 1024", "bert-base")).size() == 1);
}

TEST_CASE("plan options: all mistakes are reported together, with what was meant", "[cli][plan]") {
  const auto problems = problems_of(
      with_model("--batch 0 --seq 12,x --precision fp23 --optimizer-impl fussed "
                 "--checkpoint every-0 --gpu a100-90 --dropout 2 --use-cache maybe --tp 2 "
                 "--grad-clip x --lora-targets a,,b --torch new",
                 "gtp2"));
  const std::vector<std::string> expected{
      "--model gtp2: no such model",
      "--batch 0: use a number from 1",
      "--seq 12,x: 'x': not a whole number",
      "did you mean fp32?",
      "--checkpoint every-0: every- must be followed by a number >= 1, e.g. every-2",
      "--dropout 2: use a number from 0 to 1",
      "--use-cache maybe",
      "did you mean fused?",
      "--grad-clip x",
      "--lora-targets a,,b: an empty name",
      "did you mean a100-80?",
      "--torch new: not a release"};
  REQUIRE(problems.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK_THAT(problems[i], Contains(expected[i]));
  }
}

TEST_CASE("plan options: a job's parallel sizes are read for closed forms", "[cli][plan]") {
  const Parallelism parallel =
      read(with_model("--dp 8 --dp-kind zero1 --tp 4 --sp --pp 2 --pp-schedule interleaved "
                      "--pp-chunks 3 --grad-accum 2 --offload both"),
           PlanUse::estimate)
          .plan.parallel;
  CHECK(parallel == Parallelism{.dp = 8,
                                .dp_kind = DataParallel::zero1,
                                .tp = 4,
                                .sequence_parallel = true,
                                .pp = 2,
                                .schedule = PipelineSchedule::interleaved,
                                .chunks = 3,
                                .offload = Offload::both});
  CHECK(parallel.gpus() == 64);
  CHECK_THAT(problems_of(with_model("--tp 7"))[0], Contains("heads of gpt2 cannot be split"));
  CHECK_THAT(problems_of(with_model("--sp"))[0], Contains("add --tp"));
  CHECK_THAT(problems_of(with_model("--ep 2"))[0], Contains("not a mixture"));
}

TEST_CASE("plan options: rules that cross axes join the wrong values", "[cli][plan]") {
  const auto problems = problems_of(with_model("--batch 0 --checkpoint-impl reentrant"));
  REQUIRE(problems.size() == 2);
  CHECK_THAT(problems[0], Contains("--batch 0"));
  CHECK_THAT(problems[1], Contains("nothing is checkpointed"));
}

TEST_CASE("find value: the border is found for every place it can have", "[cli][plan]") {
  for (std::int64_t border = 0; border <= 70; ++border) {
    const ValueSearch search = find_value(
        [&](std::int64_t batch) {
          return ValueTrial{batch, batch <= border, Bytes{}};
        },
        WantedValue::largest, 64);
    CAPTURE(border);
    CHECK(search.best ==
          (border == 0 ? std::nullopt : std::optional(std::min<std::int64_t>(border, 64))));
    CHECK(search.next == (border >= 64 ? std::nullopt : std::optional(border + 1)));
    CHECK(search.trials.size() <= 13);
  }
  const ValueSearch search = find_value(
      [](std::int64_t batch) {
        return ValueTrial{batch, batch <= 5, Bytes{}};
      },
      WantedValue::largest, 64);
  CHECK(describe(search) == "5 (6 does not fit; tried 1, 2, 4, 8, 6, 5)");
}
