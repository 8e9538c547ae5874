// What the recorder saw of a loop besides its training steps, and of its adapters, as options of a
// plan.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/observed_plan.hpp"

using namespace highwater;
using Catch::Matchers::Contains;
using test::observed;
using test::observed_word;
using test::option_of;

TEST_CASE("observed plan: work besides the training steps is told", "[plan][sources]") {
  const PlanSource source = observed(R"("steps": {"without_gradients": 7},
      "model": {"copies": 1000}, "label_smoothing": 0.1)");
  for (const char* key : {"steps.without_gradients", "model.copies", "label_smoothing"}) {
    CAPTURE(key);
    CHECK(option_of(source, key) == "not supported");
  }
  const PlanSource plain = observed(R"("steps": {"without_gradients": 0}, "label_smoothing": 0.0,
      "model": {"copies": 0})");
  CHECK(option_of(plain, "steps.without_gradients") == "-");
}

TEST_CASE("observed plan: TRL's loops have the batches that they were told", "[plan][sources]") {
  const PlanSource written = observed(R"("loop": "GRPOTrainer",
      "steps": {"without_gradients": 40, "micro_batches": [6, 6]}, "gradients": {"zeroed_at": "start"},
      "trl": {"batch": 8, "accumulation": 2, "completion": 32, "reference": true},
      "batch": {"shapes": [[8, 96], [8, 96]], "attention_mask": "padded"})");
  for (const auto& [option, value] : {std::pair{"framework", "trl-grpo"},
                                      {"batch", "8"},
                                      {"seq", "64"},
                                      {"target-seq", "32"},
                                      {"reference-model", "true"},
                                      {"grad-accum", "2"}}) {
    CAPTURE(option);
    CHECK(observed_word(written, option) == value);
  }
  CHECK(option_of(written, "steps.without_gradients") == "-");
  CHECK(observed_word(written, "attention-mask").empty());
  CHECK(observed_word(written, "zero-grad-at").empty());
  const PlanSource pairs = observed(R"("loop": "DPOTrainer", "batch": {"shapes": [[8, 256]]},
      "trl": {"batch": 4, "completion": null, "reference": false, "generates_by_vllm": true})");
  CHECK(observed_word(pairs, "framework") == "trl-dpo");
  CHECK(observed_word(pairs, "batch") == "4");
  CHECK(observed_word(pairs, "seq") == "256");
  CHECK(observed_word(pairs, "target-seq").empty());
  CHECK(option_of(pairs, "trl.generates_by_vllm") == "not supported");
  const PlanSource answered = observed(R"("loop": "DPOTrainer", "batch": {"shapes": [[8, 256]]},
      "trl": {"batch": 4, "answer": 192, "reference": false})");
  CHECK(observed_word(answered, "seq") == "256");
  CHECK(observed_word(answered, "target-seq") == "192");
  const PlanSource ended = observed(R"("loop": "GRPOTrainer", "batch": {"shapes": [[8, 20]]},
      "trl": {"batch": 8, "completion": 32, "reference": false})");
  CHECK(option_of(ended, "batch.shapes") == "not supported");
}

TEST_CASE("observed plan: adapters that no option says are PEFT's own", "[plan][sources]") {
  const auto adapter = [](const std::string& fields) {
    return observed(
        R"("adapters": [{"kind": "LORA", "rank": 8, "targets": ["v_proj", "q_proj"], )" + fields +
        "}]");
  };
  const PlanSource plain = adapter(R"("config": {"peft_type": "LORA", "r": 8, "use_rslora": true,
      "target_modules": ["v_proj", "q_proj"], "init_lora_weights": true, "loftq_config": {}})");
  CHECK(observed_word(plain, "lora") == "8");
  CHECK(observed_word(plain, "peft").empty());
  for (const char* more :
       {R"("modules_to_save": ["lm_head"])", R"("trainable_token_indices": [1, 2])",
        R"("rank_pattern": {"q_proj": 4})", R"("init_lora_weights": "pissa")", R"("bias": "all")",
        R"("target_modules": "model.layers.*q_proj")"}) {
    CAPTURE(more);
    const PlanSource other =
        adapter(R"("config": {"peft_type": "LORA", "r": 8, )" + std::string(more) + "}");
    CHECK(observed_word(other, "lora").empty());
    CHECK_THAT(observed_word(other, "peft"), Contains("LORA"));
  }
  CHECK_THAT(
      observed_word(observed(R"("adapters": [{"kind": "IA3", "config": {"peft_type": "IA3"}}])"),
                    "peft"),
      Contains("IA3"));
}

TEST_CASE("observed plan: outputs that a step deletes at its end are there before",
          "[plan][sources]") {
  const PlanSource deleted =
      observed(R"("batch": {"keeps_outputs": false, "keeps_outputs_in_step": true})");
  CHECK(observed_word(deleted, "keep-logits") == "true");
  CHECK(option_of(deleted, "batch.keeps_outputs") == "not supported");
  const PlanSource loss_only =
      observed(R"("batch": {"keeps_outputs": false, "keeps_outputs_in_step": false})");
  CHECK(observed_word(loss_only, "keep-logits") == "false");
  CHECK(option_of(loss_only, "batch.keeps_outputs") != "not supported");
}

TEST_CASE("observed plan: Trainer's evaluation", "[plan][sources]") {
  const auto evaluated = [](const std::string& facts, const std::string& loop) {
    return observed(R"("loop": ")" + loop +
                    R"(", "batch": {"shapes": [[4, 512]]}, "evaluation": {"after_steps": [2, 4],
                      "passes": [3, 4], "shapes": [[8, 512]], )" +
                    facts + "}");
  };
  const std::string trainer = R"("by": "trainer", "concatenates": true, "preprocesses": false, )";
  const PlanSource loss =
      evaluated(trainer + R"("loss_only": true, "accumulation_steps": 2)", "trainer");
  CHECK(observed_word(loss, "eval-batch") == "8");
  CHECK(observed_word(loss, "eval-batches") == "4");
  CHECK(observed_word(loss, "eval-steps") == "2");
  CHECK(observed_word(loss, "eval-outputs") == "loss");
  CHECK(observed_word(loss, "eval-accumulation-steps") == "2");
  CHECK(observed_word(
            evaluated(trainer + R"("loss_only": false, "gathered": ["float32", 8, 512, 50257])",
                      "trainer"),
            "eval-outputs") == "logits");
  const std::string likeliest = R"("by": "trainer", "loss_only": false, "preprocesses": true)";
  CHECK(observed_word(evaluated(likeliest + R"(, "gathered": ["int64", 8, 512])", "trainer"),
                      "eval-outputs") == "argmax");
  CHECK(observed_word(evaluated(R"("by": "script")", "plain"), "eval-batch") == "8");
}

TEST_CASE("observed plan: an evaluation that is not simulated adds memory", "[plan][sources]") {
  const auto key_of = [](const std::string& facts, const std::string& loop) {
    const PlanSource source =
        observed(R"("loop": ")" + loop + R"(", "batch": {"shapes": [[4, 512]]}, "evaluation": {)" +
                 facts + "}");
    CHECK(observed_word(source, "eval-batch").empty());
    const auto found = std::ranges::find(source.keys, "evaluation", &SourceKey::key);
    REQUIRE(found != source.keys.end());
    CHECK(found->sign == MemorySign::more);
    return found->fate;
  };
  const std::string times = R"("after_steps": [2], "passes": [3], )";
  const std::string of_trainer = times + R"("by": "trainer", "shapes": [[8, 512]], )";
  CHECK(key_of(of_trainer + R"("loss_only": true)", "SFTTrainer") == KeyFate::not_supported);
  CHECK(key_of(of_trainer + R"("loss_only": false, "preprocesses": true)", "trainer") ==
        KeyFate::not_supported);
  CHECK(key_of(of_trainer + R"("loss_only": false, "gathered": "tuple")", "trainer") ==
        KeyFate::not_supported);
  CHECK(key_of(times + R"("by": "trainer", "loss_only": true, "shapes": [[8, 1024]])", "trainer") ==
        KeyFate::not_supported);
}

TEST_CASE("observed plan: an average of all parameters is an EMA", "[plan][sources]") {
  const auto copied = [](const std::string& types) {
    return observed(R"("model": {"parameters": {"float32": 1000}, "copies": 1000, "copied": )" +
                    types + "}");
  };
  CHECK(observed_word(copied(R"({"float32": 1000})"), "ema") == "true");
  CHECK(observed_word(copied(R"({"bfloat16": 1000})"), "ema").empty());
  CHECK(option_of(copied(R"({"bfloat16": 1000})"), "model.copies") == "not supported");
}

TEST_CASE("observed plan: Trainer's smoothed labels", "[plan][sources]") {
  CHECK(observed_word(observed(R"("loop": "trainer", "label_smoothing": 0.1)"),
                      "label-smoothing") == "0.1");
  CHECK(
      observed_word(observed(R"("loop": "SFTTrainer", "label_smoothing": 0.1)"), "label-smoothing")
          .empty());
}
