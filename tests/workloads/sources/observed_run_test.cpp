// What the recorder saw as options of a plan; whole recordings are in tests/tools/options.
#include <algorithm>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/observed_plan.hpp"
#include "traces/error.hpp"

using namespace highwater;
using Catch::Matchers::Contains;
using test::observed;
using test::observed_word;
using test::option_of;

TEST_CASE("observed plan: DDP as it was wrapped", "[plan][sources]") {
  const PlanSource source = observed(R"("strategy": {"kind": "ddp", "ranks": 4,
      "bucket_cap_mb": 50.0, "bucket_view": true, "static_graph": false,
      "find_unused_parameters": false, "hooks": ["fp16_compress_hook"], "syncs": [false, true]})");
  CHECK(observed_word(source, "dp") == "4");
  CHECK(observed_word(source, "dp-kind") == "ddp");
  CHECK(observed_word(source, "bucket-cap-mb") == "50");
  CHECK(observed_word(source, "bucket-view") == "true");
  CHECK(observed_word(source, "ddp-comm-hook") == "fp16-compress");
  CHECK(observed_word(source, "no-sync") == "true");
}

TEST_CASE("observed plan: accelerate's plugin has both versions of FSDP", "[plan][sources]") {
  CHECK(
      observed_word(observed(R"("loop": "accelerate", "strategy": {"kind": "fsdp1", "ranks": 8})"),
                    "framework") == "accelerate-fsdp2");
  CHECK(observed_word(observed(R"("loop": "accelerate", "strategy": {"kind": "ddp", "ranks": 8})"),
                      "framework") != "accelerate-fsdp2");
}

TEST_CASE("observed plan: the class that ran counts", "[plan][sources]") {
  const auto model = [](const std::string& name, const std::string& config) {
    return observed_word(
        observed(R"("model": {"class": ")" + name + R"(", "config": {)" + config + "}}"), "model");
  };
  const std::string untold = R"("model_type": "roberta", "architectures": null)";
  CHECK_THAT(model("RobertaForTokenClassification", untold),
             Contains(R"("architectures":["RobertaForTokenClassification"])"));
  // As large as roberta-base, which is one for masked words.
  CHECK_THAT(model("RobertaForTokenClassification",
                   R"("model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12,
                      "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265,
                      "max_position_embeddings": 514, "type_vocab_size": 1)"),
             Contains(R"("architectures":["RobertaForTokenClassification"])"));
  // A checkpoint's configuration names the class whose weights it has.
  CHECK_THAT(model("BertForQuestionAnswering",
                   R"("model_type": "bert", "architectures": ["BertForMaskedLM"])"),
             Contains(R"("architectures":["BertForQuestionAnswering"])"));
  CHECK(model("GPT2LMHeadModel", R"("model_type": "gpt2")") == "gpt2");
  CHECK(model("FSDPGPT2LMHeadModel", R"("model_type": "gpt2")") == "gpt2");
  CHECK_THAT(model("GPT2ForSequenceClassification", R"("model_type": "gpt2")"),
             Contains("GPT2ForSequenceClassification"));
}

TEST_CASE("observed plan: without NVIDIA's cuDNN its attention had no workspaces",
          "[plan][sources]") {
  const auto workspaces = [](const std::string& device) {
    return observed_word(observed(R"("device": {"gpu": "h100-80")" + device + "}"),
                         "cudnn-workspaces");
  };
  CHECK(workspaces(R"(, "cudnn": {"plans": 12, "not_counted": 12})") == "none");
  CHECK(workspaces(R"(, "cudnn": {"plans": 12, "not_counted": 0})").empty());
  CHECK(workspaces(R"(, "cudnn": {"plans": 0, "not_counted": 0})").empty());
  CHECK(workspaces("") == "none");  // recorded before anybody asked for them
}

TEST_CASE("observed plan: batches without tokens", "[plan][sources]") {
  const auto batch = [](const std::string& tensors) {
    return observed(R"("batch": {"shapes": [null], "tensors": {)" + tensors + "}}");
  };
  const PlanSource image = batch(R"("pixel_values": [8, 3, 224, 192], "labels": [8])");
  CHECK(observed_word(image, "batch") == "8");
  CHECK(observed_word(image, "image-size") == "224x192");
  CHECK(observed_word(image, "seq").empty());
  const PlanSource speech = batch(R"("input_features": [4, 80, 3000], "labels": [4, 128])");
  CHECK(observed_word(speech, "batch") == "4");
  CHECK(observed_word(speech, "audio-seconds") == "30");
  CHECK(observed_word(speech, "seq") == "128");
  CHECK(observed_word(batch(R"("input_values": [2, 24000])"), "audio-seconds") == "1.5");
  const PlanSource spectrogram = batch(R"("input_values": [6, 1024, 128], "labels": [6])");
  CHECK(observed_word(spectrogram, "batch") == "6");
  CHECK(observed_word(spectrogram, "audio-seconds") == "10.24");
  const PlanSource first = batch(R"("0": [64, 3, 224, 160])");
  CHECK(observed_word(first, "batch") == "64");
  CHECK(observed_word(first, "image-size") == "224x160");
  CHECK(option_of(batch(R"("x": [2, 3])"), "batch.tensors") == "not supported");
}

TEST_CASE("observed plan: images beside a text, and the tokens that stand for them",
          "[plan][sources]") {
  const auto batch = [](const std::string& facts) {
    return observed(R"("batch": {"shapes": [[2, 448], [2, 448]], )" + facts + "}");
  };
  const PlanSource grid =
      batch(R"("places": 256, "grid": [1, 32, 30], "tensors": {"pixel_values": [2048, 1176]})");
  CHECK(observed_word(grid, "seq") == "192");
  CHECK(observed_word(grid, "image-size") == "448x420");
  const PlanSource pixels = batch(R"("places": 0, "tensors": {"pixel_values": [2, 3, 336, 224]})");
  CHECK(observed_word(pixels, "seq") == "448");
  CHECK(observed_word(pixels, "image-size") == "336x224");
  CHECK(observed_word(batch(R"("tensors": {})"), "image-size").empty());
}

TEST_CASE("observed plan: images in lists, with objects in them", "[plan][sources]") {
  const auto detector = [](const std::string& objects) {
    return observed(R"("batch": {"shapes": [null, null], "tensors": {},
        "images": [[480, 640], [500, 375]], "objects": )" +
                    objects + "}");
  };
  const PlanSource varied = detector("[[2, 1], [4, 3]]");
  CHECK(observed_word(varied, "batch") == "2");
  CHECK(observed_word(varied, "image-size") == "500x640");
  CHECK(observed_word(varied, "objects") == "4");
  CHECK(option_of(varied, "batch.objects") != "-");
  const auto is_told = [](const PlanSource& source) {
    return std::ranges::any_of(source.keys, [](const SourceKey& key) {
      return key.key == "batch.objects" && key.fate == KeyFate::not_supported;
    });
  };
  CHECK(is_told(varied));
  CHECK(observed_word(detector("[[3, 3], [3, 3]]"), "objects") == "3");
  CHECK_FALSE(is_told(detector("[[3, 3], [3, 3]]")));
  CHECK(is_told(detector("[[3, 3], [2, 2]]")));
}

TEST_CASE("observed plan: a model of a library is named as the library makes it",
          "[plan][sources]") {
  const PlanSource known = observed(
      R"("model": {"class": "ResNet", "builder": {"name": "torchvision:resnet18", "classes": 10}})");
  CHECK(observed_word(known, "model") == "torchvision:resnet18");
  CHECK(observed_word(known, "num-labels") == "10");
  CHECK(observed_word(observed(R"("model": {"builder": {"name": "timm:resnet50"}})"), "num-labels")
            .empty());
  // A recording comes from others: it names no code to run.
  for (const char* const name : {"null", R"({"name": "net.py:make"})"}) {
    CAPTURE(name);
    const PlanSource own =
        observed(fmt::format(R"("model": {{"class": "Net", "builder": {}}})", name));
    CHECK(observed_word(own, "model").empty());
    CHECK(option_of(own, "model.class") == "not supported");
  }
}

TEST_CASE("observed plan: labels of another length, and more choices", "[plan][sources]") {
  const auto batch = [](const std::string& tensors, const std::string& is_encoder_decoder) {
    return observed(
        R"("batch": {"shapes": [[8, 512]], "tensors": {)" + tensors +
        R"(}}, "model": {"class": "T5ForConditionalGeneration", "config": {"model_type": "t5",
                       "is_encoder_decoder": )" +
        is_encoder_decoder + "}}");
  };
  const std::string labels = R"("input_ids": [8, 512], "labels": [8, 128])";
  CHECK(observed_word(batch(labels, "true"), "target-seq") == "128");
  CHECK(observed_word(batch(labels, "true"), "seq") == "512");
  CHECK(observed_word(batch(labels, "false"), "target-seq").empty());
  CHECK(observed_word(batch(R"("input_ids": [8, 512], "labels": [8, 512])", "true"), "target-seq")
            .empty());
  const PlanSource several = observed(R"("batch": {"shapes": [[8, 512], [8, 480]],
      "targets": [128, 96]}, "model": {"class": "T5ForConditionalGeneration", "config": {"is_encoder_decoder": true}})");
  CHECK(observed_word(several, "target-seq") == "128");
  CHECK(std::ranges::any_of(several.keys, [](const SourceKey& key) {
    return key.key == "batch.targets" && key.fate == KeyFate::not_supported;
  }));
  CHECK(option_of(batch(R"("input_ids": [8, 5, 512])", "false"), "batch.tensors.input_ids") ==
        "not supported");
  CHECK(option_of(batch(R"("input_ids": [8, 4, 512])", "false"), "batch.tensors.input_ids") == "-");
}

TEST_CASE("observed plan: a compiled model stays compiled", "[plan][sources]") {
  CHECK(observed_word(observed(R"("model": {"compiled": true})"), "compile") == "true");
  CHECK(observed_word(observed(R"("model": {"compiled": false})"), "compile").empty());
}

TEST_CASE("observed plan: a release that plans cannot name is told", "[plan][sources]") {
  const PlanSource source = observed(R"("optimizers": [{"class": "bitsandbytes.AdamW8bit"}],
      "releases": {"bitsandbytes": "0.50.0"})");
  CHECK(option_of(source, "releases.bitsandbytes") == to_string(KeyFate::not_supported));
}

TEST_CASE("observed plan: which of fully_shard's units are freed", "[plan][sources]") {
  const auto units = [](const std::string& list) {
    return observed(R"("strategy": {"kind": "fsdp2", "ranks": 8, "param_dtype": "bfloat16",
        "reduce_dtype": "float32", "replicas": 2, "units": [)" +
                    list + "]}");
  };
  const std::string blocks = R"({"name": "0", "class": "Block", "reshards": true},
                                {"name": "1", "class": "Block", "reshards": true})";
  const PlanSource plain = units(blocks + R"(, {"name": "", "class": "Model", "reshards": false})");
  CHECK(observed_word(plain, "reshard") == "always");
  CHECK(observed_word(plain, "fsdp-units") == "blocks");
  CHECK(observed_word(plain, "dp-replicate") == "2");
  CHECK(observed_word(plain, "param-dtype") == "bf16");
  CHECK(observed_word(units(blocks + R"(, {"name": "", "class": "Model", "reshards": true})"),
                      "reshard") == "all");
  const PlanSource ends = units(blocks + R"(, {"name": "head", "class": "Linear", "reshards": true},
                         {"name": "", "class": "Model", "reshards": true})");
  CHECK(observed_word(ends, "fsdp-units") == "ends");
  CHECK(observed_word(ends, "reshard") == "always");
  const PlanSource last = units(R"({"name": "0", "class": "Block", "reshards": true},
                                   {"name": "1", "class": "Block", "reshards": false})");
  CHECK(observed_word(last, "reshard") == "but-last");
}

TEST_CASE("observed plan: whole tensors beside split ones are a group of their own",
          "[plan][sources]") {
  const PlanSource source = observed(R"("optimizers": [{"class": "torch.AdamW", "groups": 2}],
    "strategy": {"kind": "none", "ranks": 2, "mesh": {"tp": 2}})");
  CHECK(option_of(source, "optimizers.0.groups") == "no effect");
}

TEST_CASE("observed plan: FSDP1, DeepSpeed and meshes", "[plan][sources]") {
  const PlanSource fsdp1 = observed(R"("strategy": {"kind": "fsdp1", "ranks": 4,
      "strategy": "shard_grad_op", "param_dtype": "bfloat16", "reduce_dtype": null,
      "use_orig_params": true, "backward_prefetch": "backward_pre", "offload": false})");
  CHECK(observed_word(fsdp1, "strategy") == "shard_grad_op");
  CHECK(observed_word(fsdp1, "backward-prefetch") == "pre");
  CHECK(observed_word(fsdp1, "reduce-dtype") == "none");
  CHECK(observed_word(fsdp1, "offload").empty());
  const PlanSource deepspeed = observed(R"("strategy": {"kind": "deepspeed", "ranks": 8, "stage": 2,
      "config": {"zero_optimization": {"stage": 2, "reduce_bucket_size": 1000,
                                       "offload_optimizer": {"device": "cpu"}, "zeropp": 1}}})");
  CHECK(observed_word(deepspeed, "dp-kind") == "zero2");
  CHECK(observed_word(deepspeed, "reduce-bucket-size") == "1000");
  CHECK(observed_word(deepspeed, "offload") == "optimizer");
  CHECK(option_of(deepspeed, "strategy.config.zero_optimization.zeropp") == "not supported");
  const auto offloads = [](const std::string& stage, const std::string& members) {
    return observed(R"("strategy": {"kind": "deepspeed", "ranks": 8, "stage": )" + stage +
                    R"(, "config": {"zero_optimization": {)" + members + "}}}");
  };
  const std::string params = R"("offload_param": {"device": "cpu"})";
  CHECK(observed_word(offloads("3", params), "offload") == "params");
  CHECK(observed_word(offloads("3", params + R"(, "offload_optimizer": {"device": "cpu"})"),
                      "offload") == "both");
  CHECK(observed_word(offloads("2", params), "offload").empty());
  CHECK(observed_word(offloads("3", R"("offload_param": {"device": "none"})"), "offload").empty());
  CHECK(observed_word(offloads("0", params), "dp-kind") == "zero0");
  CHECK(observed_word(offloads("0", params), "offload").empty());
  const std::string nvme = R"({"device": "nvme", "buffer_count": 9, "pin_memory": true})";
  const PlanSource swapped = offloads("3", R"("offload_param": )" + nvme);
  CHECK(observed_word(swapped, "offload") == "params");
  CHECK(observed_word(swapped, "offload-param-device") == "nvme");
  CHECK(observed_word(swapped, "offload-param-buffer-count") == "9");
  CHECK(observed_word(swapped, "pin-memory") == "true");
  const PlanSource early = offloads("2", R"("offload_optimizer": )" + nvme);
  CHECK(observed_word(early, "offload").empty());
  CHECK(option_of(early, "strategy.config.zero_optimization.offload_optimizer.device") ==
        "not supported");
  const PlanSource part = offloads("3", R"("offload_optimizer": {"device": "cpu", "ratio": 0.5})");
  CHECK(std::stod(observed_word(part, "offload-ratio")) == 0.5);
  const PlanSource tensor = observed(R"("strategy": {"kind": "fsdp2", "ranks": 8,
      "mesh": {"dp": 4, "tp": 2}})");
  CHECK(observed_word(tensor, "tp") == "2");
  CHECK(observed_word(tensor, "dp") == "4");
}

TEST_CASE("observed plan: precision is the type of the weights and autocast's", "[plan][sources]") {
  const auto precision = [](const std::string& weights, const std::string& autocast) {
    return option_of(
        observed(R"("model": {"parameters": {")" + weights +
                 R"(": 100, "int64": 1}}, "precision": {"autocast": )" + autocast + "}"),
        "precision");
  };
  CHECK(precision("float32", "null") == "--precision fp32");
  CHECK(precision("float32", "\"bfloat16\"") == "--precision amp-bf16");
  CHECK(precision("bfloat16", "\"bfloat16\"") == "--precision bf16+amp");
  CHECK(precision("float16", "null") == "--precision fp16");
  CHECK(precision("bfloat16", "\"float16\"") == "not supported");
}

TEST_CASE("observed plan: checkpointed blocks", "[plan][sources]") {
  const auto checkpoint = [](const std::string& blocks, const std::string& more = "") {
    return option_of(observed(R"("checkpointing": {"reentrant": false, )" + more +
                              R"("classes": {"Block": 2}, "blocks": [)" + blocks + "]}"),
                     "checkpointing.classes");
  };
  CHECK(checkpoint(R"({"length": 3, "whole": [0, 1, 2], "part": []})") == "--checkpoint full");
  CHECK(checkpoint(R"({"length": 5, "whole": [1, 3], "part": []})") == "--checkpoint every-2");
  CHECK(checkpoint(R"({"length": 3, "whole": [0], "part": []})") == "not supported");
  CHECK(checkpoint(R"({"length": 2, "whole": [], "part": [0, 1]})") == "not supported");
  CHECK(checkpoint("", R"("selective": true, )") == "--checkpoint selective-op");
  CHECK(option_of(observed(R"("loop": "plain")"), "checkpointing") == "--checkpoint none");
}

TEST_CASE("observed plan: lengths that differ are a list, batches that differ are not",
          "[plan][sources]") {
  const PlanSource source = observed(R"("batch": {"shapes": [[2, 128], [1, 64]],
      "attention_mask": "unread"}, "steps": {"count": 1, "micro_batches": [2]})");
  CHECK(observed_word(source, "seq") == "128,64");
  CHECK(observed_word(source, "batch") == "2");
  CHECK(observed_word(source, "grad-accum") == "2");
  CHECK(option_of(source, "batch.attention_mask") == "not supported");
  CHECK(std::ranges::count(source.keys, KeyFate::not_supported, &SourceKey::fate) >= 2);
}

TEST_CASE("observed plan: two passes before each backward are the texts of pairs",
          "[plan][sources]") {
  const auto pairs = [](const std::string& shapes, const std::string& more) {
    return observed(R"("batch": {"labels": false, "shapes": )" + shapes +
                    R"(}, "steps": {"count": 2, "micro_batches": [2, 2],
                    "passes_of_backward": [2, 2]})" +
                    more);
  };
  const PlanSource same = pairs("[[8, 32], [8, 32], [8, 32], [8, 32]]", "");
  CHECK(observed_word(same, "loss") == "contrastive");
  CHECK(observed_word(same, "batch") == "8");
  CHECK(observed_word(same, "seq") == "32");
  CHECK(observed_word(same, "target-seq").empty());
  CHECK(observed_word(same, "grad-accum") == "1");
  const PlanSource other = pairs("[[8, 16], [8, 64], [8, 20], [8, 60]]", "");
  CHECK(observed_word(other, "seq") == "16,20");
  CHECK(observed_word(other, "target-seq") == "64");
  // Nobody writes pairs around an engine.
  const PlanSource engine =
      pairs("[[8, 32], [8, 32], [8, 32], [8, 32]]", R"(, "loop": "deepspeed")");
  CHECK(observed_word(engine, "loss") != "contrastive");
  CHECK(option_of(engine, "steps.passes_of_backward") == "not supported");
}

TEST_CASE("observed plan: passes whose losses are added up are told", "[plan][sources]") {
  const PlanSource source = observed(R"("batch": {"labels": true, "shapes": [[8, 32], [8, 32]]},
      "steps": {"count": 1, "micro_batches": [2], "passes_of_backward": [2]})");
  CHECK(option_of(source, "steps.passes_of_backward") == "not supported");
  CHECK(observed_word(source, "loss") != "contrastive");
}

TEST_CASE("observed plan: what is not trained", "[plan][sources]") {
  const auto freeze = [](const std::string& facts) {
    return observed(
        R"("model": {"class": "X", "untrained": ["bert.embeddings", "bert.encoder.layer.0"],
                        "trained": )" +
        facts);
  };
  CHECK(observed_word(freeze(R"(["bert.pooler", "classifier", "bert.cls"]})"), "freeze") ==
        "bert.embeddings,bert.encoder.layer.0");
  CHECK(observed_word(freeze(R"(["classifier"]})"), "freeze") == "all-but:classifier");
  const PlanSource sharded =
      freeze(R"(["classifier"]}, "strategy": {"kind": "fsdp2", "ranks": 4})");
  CHECK(observed_word(sharded, "freeze").empty());
  CHECK(option_of(sharded, "model.untrained") == "not supported");
}

TEST_CASE("observed plan: Muon for matrices, AdamW for everything else", "[plan][sources]") {
  const std::string muon =
      R"("optimizers": [{"class": "torch.Muon", "options": {"momentum": 0.95}})";
  const PlanSource both = observed(muon + R"(, {"class": "torch.AdamW"}])");
  CHECK(observed_word(both, "optimizer") == "muon");
  CHECK(option_of(both, "optimizers.1") == "no effect");
  CHECK(option_of(both, "optimizers.0.options.momentum") == "no effect");
  CHECK(option_of(observed(muon + R"(, {"class": "torch.SGD"}])"), "optimizers") ==
        "not supported");
}

TEST_CASE("observed plan: optimizers by class", "[plan][sources]") {
  const PlanSource source = observed(R"("optimizers": [{"class": "torch.SGD", "groups": 3,
      "implementation": "fused", "options": {"momentum": 0.9, "nesterov": true, "amsgrad": true}}],
      "gradients": {"clip": 0.5, "zeroed_at": "start", "set_to_none": false})");
  CHECK(observed_word(source, "optimizer") == "sgd-momentum");
  CHECK(observed_word(source, "optimizer-impl") == "fused");
  CHECK(observed_word(source, "grad-clip") == "0.5");
  CHECK(observed_word(source, "zero-grad-at") == "start");
  CHECK(observed_word(source, "set-to-none") == "false");
  CHECK(option_of(source, "optimizers.0.groups") == "not supported");
  CHECK(option_of(source, "optimizers.0.options.nesterov") == "no effect");
  CHECK(option_of(source, "optimizers.0.options.amsgrad") == "not supported");
  CHECK(option_of(observed(R"("optimizers": [{"class": "apex.FusedLAMB"}])"),
                  "optimizers.0.class") == "not supported");
}

TEST_CASE("observed plan: Trainer zeroes gradients itself", "[plan][sources]") {
  const auto zeroed = [](const std::string& loop) {
    return observed_word(observed(R"("gradients": {"zeroed_at": "start"}, "loop": ")" + loop + '"'),
                         "zero-grad-at");
  };
  CHECK(zeroed("trainer").empty());
  CHECK(zeroed("SFTTrainer").empty());
  CHECK(zeroed("plain") == "start");
}

TEST_CASE("observed plan: weight decay is told where it is added to gradients", "[plan][sources]") {
  const auto decayed = [](const std::string& name) {
    return observed(R"("optimizers": [{"class": ")" + name +
                    R"(", "groups": 1, "options": {"weight_decay": 0.0005}}])");
  };
  CHECK_FALSE(observed_word(decayed("torch.SGD"), "weight-decay").empty());
  CHECK(observed_word(decayed("torch.AdamW"), "weight-decay").empty());
  CHECK(option_of(decayed("torch.AdamW"), "optimizers.0.options.weight_decay") == "no effect");
}

TEST_CASE("observed plan: packages without a part in the run have no effect", "[plan][sources]") {
  const PlanSource source = observed(R"("loop": "trainer", "releases": {"torch": "2.15.0+cu132",
      "accelerate": "1.14.0", "peft": "0.1.0", "deepspeed": "0.19.8"})");
  CHECK(observed_word(source, "torch") == "2.15");
  CHECK(option_of(source, "releases.accelerate") == "not supported");
  CHECK(option_of(source, "releases.peft") == "no effect");
  CHECK(option_of(source, "releases.deepspeed") == "no effect");
}

TEST_CASE("observed plan: SFTTrainer made logits before TRL 1.7", "[plan][sources]") {
  CHECK(observed_word(observed(R"("loop": "SFTTrainer", "releases": {"trl": "0.12.2"})"), "loss") ==
        "hf");
  CHECK(observed_word(observed(R"("loop": "SFTTrainer", "releases": {"trl": "1.7.0"})"), "loss")
            .empty());
}

TEST_CASE("observed plan: what is implied is left out", "[plan][sources]") {
  const PlanSource source = observed(R"("loop": "trainer",
      "model": {"class": "GPT2LMHeadModel", "config": {"model_type": "gpt2"}, "built_on": "cpu",
                "parameters": {"float32": 1}},
      "batch": {"shapes": [[4, 256]]}, "gradients": {"clip": 1.0, "set_to_none": true})");
  CHECK(observed_word(source, "model") == "gpt2");
  CHECK(observed_word(source, "seq") == "256");
  CHECK(observed_word(source, "grad-clip").empty());
  CHECK(option_of(source, "gradients.clip") == "--grad-clip 1");
  CHECK(option_of(source, "batch.shapes") == "--batch 4");
}

TEST_CASE("observed plan: no plan of this program is refused", "[plan][sources]") {
  CHECK_THROWS_WITH(plan_of_recording("{}", "r.pickle"),
                    Contains("r.pickle: highwater.plan: is no plan that this program knows"));
  CHECK_THROWS_AS(plan_of_recording("nonsense", "r.pickle"), InputError);
}

TEST_CASE("observed plan: a model that from_pretrained made on meta was filled somewhere",
          "[plan][sources]") {
  const auto [from, word] = GENERATE(table<std::string, std::string>(
      {{R"("cuda")", "pretrained"}, {R"("cpu")", "cpu"}, {"null", "meta"}}));
  const PlanSource source =
      observed(R"("model": {"built_on": "meta", "moved": ["cuda"], "moved_from": )" + from + "}");
  CHECK(option_of(source, "model.built_on") == "--init " + word);
  const PlanSource emptied = observed(
      R"("model": {"built_on": "meta", "moved": ["to_empty"], "moved_from": )" + from + "}");
  CHECK(option_of(emptied, "model.built_on") == "--init meta");
}

TEST_CASE("observed plan: a model made within deepspeed.zero.Init()", "[plan][sources]") {
  const PlanSource source = observed(R"("strategy": {"kind": "deepspeed", "ranks": 4, "stage": 3},
      "model": {"built_on": "cpu", "zero_init": true})");
  CHECK(observed_word(source, "zero-init") == "true");
  CHECK(option_of(source, "model.built_on") == "--init device");
}

TEST_CASE("observed plan: sequences that Ulysses spreads over ranks", "[plan][sources]") {
  const auto seen = [](std::string_view attention) {
    return observed(fmt::format(R"("batch": {{"shapes": [[2, 256]]}},
        "strategy": {{"kind": "deepspeed", "ranks": 8, "stage": 3, "sequence_ranks": 4,
                      "sequence_attention": {}}})",
                                attention));
  };
  const PlanSource known = seen("\"ulysses\"");
  CHECK(observed_word(known, "dp") == "2");
  CHECK(observed_word(known, "cp") == "4");
  CHECK(observed_word(known, "cp-kind") == "ulysses");
  CHECK(observed_word(known, "seq") == "1024");
  const PlanSource other = seen("null");
  CHECK(option_of(other, "strategy.sequence_ranks") == to_string(KeyFate::not_supported));
  CHECK(observed_word(other, "seq") == "256");
}

// facts/programs/deepspeed.json has the signs.
TEST_CASE("observed plan: keys of DeepSpeed mean what they mean in its file", "[plan][sources]") {
  const PlanSource source = observed(R"("strategy": {"kind": "deepspeed", "ranks": 8, "stage": 3,
      "config": {"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 4,
                   "zero_quantized_weights": true, "mics_shard_size": 2,
                   "allgather_bucket_size": 5, "no_such_key": 1},
                 "bf16": {"enabled": true, "bf16_optimizer_states": true}}})");
  const auto sign_of = [&](std::string_view key) {
    const auto found =
        std::ranges::find(source.keys, "strategy.config." + std::string(key), &SourceKey::key);
    REQUIRE(found != source.keys.end());
    CHECK(found->fate == KeyFate::not_supported);
    return found->sign;
  };
  CHECK(observed_word(source, "hpz-partition-size") == "4");
  CHECK(sign_of("zero_optimization.zero_quantized_weights") == MemorySign::either);
  CHECK(sign_of("zero_optimization.mics_shard_size") == MemorySign::more);
  CHECK(sign_of("bf16.bf16_optimizer_states") == MemorySign::less);
  CHECK(sign_of("zero_optimization.no_such_key") == MemorySign::either);
  CHECK(option_of(source, "strategy.config.zero_optimization.allgather_bucket_size") ==
        "no effect");
  CHECK(option_of(source, "strategy.config.bf16.enabled") == "-");
}

TEST_CASE("observed plan: an optimizer that steps this rank's part", "[plan][sources]") {
  const auto seen = [](std::string_view strategy, std::string_view more) {
    return observed(fmt::format(R"("strategy": {{"kind": "{}", "ranks": 4}}, "optimizers": [
      {{"class": "torch.ZeroRedundancyOptimizer", "groups": 1{}}},
      {{"class": "torch.AdamW", "groups": 1, "implementation": "foreach"}}])",
                                strategy, more));
  };
  const PlanSource source = seen("ddp", "");
  CHECK(observed_word(source, "zero-redundancy") == "parameters");
  CHECK(option_of(source, "optimizers.1.implementation") == "--optimizer-impl foreach");
  CHECK(option_of(source, "optimizers") == "-");
  CHECK(observed_word(seen("ddp", R"(, "redundancy": {"buckets": true, "overlaps": false})"),
                      "zero-redundancy") == "buckets");
  const std::string unknown(to_string(KeyFate::not_supported));
  CHECK(option_of(seen("ddp", R"(, "redundancy": {"buckets": false, "overlaps": true})"),
                  "optimizers.0.redundancy.overlaps") == unknown);
  CHECK(option_of(seen("none", ""), "optimizers.0.class") == unknown);
}

TEST_CASE("observed plan: what fully_shard keeps on a part of the ranks is told",
          "[plan][sources]") {
  const PlanSource source = observed(R"("strategy": {"kind": "fsdp2", "ranks": 8, "units": [
      {"name": "0", "class": "Block", "reshards": true, "kept_over": 4},
      {"name": "", "class": "Model", "reshards": false}]})");
  CHECK(option_of(source, "strategy.units.0.kept_over") == to_string(KeyFate::not_supported));
}

TEST_CASE("observed plan: tensors that are saved on the host", "[plan][sources]") {
  CHECK(observed_word(observed(R"("saved_tensors": "host")"), "offload") == "activations");
  const PlanSource both = observed(R"("saved_tensors": "host",
      "strategy": {"kind": "fsdp2", "ranks": 8, "offload": true})");
  CHECK(option_of(both, "saved_tensors") == to_string(KeyFate::not_supported));
  CHECK(option_of(observed(R"("saved_tensors": "Packer.pack")"), "saved_tensors") ==
        to_string(KeyFate::not_supported));
}

TEST_CASE("observed plan: Megatron-Core's clipping, which is not seen, is told",
          "[plan][sources]") {
  const PlanSource source = observed(R"("loop": "megatron", "gradients": {"clip": null})");
  CHECK(option_of(source, "gradients.clip") == to_string(KeyFate::not_supported));
  CHECK(observed_word(source, "grad-clip").empty());
}

TEST_CASE("observed plan: options that Megatron-Core sets by itself are left out",
          "[plan][sources]") {
  const PlanSource source =
      observed(R"("loop": "megatron", "strategy": {"kind": "none", "ranks": 8},
      "model": {"class": "GPTModel", "built_on": "cpu"}, "batch": {"returns_cache": true})");
  CHECK(observed_word(source, "framework") == "megatron");
  CHECK(observed_word(source, "init").empty());
  CHECK(observed_word(source, "use-cache").empty());
  CHECK(option_of(source, "strategy.ranks") == to_string(KeyFate::not_supported));
}

// accelerate 1.15, utils/dataclasses.py: DeepSpeedPlugin sets steps_per_print to float("inf"),
// which Python's json.dumps writes without quotes.
TEST_CASE("observed plan: infinite numbers of recordings of before", "[plan][sources]") {
  const PlanSource source = observed(R"("strategy": {"kind": "deepspeed", "ranks": 8, "stage": 3,
      "config": {"steps_per_print": Infinity, "least": -Infinity, "mean": NaN,
                 "zero_optimization": {"stage": 3, "reduce_bucket_size": 5000}}},
      "model": {"class": "says \"Infinity\" itself"}, "gradients": {"clip": Infinity})");
  CHECK(observed_word(source, "dp-kind") == "zero3");
  CHECK(observed_word(source, "reduce-bucket-size") == "5000");
  CHECK(observed_word(source, "grad-clip") == "1000000000000");
}

TEST_CASE("observed plan: infinite numbers are texts", "[plan][sources]") {
  CHECK(observed_word(observed(R"("gradients": {"clip": "Infinity"})"), "grad-clip") ==
        "1000000000000");
}

TEST_CASE("observed plan: weights in 4 and 8 bits", "[plan][sources]") {
  const PlanSource packed = observed(R"("model": {"parameters": {"uint8": 900, "float32": 100},
      "quantization": {"format": "nf4", "double_quant": true, "weights": "bfloat16",
      "storage": "uint8", "compute_dtype": "float16", "others": {"float32": 100}}})");
  CHECK(observed_word(packed, "quantize") == "nf4");
  CHECK(observed_word(packed, "double-quant") == "true");
  CHECK(observed_word(packed, "quant-compute-dtype") == "fp16");
  CHECK(observed_word(packed, "prepare-kbit") == "true");
  CHECK(observed_word(packed, "precision") == "bf16");
  const PlanSource bytes = observed(R"("model": {"parameters": {"int8": 900, "bfloat16": 100},
      "quantization": {"format": "int8", "others": {"bfloat16": 100}}})");
  CHECK(observed_word(bytes, "quantize") == "int8");
  CHECK(observed_word(bytes, "prepare-kbit") == "false");
}
