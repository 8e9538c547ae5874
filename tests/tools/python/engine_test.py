"""The engine's Python side as far as it goes without torch: plans become scripts, or a sentence says why not."""
import ast
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools" / "python" / name) for name in ("engine", "recorder")]

from highwater_engine import apart, facts, job, models, readers, scripts, serve  # noqa: E402
from highwater_engine.readers import common  # noqa: E402
from highwater_engine.scripts.pipeline import points  # noqa: E402
from highwater_record import attributes, phases, places  # noqa: E402

PLAN = {"framework": "hf", "batch": 2, "seq": [128], "steps": 3, "precision": "fp32", "attention": "sdpa", "checkpoint": "none",
        "checkpoint_impl": "nonreentrant", "dropout": None, "loss": "hf", "keep_logits": True, "use_cache": True,
        "attention_mask": False, "data": "to", "init": "cpu", "mode": "train", "optimizer": "adamw", "optimizer_rank": 128,
        "optimizer_impl": "default", "param_groups": 1, "grad_clip": None, "grad_accum": 1, "set_to_none": True,
        "zero_grad_at": "end", "empty_cache_every_step": False, "lora": 0, "lora_dropout": 0, "dora": False, "reference_model": False,
        "quantize": "none", "double_quant": False, "quant_storage": "uint8", "quant_compute_dtype": "default", "prepare_kbit": True, "dp": 1, "dp_kind": "ddp",
        "tp": 1, "pp": 1, "cp": 1, "ep": 1, "dp_replicate": 1, "bucket_cap_mb": "default", "bucket_view": False,
        "zero_redundancy": "none", "static_graph": False, "find_unused_parameters": False, "param_dtype": "none", "reduce_dtype": "none",
        "reshard": "always", "strategy": "full_shard", "limit_all_gathers": True, "forward_prefetch": False,
        "no_sync": False, "fsdp_units": "blocks", "sp": False, "loss_parallel": False,
        "tp_kind": "megatron", "compile": False, "float8": False, "offload": "none",
        "offload_optimizer_device": "cpu", "offload_param_device": "cpu", "pin_memory": None, "offload_ratio": 1.0, "use_orig_params": True,
        "backward_prefetch": "pre", "zero_init": False, "pp_schedule": "1f1b", "pp_chunks": 2, "experts": "eager",
        "label_smoothing": 0, "eval_batch": 0, "eval_batches": 2, "eval_steps": 2, "eval_outputs": "loss", "eval_accumulation_steps": None,
        "eval_concat": True, "ema": False}
MODEL = models.of_transformers("AutoModelForCausalLM", ("transformers.models.gpt2.modeling_gpt2", "GPT2Block"))


def made(**changed):
    plan = job.Plan({**PLAN, **changed}, changed)
    framework = plan["framework"]
    result = readers.FRAMEWORKS[framework](plan, MODEL)
    plan["steps"], plan["seq"]
    plan.require_all_read()
    return result


class Scripts(unittest.TestCase):
    def test_every_plan_that_is_taken_is_python(self):
        for changed in ({}, {"precision": "amp-fp16", "grad_clip": 1.0}, {"precision": "bf16", "checkpoint": "full"},
                        {"grad_accum": 4, "zero_grad_at": "start"}, {"seq": [128, 64]}, {"mode": "eval"}, {"lora": 8},
                        {"dp": 8, "no_sync": True, "grad_accum": 2}, {"dp": 8, "bucket_view": True, "static_graph": True},
                        {"dp": 8, "dp_kind": "fsdp1", "param_dtype": "bf16", "strategy": "shard_grad_op"},
                        {"dp": 8, "dp_kind": "fsdp2", "reshard": "never"}, {"param_groups": 2, "optimizer": "sgd"},
                        {"dp": 4, "zero_redundancy": "buckets"}, {"dp": 2, "zero_redundancy": "parameters", "param_groups": 2},
                        {"init": "device", "use_cache": False, "keep_logits": False}, {"optimizer_impl": "fused"},
                        {"dp": 8, "dp_kind": "fsdp2", "lora": 8, "dp_replicate": 2}, {"dp": 8, "dp_kind": "fsdp1", "lora": 8},
                        {"dp": 8, "dp_kind": "fsdp1", "strategy": "hybrid_shard", "dp_replicate": 2, "offload": "params"},
                        {"dp": 8, "dp_kind": "fsdp2", "offload": "params", "compile": True}, {"offload": "activations"},
                        {"framework": "accelerate-fsdp2", "dp": 8, "dp_kind": "fsdp2", "init": "meta", "grad_accum": 2},
                        {"framework": "accelerate-fsdp2", "dp": 8, "dp_kind": "fsdp2", "lora": 8, "grad_clip": 1.0},
                        {"framework": "deepspeed", "dp": 8, "dp_kind": "zero3", "zero_init": True, "offload": "both"},
                        {"framework": "deepspeed", "dp": 8, "dp_kind": "zero0", "precision": "bf16", "optimizer": "sgd"},
                        {"dp": 8, "dp_kind": "zero2", "precision": "bf16"}, {"compile": True}, {"optimizer": "adamw-8bit"}, {"optimizer": "muon"},
                        {"optimizer": "galore-adamw", "optimizer_rank": 8}, {"optimizer": "schedule-free-adamw"},
                        {"framework": "trainer", "optimizer": "apollo-adamw"}, {"optimizer": "adalomo"},
                        {"framework": "trainer", "precision": "amp-bf16", "dp": 2}, {"framework": "trl-sft", "precision": "amp-bf16"}):
            with self.subTest(changed):
                ast.parse(made(**changed).script)
                job.require_plan(job.Plan({**PLAN, "model_code": "hf", **changed}, changed))

    def test_every_script_imports_what_the_model_asks_for(self):
        model = dataclasses.replace(MODEL, imports=f"{MODEL.imports}, set_seed", prepare="set_seed(0)")
        for framework in ("hf", "trainer", "trl-sft"):
            plan = job.Plan({**PLAN, "framework": framework, "precision": "amp-bf16"}, ())
            with self.subTest(framework):
                self.assertIn(model.imports, readers.FRAMEWORKS[framework](plan, model).script)

    def test_quantised_weights_are_read_from_a_checkpoint(self):
        packed = {"lora": 8, "quantize": "nf4", "double_quant": True, "precision": "bf16", "checkpoint": "full"}
        job_of = made(**packed, checkpoint_impl="reentrant")
        ast.parse(job_of.script)
        ast.parse(job_of.files["checkpoint.py"])
        for part in ('bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_use_double_quant=True',
                     "prepare_model_for_kbit_training(model, use_gradient_checkpointing=True)"):
            self.assertIn(part, job_of.script)
        self.assertNotIn("model.to(", job_of.script)
        self.assertIn('gradient_checkpointing_kwargs={"use_reentrant": False}', made(**packed).script)
        self.assertIn("load_in_8bit=True", made(lora=8, quantize="int8", dora=True).script)
        self.assertIn("use_dora=True", made(lora=8, dora=True).script)

    def test_adapters_of_any_kind_are_pefts_own(self):
        adapter = '{"peft_type": "IA3", "target_modules": ["c_attn"], "inference_mode": true, "revision": null}'
        for changed in ({}, {"framework": "trainer"}, {"framework": "trl-sft", "precision": "amp-bf16"},
                        {"framework": "trl-dpo", "precision": "bf16"}):
            with self.subTest(changed):
                script = made(peft=adapter, **changed).script
                ast.parse(script)
                self.assertIn("import PeftConfig", script)
                self.assertIn("PeftConfig.from_peft_type(**{'peft_type': 'IA3', 'target_modules': ['c_attn'], "
                              "'inference_mode': False, 'task_type': 'CAUSAL_LM'})", script)
        self.assertIn("'task_type': 'TOKEN_CLS'", made(peft='{"peft_type": "LOHA", "task_type": "TOKEN_CLS"}').script)

    def test_trls_loops_load_their_models_by_a_path(self):
        for loop, said in (("dpo", "max_length=128"), ("kto", "max_length=128"), ("orpo", "max_length=128"), ("reward", "max_length=128"),
                           ("grpo", "max_completion_length=32, num_generations=2"), ("rloo", "max_completion_length=32")):
            target = {"target_seq": 32} if loop in ("grpo", "rloo") else {}
            with self.subTest(loop):
                job_of = made(framework=f"trl-{loop}", precision="amp-bf16", **target)
                ast.parse(job_of.script)
                self.assertIn(said, job_of.script)
                self.assertLessEqual({"checkpoint.py", "tokenizer.json"}, set(job_of.files))

    def test_an_answer_is_half_of_a_sequence_or_as_told(self):
        def script(**changed):
            return made(framework="trl-dpo", precision="bf16", **changed).script

        self.assertIn('"prompt": ["a " * (64)]', script())
        self.assertIn('"prompt": ["a " * (28)]', script(target_seq=100))

    def test_words_are_read_by_their_own_tokenizer_and_not_by_the_models(self):
        for framework in ("trl-dpo", "trl-grpo", "trl-sft"):
            written = made(framework=framework, precision="amp-bf16", **({"target_seq": 32} if framework == "trl-grpo" else {})).script
            self.assertIn("processing_class=PreTrainedTokenizerFast.from_pretrained(\".\")", written)
            self.assertNotIn("AutoTokenizer", written)

    def test_a_reference_model_is_said_where_trl_would_do_otherwise(self):
        def script(loop, **changed):
            return made(framework=f"trl-{loop}", precision="amp-bf16", target_seq=32, **changed).script

        self.assertIn("precompute_ref_log_probs=True", made(framework="trl-dpo", precision="bf16").script)
        self.assertNotIn("precompute_ref", made(framework="trl-dpo", precision="bf16", reference_model=True).script)
        self.assertNotIn("precompute_ref", made(framework="trl-dpo", precision="bf16", lora=8).script)
        self.assertIn("beta=0.04", script("grpo", reference_model=True))
        self.assertNotIn("beta", script("grpo"))
        self.assertIn("beta=0.0", script("rloo"))

    def test_what_a_loop_of_trl_needs_is_asked_for(self):
        for changed, named in (({"framework": "trl-grpo"}, "--target-seq"),
                               ({"framework": "trl-grpo", "target_seq": 32, "batch": 1}, "--batch 1"),
                               ({"framework": "trl-dpo", "seq": [128, 64]}, "--seq"),
                               ({"framework": "trl-dpo", "target_seq": 128}, "--target-seq 128"),
                               ({"framework": "trl-dpo", "dp": 2, "dp_kind": "zero3"}, "--dp-kind zero3")):
            with self.subTest(named), self.assertRaises(job.Refused) as refused:
                made(precision="amp-bf16", **changed)
            self.assertIn(named, str(refused.exception))

    def test_stages_of_a_pipeline_are_wrapped_as_whole_models_are(self):
        for changed in ({}, {"schedule": "interleaved", "chunks": 2}, {"sharding": "fsdp2", "ranks": 4, "init": "meta"},
                        {"sharding": "ddp", "ranks": 4, "stage_class": "Gpt2Stage"}):
            with self.subTest(changed):
                job_of = {**scripts.DEFAULTS, "model": MODEL, "stages": 2, "ranks": 2, "layers": 5, "seq": (64,), **changed}
                ast.parse(scripts.pipeline_script(job_of))
        self.assertEqual([points(5, 2), points(7, 4)], [[0, 2, 5], [0, 1, 3, 5, 7]])

    def test_a_pipeline_needs_labels(self):
        """The attempt without labels would hide why the one with them had failed."""
        plan = job.Plan({**PLAN, "pp": 2, "use_cache": False}, {})
        with self.assertRaises(job.Refused) as refused:
            readers.FRAMEWORKS["hf"](plan, dataclasses.replace(MODEL, fields='"input_ids": tokens'))
        self.assertIn("--pp: the last stage's loss is one of labels", str(refused.exception))

    def test_torchtitans_registry_is_python(self):
        sizes = dict.fromkeys(("dim", "vocabulary", "layers", "heads", "kv_heads", "hidden", "head_dim", "positions", "theta",
                               "scaling", "tied"), 1)
        files = scripts.torchtitan_files({
            "sizes": {**sizes, "embedding": "_EMBEDDING_INIT"}, "converters": "", "loss": "CrossEntropyLoss.Config()", "batch": 2,
            "seq": (64,), "global_batch": 4, "clip": 1, "steps": 3, "dtype": "float32", "replicas": 1, "shards": 2,
            "tensor_ranks": 1, "splits_sequence": True, "context_ranks": 1, "checkpoint": "full", "compile": False,
            "implementation": "fused", "ranks": 2})
        ast.parse(files["registry.py"])
        with tempfile.TemporaryDirectory() as folder:
            job.write(job.Job(scripts.TORCHTITAN, files), folder)
            self.assertIn("memory", pathlib.Path(folder, "text", "data.json").read_text())

    def test_a_sequence_is_cut_with_its_labels(self):
        for framework in ({}, {"framework": "accelerate-fsdp2", "init": "meta"}):
            script = made(dp=2, cp=2, dp_kind="fsdp2", **framework).script
            self.assertIn("tokens[:-1]", script)
            ast.parse(script)

    def test_a_script_ends_after_its_steps(self):
        self.assertIn("return 24", made(grad_accum=4).script)  # 3 steps of 4 micro-batches of 2
        self.assertIn("max_steps=3", made(framework="trainer").script)

    def test_trainer_mixes_no_lengths(self):
        self.assertIn("trainer = InOrder(model=model", made(framework="trainer", seq=[128, 64]).script)
        self.assertIn("trainer = Trainer(model=model", made(framework="trainer", seq=[128, 128]).script)

    def test_what_a_script_cannot_say_is_refused_with_the_option(self):
        for changed, named in (({"pp": 2, "use_cache": False}, "--pp: "), ({"checkpoint": "every-2"}, "--checkpoint every-2"),
                               ({"framework": "accelerate-fsdp2", "dp": 2, "dp_kind": "zero3"}, "--dp-kind zero3"),
                               ({"framework": "accelerate-fsdp2", "dp_kind": "fsdp2"}, "--dp 1"),
                               ({"framework": "accelerate-fsdp2", "dp": 2, "dp_kind": "fsdp2", "param_dtype": "bf16"},
                                "--reduce-dtype none"),
                               ({"dp": 2, "dp_kind": "zero2", "offload": "params"}, "--offload params"),
                               ({"dp": 2, "tp": 2, "dp_kind": "fsdp1"}, "--dp-kind fsdp1"), ({"dropout": 0.1}, "--dropout"),
                               ({"target_seq": 32}, "--target-seq 32"), ({"no_such_option": True}, "--no-such-option"),
                               ({"dp": 2, "dp_kind": "fsdp2", "reshard": "but-last"}, "--reshard but-last"),
                               ({"init": "meta"}, "--init meta"), ({"pp": 2}, "--use-cache true: --engine torch knows false;"),
                               ({"experts": "even"}, "--experts even"), ({"event_queries": 1}, "--event-queries"),
                               ({"framework": "trainer", "no_sync": True}, "--no-sync"),
                               ({"framework": "trainer", "optimizer": "adafactor"}, "--optimizer adafactor"),
                               ({"dp": 2, "dp_kind": "zero2", "optimizer": "muon"}, "--optimizer muon"),
                               ({"framework": "trainer", "optimizer_impl": "loop"}, "--optimizer-impl"),
                               ({"framework": "trl-sft", "precision": "amp-fp16"}, "--precision amp-fp16")):
            with self.subTest(changed), self.assertRaises(job.Refused) as refused:
                made(**changed)
            self.assertIn(named, str(refused.exception))

    def test_gradients_are_zeroed_where_the_plan_says(self):
        self.assertIn("\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n",
                      made(zero_grad_at="backward").script + "\n")
        several = made(zero_grad_at="backward", grad_accum=4).script
        self.assertIn("if step % 4 == 0:\n        optimizer.zero_grad()\n    loss.backward()", several)
        self.assertEqual(several.count("zero_grad"), 1)

    def test_a_padded_batch_hides_a_token(self):
        self.assertIn("torch.ones_like(tokens) * (torch.arange(128) < 128 - 1)", made(attention_mask="padded").script)
        self.assertNotIn("arange", made(attention_mask=True).script)

    def test_a_mask_is_given_where_the_forward_takes_one(self):
        text = models.dataclasses.replace(MODEL, data="class Examples:\n    row = {{{fields}}}\n", fields='"labels": 0',
                                          mask='"attention_mask": torch.ones({seq}){hidden}, ', name="Classifier")
        image = models.dataclasses.replace(text, mask="")
        said = scripts.data({**scripts.DEFAULTS, "model": text, "seq": (7,), "mask": "padded"})
        self.assertIn('{"attention_mask": torch.ones(7) * (torch.arange(7) < 7 - 1), "labels": 0}', said)
        plan = job.Plan({**PLAN, "attention_mask": True}, ["attention_mask"])
        self.assertEqual(common.mask(plan, text), "full")
        with self.assertRaisesRegex(job.Refused, "--attention-mask full: Classifier is given no mask of tokens"):
            common.mask(plan, image)

    def test_labels_may_have_a_length_of_their_own(self):
        model = models.dataclasses.replace(MODEL, targets=True)
        plan = job.Plan({**PLAN, "target_seq": 32}, ["target_seq"])
        written = readers.FRAMEWORKS["hf"](plan, model).script
        self.assertIn('tokens = torch.randint(0, config.vocab_size, (128,))', written)
        self.assertIn('"labels": torch.randint(0, config.vocab_size, (32,))', written)

    def test_labels_no_longer_than_the_positions(self):
        model = models.dataclasses.replace(MODEL, targets=True, longest=64, name="Translator")
        with self.assertRaisesRegex(job.Refused, "--target-seq 65: Translator has positions for 64 tokens"):
            common.target(job.Plan({**PLAN, "target_seq": 65}, ["target_seq"]), model)
        self.assertEqual(common.target(job.Plan({**PLAN, "target_seq": 64}, ["target_seq"]), model), 64)

    def test_trainer_evaluates_between_steps(self):
        script = made(framework="trainer", eval_batch=8, eval_batches=3, eval_outputs="argmax").script
        ast.parse(script)
        self.assertIn('eval_strategy="steps", eval_steps=2, per_device_eval_batch_size=8', script)
        self.assertIn("range(24))", script)
        self.assertIn("compute_metrics=", script)
        self.assertIn(".argmax(-1)", script)
        self.assertIn("label_smoothing_factor=0.1", made(framework="trainer", label_smoothing=0.1).script)
        loss = made(framework="trainer", eval_batch=8, eval_accumulation_steps=4, eval_concat=False).script
        ast.parse(loss)
        self.assertIn("eval_accumulation_steps=4, eval_do_concat_batches=False", loss)
        self.assertNotIn("compute_metrics", loss)
        with self.assertRaisesRegex(job.Refused, "--eval-batch"):
            made(framework="trl-sft", precision="amp-bf16", eval_batch=8)

    def test_two_optimizers_step_one_after_the_other(self):
        script = made(optimizer="muon").script
        self.assertIn("optimizer.step()\n    second_optimizer.step()\n    optimizer.zero_grad()\n    second_optimizer.", script)

    def test_projected_layers_are_a_group_with_their_rank(self):
        self.assertIn('{"params": targets, "rank": 8,', made(optimizer="galore-adamw", optimizer_rank=8).script)
        trainer = made(framework="trainer", optimizer="apollo-adamw", optimizer_rank=8).script
        self.assertIn('optim="apollo_adamw", optim_target_modules="all-linear", optim_args="rank=8"', trainer)

    def test_schedule_free_optimizers_are_told_that_training_begins(self):
        self.assertIn("optimizer.train()", made(optimizer="schedule-free-sgd").script)

    def test_the_model_is_transformers(self):
        read_elsewhere = {name: None for name in job._READ_ELSEWHERE if name not in PLAN}
        with self.assertRaisesRegex(job.Refused, "--model-code torchtune"):
            job.make(job.Plan({**read_elsewhere, **PLAN, "model_code": "torchtune"}, ()), None)

    def test_a_model_in_bf16_under_autocast(self):
        self.assertEqual(common.precision({"precision": "bf16+amp"}), ("bf16", "bf16"))
        self.assertEqual(common.precision({"precision": "amp-bf16"}), ("fp32", "bf16"))

    def test_clipping_that_is_not_trainers_own_is_passed_on(self):
        self.assertIn("max_grad_norm=2.0", made(framework="trainer", grad_clip=2.0).script)
        self.assertNotIn("max_grad_norm", made(framework="trainer").script)

    def test_ranks_are_told_as_by_torchrun(self):
        variables = job.variables(job.Job("", {}, ranks=16), 9)
        self.assertEqual((variables["RANK"], variables["LOCAL_RANK"], variables["WORLD_SIZE"]), ("9", "1", "16"))
        self.assertEqual(job.variables(job.Job("", {}), 0), {})
        self.assertEqual(job.variables(job.Job("", {}, is_launched=True), 0)["WORLD_SIZE"], "1")

    def test_examples_of_other_inputs(self):
        model = models.of_transformers("AutoModelForImageClassification")
        model = models.dataclasses.replace(model, data="class Examples:\n    count = {examples}\n    row = {{{fields}}}\n",
                                           fields='"labels": {seq}')
        self.assertEqual(scripts.data({**scripts.DEFAULTS, "model": model, "seq": (7,), "examples": 3}),
                         'class Examples:\n    count = 3\n    row = {"labels": 7}\n')


def entry(action, address, frames=(), size=512):
    return {"action": action, "addr": address, "frames": list(frames), "size": size}


def frame(file, function):
    return {"filename": file, "name": function, "line": 1}


def at(*counts):
    return places.Moment(0, counts)


class Attributes(unittest.TestCase):
    def setUp(self):
        self.attributes = attributes.Attributes(None, None)
        self.history = [entry("alloc", 1), entry("alloc", 2), entry("alloc", 3), entry("free_requested", 3),
                        entry("free_completed", 3), entry("alloc", 4)]
        self.marks = [phases.Mark(at(0, 0, 0), "init"), phases.Mark(at(1, 0, 0), "step 0"),
                      phases.Mark(at(1, 0, 0), "forward"), phases.Mark(at(3, 1, 1), "backward")]

    def names(self, kind):
        self.attributes.write({"device_traces": [self.history]}, self.marks)
        return [next((frame["name"] for frame in entry["frames"] if frame["filename"] == kind), None)
                for entry in self.history if entry["action"] == "alloc"]

    def test_what_nobody_named_is_told_by_its_life(self):
        self.assertEqual(self.names("category"), [None, "activation", "temporary", "temporary"])

    def test_a_block_is_what_its_tensor_is_when_it_is_named(self):
        self.attributes._categories = [attributes.Note(at(3, 1, 1), {1: "parameter", 3: "gradient"}),
                                       attributes.Note(at(4, 1, 1), {4: "gradient", 1: "input"})]
        self.assertEqual(self.names("category"), ["parameter", "activation", "temporary", "gradient"])

    def test_a_call_stack_tells_copies_of_weights_and_communication(self):
        fsdp, c10d = "/t/torch/distributed/fsdp/_flat_param.py", "/t/torch/distributed/distributed_c10d.py"
        self.history[0]["frames"] = [frame("/t/torch/storage.py", "resize_"), frame(fsdp, "_use_low_precision_shard")]
        self.history[1]["frames"] = [frame(c10d, "all_reduce"), frame("train.py", "<module>")]
        self.history[2]["frames"] = [frame("model.py", "forward"), frame("/t/torch/nn/parallel/distributed.py", "forward")]
        self.assertEqual(self.names("category"), ["weight_copy", "communication", "temporary", "temporary"])

    def test_blocks_of_one_product_are_workspaces(self):
        linear = [frame("/t/torch/nn/modules/linear.py", "forward")]
        self.history[2:4] = [entry("alloc", 3, linear, 64), entry("free_requested", 3)]
        self.history += [entry("alloc", 5, (), 64), entry("free_requested", 5), entry("alloc", 6, (), 32),
                         entry("free_requested", 6)]
        self.assertEqual(self.names("category")[2:], ["workspace", "temporary", "workspace", "temporary"])

    def test_what_handles_keep_is_a_workspace(self):
        self.attributes._kept = frozenset({2})
        self.assertEqual(self.names("category")[1], "workspace")

    def test_frames_of_the_engine_are_left_out(self):
        own = frame("/f/highwater_engine/serve.py", "_execute")
        self.history[1]["frames"] = [frame("train.py", "<module>"), own, frame("<frozen runpy>", "_run")]
        self.names("category")
        self.assertEqual(self.history[1]["frames"][-1]["filename"], "train.py")

    def test_modules_are_those_of_forward_and_backward(self):
        self.attributes._modules = [attributes.Note(at(0, 0, 0), "model"), attributes.Note(at(2, 0, 0), "model.head")]
        self.assertEqual(self.names("module"), [None, "model", "model.head", "model.head"])

    def test_equal_stacks_stay_one_list(self):
        shared = [{"filename": "a.py", "name": "f", "line": 1}]
        self.history[1]["frames"] = self.history[2]["frames"] = shared
        self.attributes.write({"device_traces": [self.history[:3]]}, self.marks)
        self.assertIs(self.history[1]["frames"], self.history[2]["frames"])


class Apart(unittest.TestCase):
    def test_a_result_comes_out_of_the_fork_and_nothing_else_does(self):
        changed = []
        self.assertEqual(apart.result(lambda: changed.append(1) or job.Job("script", {}, 2)), job.Job("script", {}, 2))
        self.assertEqual(changed, [])

    def test_a_fork_that_dies_refuses(self):
        self.assertIn("ended", apart.result(os._exit, 1)["refused"])


class Imports(unittest.TestCase):
    def test_a_package_that_reports_the_device_does_not_reach_it(self):
        def touched(*_):
            raise AssertionError("the device was asked")
        cuda = types.SimpleNamespace(get_device_capability=touched)
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(sys, "path", [folder, *sys.path]):
            pathlib.Path(folder, "reports_device.py").write_text("import sys\nsaid = sys.modules['cuda'].get_device_capability(0)\n")
            with unittest.mock.patch.dict(sys.modules, {"cuda": cuda}), \
                    unittest.mock.patch.object(apart, "ONLY_REPORT", ("reports_device", "not_installed")):
                apart.load_reporting(types.SimpleNamespace(cuda=cuda))
                self.assertEqual(sys.modules["reports_device"].said, apart.CAPABILITY)
        self.assertIs(cuda.get_device_capability, touched)

    def test_imports_that_fail_are_left_to_the_script(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write("import json\nimport no_such_module\n")
            script.flush()
            serve._load_imports(script.name)


class Refusals(unittest.TestCase):
    def test_a_loop_that_is_not_written_is_refused_before_torch_is_loaded(self):
        """Loading torch takes half a minute; here it would fail."""
        plan = {"options": {"framework": "torchtune", "model_code": "torchtune", "data": "to"}, "changed": [],
                "model": {"config": {}}, "number": 1, "only_asks": True}
        with unittest.mock.patch.object(serve, "_load_torch", side_effect=AssertionError("torch was loaded")):
            self.assertIn("--framework torchtune: --engine torch runs", serve._begin(plan)["refused"])

    def test_what_no_model_changes_is_refused_before_torch_is_loaded(self):
        for changed, named in (({"dropout": 0.1}, "--dropout"), ({"event_queries": 1}, "--event-queries"),
                               ({"dp": 2, "dp_kind": "fsdp2", "reshard": "but-last"}, "--reshard but-last"),
                               ({"pp": 2, "use_cache": False, "no_sync": True}, "--no-sync")):
            question = {"options": {**PLAN, "model_code": "hf", **changed}, "changed": list(changed), "model": {"config": {}},
                        "number": 1, "only_asks": True}
            with self.subTest(changed), unittest.mock.patch.object(serve, "_load_torch", side_effect=AssertionError("loaded")):
                self.assertIn(named, serve._begin(question)["refused"])

    def test_what_depends_on_the_model_is_not_refused_before(self):
        for changed in ({"target_seq": 32}, {"checkpoint": "full"}, {"dp": 2, "tp": 2, "dp_kind": "fsdp2"}, {"pp": 2, "use_cache": False}):
            with self.subTest(changed):
                job.require_plan(job.Plan({**PLAN, "model_code": "hf", **changed}, changed))


class Ways(unittest.TestCase):
    def test_the_one_that_ended_well_is_taken_wherever_it_stands(self):
        request = {"model": {"config": "{}"}, "options": {}}
        jobs = [job.Job("first", {}, way=0), job.Job("third", {}, way=2)]  # the second is refused
        with unittest.mock.patch.dict(serve._ran, clear=True):
            self.assertEqual(serve._likeliest(request, jobs), [0, 1])
            serve._ran[serve._model(request)] = 2
            self.assertEqual(serve._likeliest(request, jobs), [1])
            serve._ran[serve._model(request)] = 1
            self.assertEqual(serve._likeliest(request, jobs), [0, 1])


class Installed(unittest.TestCase):
    def releases(self, version, path=""):
        """As a Python says them that has a torch with this version.py."""
        with tempfile.TemporaryDirectory() as place:
            package = pathlib.Path(place, "torch")
            package.mkdir()
            (package / "__init__.py").write_text("raise ImportError('loaded too early')")
            (package / "version.py").write_text(version)
            code = f"import sys; sys.path.insert(0, {place!r}); from highwater_engine import installed; print(installed.releases())"
            return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=place,
                                  env={"PYTHONPATH": os.pathsep.join([str(ROOT / "tools" / "python" / "engine"), path])})

    def test_torch_is_named_and_not_loaded(self):
        said = self.releases("__version__ = '2.15.0+cu132'\ncuda = '13.2'\n")
        self.assertIn("'torch': '2.15.0+cu132'", said.stdout, said.stderr)

    def test_a_torch_without_cuda_is_refused(self):
        said = self.releases("__version__ = '2.15.0+cpu'\ncuda = None\n")
        self.assertEqual((said.returncode, said.stderr), (1, "has PyTorch 2.15.0+cpu, built without CUDA\n"))

    def test_code_without_a_release_has_no_word(self):
        version = "__version__ = '2.15.0+cu132'\ncuda = '13.2'\n"
        self.assertIn("'installed': None", self.releases(version, "/some/code").stdout)
        self.assertNotIn("'installed': None", self.releases(version).stdout)


class Facts(unittest.TestCase):
    """The rows that the program and its guests share."""

    def test_a_script_for_each_optimizer(self):
        rows = {row["word"]: row for row in facts.facts("optimizers.json")["optimizers"]}
        self.assertEqual(list(scripts.OPTIMIZERS), [word for word in rows if word != "none"])
        made = scripts.OPTIMIZERS["galore-adamw"]
        self.assertEqual((made.name, made.trains, made.takes_model), ("galore_torch.GaLoreAdamW", False, False))
        self.assertIn('"rank": {rank}', made.targeted)
        self.assertTrue(scripts.OPTIMIZERS["lomo"].takes_model)
        self.assertTrue(scripts.OPTIMIZERS["schedule-free-sgd"].trains)
        self.assertIsNone(scripts.TRAINER_OPTIMIZERS["adamw"])
        self.assertEqual(scripts.TRAINER_OPTIMIZERS["adafactor-hf"], "adafactor")
        self.assertNotIn("came", scripts.TRAINER_OPTIMIZERS)

    def test_the_unpacked_file_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "highwater_engine"
            (package / "facts").mkdir(parents=True)
            (package / "facts" / "optimizers.json").write_text('{"optimizers": ["unpacked"]}')
            (package / "facts.py").write_text(pathlib.Path(facts.__file__).read_text())
            read = "import facts; print(facts.facts('optimizers.json'))"
            run = subprocess.run([sys.executable, "-c", read], cwd=package, text=True, capture_output=True, check=True)
            self.assertEqual(run.stdout, "{'optimizers': ['unpacked']}\n")


if __name__ == "__main__":
    unittest.main()
