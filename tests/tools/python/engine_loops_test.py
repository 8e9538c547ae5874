"""Loops, losses and models beside the one that is trained, as scripts of the engine's Python side say them, without torch."""
import ast
import dataclasses
import types
import unittest
import unittest.mock

from engine_test import MODEL, PLAN, made

from highwater_engine import architectures, given, job, keywords, models, readers
from highwater_engine.architectures import inputs, pairs, sizes
from highwater_engine.asking import UnknownModel
from highwater_engine.given import Given

CLASSIFIER = models.Model(imports="import timm", prepare="", expression='timm.create_model("small")', data="{fields}", fields="{floats}",
                          call='{called}(batch["image"])', loss="loss(outputs)", has_config=False, is_transformers=False, name="timm:small")


def written(model=MODEL, beside=None, **changed):
    """beside: the teacher's model."""
    plan = job.Plan({**PLAN, "model_code": "hf", **changed}, changed, beside)
    script = readers.FRAMEWORKS[plan["framework"]](plan, model).script
    ast.parse(script)
    return script


class Accelerator(unittest.TestCase):
    def test_a_loop_around_it(self):
        script = written(framework="accelerate", precision="amp-bf16", grad_accum=2, grad_clip=1.0)
        self.assertIn('accelerator = Accelerator(gradient_accumulation_steps=2, mixed_precision="bf16")', script)
        self.assertIn("model, optimizer, loader = accelerator.prepare(model, optimizer, loader)", script)
        self.assertIn("    if accelerator.sync_gradients:\n            accelerator.clip_grad_norm_(model.parameters(), 1.0)", script)
        self.assertNotIn("autocast", script)  # accelerate wraps the forward itself

    def test_it_is_written_as_the_plan_says(self):
        script = written(framework="accelerate", keep_logits=False, zero_grad_at="backward", init="device")
        self.assertIn("    loss = model(**batch).loss\n    optimizer.zero_grad()\n    accelerator.backward(loss)\n", script)
        self.assertIn("with torch.device(accelerator.device):", script)

    def test_of_what_no_loader_stacks_only_the_model_is_prepared(self):
        model = dataclasses.replace(CLASSIFIER, data="", fields="", batches="[batch] * {steps}", load="batch = batch.to({device})")
        script = written(model, framework="accelerate")
        self.assertIn("model, optimizer = accelerator.prepare(model, optimizer)", script)
        self.assertIn("    batch = batch.to(accelerator.device)\n", script)

    def test_shards_are_another_frameworks(self):
        with self.assertRaisesRegex(job.Refused, "--dp-kind fsdp2"):
            written(framework="accelerate", dp=4, dp_kind="fsdp2")


class Evaluation(unittest.TestCase):
    def test_a_plain_loop_evaluates_after_so_many_steps(self):
        script = written(eval_batch=16, eval_steps=2, eval_batches=3, grad_accum=2, precision="amp-bf16")
        self.assertIn("evaluation = torch.utils.data.DataLoader(torch.utils.data.Subset(Tokens(), range(48)), batch_size=16)", script)
        self.assertIn("def evaluate():\n    model.eval()\n    with torch.no_grad():\n        for batch in evaluation:", script)
        self.assertIn("    if (step + 1) % 4 == 0:\n        evaluate()", script)
        self.assertEqual(script.count("torch.autocast("), 2)

    def test_around_an_accelerator_its_loader_is_prepared(self):
        script = written(framework="accelerate", eval_batch=16)
        self.assertIn("evaluation = accelerator.prepare(evaluation)", script)
        self.assertIn("for step, batch in enumerate(loader):", script)

    def test_a_function_is_asked_for_a_batch_of_that_size(self):
        model = dataclasses.replace(CLASSIFIER, batches="[batch] * {steps}", other_batches="[make(batch={batch})[1]] * {steps}")
        self.assertIn("evaluation = [make(batch=64)[1]] * 2\n", written(model, eval_batch=64))
        with self.assertRaisesRegex(job.Refused, "--eval-batch 64: timm:small makes its own batch"):
            written(dataclasses.replace(model, fixes=("batch",)), eval_batch=64)


def config_of(**fields):
    config = types.SimpleNamespace(**fields)
    config.get_text_config = lambda: config
    return config


class Varied(unittest.TestCase):
    """--varied-inputs: each batch has lengths and sizes of its own."""

    def test_labels_are_as_varied_as_inputs(self):
        script = written(dataclasses.replace(MODEL, targets=True), batch=4, seq=[50, 100, 80], target_seq=40, varied_inputs=True)
        self.assertIn("torch.randint(0, config.vocab_size, ((50, 100, 80)[index // 4 % 3],))", script)
        self.assertIn('"labels": torch.randint(0, config.vocab_size, ((40, 20, 32)[index // 4 % 3],))', script)
        fixed = written(dataclasses.replace(MODEL, targets=True), batch=4, seq=[50, 100, 80], target_seq=40)
        self.assertIn('"labels": torch.randint(0, config.vocab_size, (40,))', fixed)

    def test_sounds_have_their_lengths_with_their_masks(self):
        class Listener:
            main_input_name = "input_values"

            def forward(self, input_values, attention_mask=None, labels=None):
                """
                input_values (`torch.FloatTensor` of shape `(batch_size, sequence_length)`):
                """

        made = inputs.Inputs(Listener, sizes.Sizes(config_of(vocab_size=32), Given(audio_seconds=1.0, varied=(700, 1000))))
        batch = inputs.batch_of(made, "class")
        self.assertTrue(batch.fields["input_values"].startswith("torch.randn((11200, 16000)"))
        self.assertIn("[index // {batch} % 2]", batch.fields["input_values"])
        model = dataclasses.replace(MODEL, data=architectures.EXAMPLES, fields=f'"input_values": {batch.fields["input_values"]}',
                                    mask=inputs.mask_of(made, batch), masked=inputs.masked_of(made, batch), varies=True)
        script = written(model, batch=8, varied_inputs=True, attention_mask="padded")
        self.assertIn("[index // 8 % 2], dtype=torch.long) * (torch.arange((11200, ", script)
        plain = inputs.Inputs(Listener, sizes.Sizes(config_of(vocab_size=32), Given(audio_seconds=1.0)))
        self.assertEqual(inputs.batch_of(plain, "class").fields["input_values"], "torch.randn(16000{floats})")

    def test_boxes_are_learnt_from_photographs_of_several_sizes(self):
        class Detector:
            main_input_name = "pixel_values"

            def forward(self, pixel_values, labels=None):
                """
                pixel_values (`torch.FloatTensor` of shape `(batch_size, num_channels, height, width)`):
                """

        config, images = config_of(num_labels=3), ((800, 1066), (1066, 800))
        several = inputs.batch_of(inputs.Inputs(Detector, sizes.Sizes(config, Given(varied=(1000,)), images=images)), "boxes")
        self.assertEqual(several.fields["pixel_values"], "torch.randn(3, *((800, 1066), (1066, 800))[index // {batch} % 2]{floats})")
        self.assertIn("(3, 12, 7, 1, 17, 5, 4)[index // {batch} % 7]", several.fields["classes"])
        named = inputs.batch_of(inputs.Inputs(Detector, sizes.Sizes(config, Given(varied=(1000,), image_size=(64, 64)), images=images)), "boxes")
        self.assertEqual(named.fields["pixel_values"], "torch.randn(3, 64, 64{floats})")

    def test_what_has_nothing_that_varies_is_refused(self):
        with self.assertRaisesRegex(job.Refused, "--varied-inputs: timm:small is fed neither texts"):
            given.require_varying(job.Plan({"varied_inputs": True}, ["varied_inputs"]), CLASSIFIER)
        given.require_varying(job.Plan({}, []), CLASSIFIER)
        given.require_varying(job.Plan({"varied_inputs": True}, ["varied_inputs"]), MODEL)


class Outputs(unittest.TestCase):
    def test_only_the_loss_is_kept_where_it_is_computed_outside_of_the_model(self):
        for framework in ("hf", "accelerate"):
            self.assertIn("loss = loss(outputs)\n    del outputs\n", written(CLASSIFIER, framework=framework, keep_logits=False))
            self.assertNotIn("del outputs", written(CLASSIFIER, framework=framework))
            self.assertNotIn("del outputs", written(framework=framework, keep_logits=False))


class Averages(unittest.TestCase):
    def test_a_copy_is_averaged_after_each_step(self):
        script = written(ema=True)
        self.assertLess(script.index("averaged = torch.optim.swa_utils.AveragedModel(model)"), script.index("for step, batch"))
        self.assertIn("    optimizer.zero_grad()\n    averaged.update_parameters(model)", script)
        script = written(framework="accelerate", ema=True, grad_accum=2)
        self.assertIn("AveragedModel(accelerator.unwrap_model(model))\n", script)
        self.assertIn("        if accelerator.sync_gradients:\n            averaged.update_parameters(model)", script)
        with self.assertRaisesRegex(job.Refused, "--dp 2"):
            written(ema=True, dp=2)


class Untrained(unittest.TestCase):
    def test_modules_are_frozen_by_the_last_parts_of_their_names(self):
        script = written(freeze="wte,h.0")
        self.assertIn("""if f".{name}".endswith(('.wte', '.h.0'))]""", script)
        self.assertIn("    part.requires_grad_(False)", script)
        self.assertIn("in (*model.named_modules(), *model.named_parameters())", script)
        self.assertIn("    if hasattr(part, \"_freeze_parameters\"):\n        part._freeze_parameters()\n", script)
        self.assertNotIn("model.requires_grad_(False)", script)
        self.assertIn("raise LookupError('--freeze wte,h.0: the model has no such module')", script)

    def test_all_but_some_are_frozen(self):
        script = written(framework="trainer", freeze="all-but:classifier")
        self.assertIn("model.requires_grad_(False)\nnamed = ", script)
        self.assertIn("endswith(('.classifier',))", script)
        self.assertIn("    part.requires_grad_(True)", script)

    def test_a_loop_that_cannot_say_it_refuses(self):
        for framework in ("trl-sft", "deepspeed"):
            with self.assertRaisesRegex(job.Refused, "--freeze"):
                made(framework=framework, precision="bf16", freeze="wte", **({"dp": 2, "dp_kind": "zero2"} if framework == "deepspeed" else {}))


class Collated(unittest.TestCase):
    def test_a_batch_gets_the_form_that_the_forward_takes(self):
        model = dataclasses.replace(MODEL, arranges=('batch["pixels"] = batch["pixels"].flatten(0, 1)',), constants=", return_loss=True")
        script = written(model, framework="trainer")
        self.assertIn("    batch = torch.utils.data.default_collate(examples)\n    batch[\"pixels\"] = batch[\"pixels\"].flatten(0, 1)\n"
                      "    batch.update(return_loss=True)\n    return batch\n", script)
        self.assertIn("data_collator=collated", script)
        self.assertNotIn("collat", written(framework="trainer"))


class Decay(unittest.TestCase):
    def test_optimizers_are_told_of_it(self):
        self.assertIn("torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=0.0001)", written(optimizer="sgd-momentum", weight_decay=0.0001))
        self.assertIn("weight_decay=0.0001, ", written(framework="trainer", optimizer="sgd", weight_decay=0.0001))
        self.assertNotIn("weight_decay", written(optimizer="sgd-momentum"))


class Closures(unittest.TestCase):
    def test_the_step_is_given_what_computes_the_loss(self):
        script = written(optimizer="lbfgs", grad_clip=1.0)
        self.assertIn("    def closure():\n        optimizer.zero_grad()\n        outputs = model(", script)
        self.assertIn("        loss.backward()\n        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        return loss\n"
                      "    optimizer.step(closure)", script)
        self.assertLess(written(optimizer="lbfgs", zero_grad_at="backward").index("loss = outputs.loss"),
                        written(optimizer="lbfgs", zero_grad_at="backward").index("optimizer.zero_grad()"))

    def test_elsewhere_it_is_refused(self):
        for changed in ({"framework": "accelerate"}, {"dp": 2}):
            with self.assertRaisesRegex(job.Refused, "--optimizer lbfgs: it calls the model again"):
                written(optimizer="lbfgs", **changed)


class Turns(unittest.TestCase):
    MODEL = dataclasses.replace(CLASSIFIER, data="", fields="", call="", expression="make()[0]", turns="turns(*model, batch)", name="gan.py:make",
                                batches="[batch] * {steps}", load="batch = batch.to({device})")

    def test_each_model_has_an_optimizer_that_steps_when_its_loss_comes(self):
        script = written(self.MODEL, optimizer="adam", grad_clip=1.0)
        self.assertIn('model = torch.nn.ModuleList(make()[0])\nmodel.to("cuda")\n', script)
        self.assertIn("for part in model:\n    optimizer = torch.optim.Adam(part.parameters()", script)
        self.assertIn("    for part, loss in turns(*model, batch):\n        loss.backward()\n"
                      "        torch.nn.utils.clip_grad_norm_(part.parameters(), 1.0)\n        optimizers[part].step()\n"
                      "    for optimizer in optimizers.values():\n        optimizer.zero_grad()\n", script)
        begins = written(self.MODEL, zero_grad_at="start")
        self.assertLess(begins.index("optimizer.zero_grad()"), begins.index("loss.backward()"))

    def test_what_cannot_be_meant_for_several_models_is_refused(self):
        for changed in ({"ema": True}, {"grad_accum": 2}, {"precision": "amp-bf16"}, {"optimizer": "lbfgs"}, {"lora": 8}, {"dp": 2}):
            with self.subTest(changed=changed), self.assertRaises(job.Refused):
                written(self.MODEL, **changed)
        with self.assertRaisesRegex(job.Refused, "take turns in a loop of the script's own"):
            job.make(job.Plan({**PLAN, "model_code": "hf", "framework": "trainer"}, ["framework"]), self.MODEL)


class Teacher(unittest.TestCase):
    def test_another_librarys_is_called_as_that_library_is(self):
        script = written(CLASSIFIER, dataclasses.replace(CLASSIFIER, expression='timm.create_model("large")'), teacher="timm:large",
                         precision="amp-fp16")
        self.assertIn('teacher = timm.create_model("large")\nteacher.to("cuda").eval().requires_grad_(False)\n', script)
        self.assertIn('        with torch.no_grad():\n            answers = teacher(batch["image"])\n', script)

    def test_one_of_transformers_has_a_folder_of_its_own_and_no_labels(self):
        teacher = models.with_files(MODEL, {"config.json": "{}"})
        plan = job.Plan({**PLAN, "model_code": "hf", "teacher": "gpt2"}, ["teacher"], teacher)
        made = readers.FRAMEWORKS["hf"](plan, models.with_files(MODEL, {"config.json": "{} "}))
        self.assertEqual(made.files, {"config.json": "{} ", "teacher/config.json": "{}"})
        self.assertIn('config = AutoConfig.from_pretrained("teacher")', made.script)
        self.assertIn('answers = teacher(**{name: value for name, value in batch.items() if name != "labels"})', made.script)
        self.assertLess(made.script.index('from_pretrained("teacher")'), made.script.index('from_pretrained(".")'))

    def test_it_encodes_the_same_pairs(self):
        model = pairs.of(dataclasses.replace(MODEL, name="SmallModel"), Pairs.CONFIG)
        self.assertIn('answers = [mean_of(teacher(**text)[0], text.get("attention_mask")) for text in batch]',
                      written(model, MODEL, teacher="small", loss="contrastive"))

    def test_over_ranks_it_is_refused(self):
        with self.assertRaisesRegex(job.Refused, "--dp 2"):
            written(MODEL, MODEL, teacher="gpt2", dp=2)


class Pairs(unittest.TestCase):
    CONFIG = types.SimpleNamespace(model_type="small", vocab_size=100)

    def test_both_texts_are_encoded_and_compared(self):
        script = written(pairs.of(dataclasses.replace(MODEL, name="SmallModel"), self.CONFIG), loss="contrastive", attention_mask="padded")
        self.assertIn('outputs = [mean_of(model(**text)[0], text.get("attention_mask")) for text in batch]', script)
        self.assertIn("loss = loss_of(outputs)", script)
        self.assertIn('"attention_mask": torch.ones(length, dtype=torch.long) * (torch.arange(length) < length - 1)', script)
        self.assertIn("for length in (128, 128)]", script)

    def test_the_second_texts_may_have_another_length(self):
        model = pairs.of(dataclasses.replace(MODEL, name="SmallModel"), self.CONFIG)
        self.assertIn("for length in (128, 32)]", written(model, loss="contrastive", target_seq=32))

    def test_trainer_computes_their_loss(self):
        script = written(pairs.of(dataclasses.replace(MODEL, name="SmallModel"), self.CONFIG), loss="contrastive", framework="trainer")
        self.assertIn("class OwnLoss(Trainer):\n    def compute_loss(self, model, batch,", script)
        self.assertIn("        loss = loss_of(outputs)\n", script)
        self.assertIn("trainer = OwnLoss(model=model, args=arguments, train_dataset=Pairs(), data_collator=collated)", script)

    def test_what_reads_no_tokens_is_refused(self):
        with self.assertRaisesRegex(UnknownModel, "reads no tokens"):
            pairs.of(dataclasses.replace(MODEL, name="Seer"), types.SimpleNamespace(vocab_size=None))
        with self.assertRaisesRegex(job.Refused, "encoders of transformers"):
            job.models_of({"python": "timm:small"}, loss="contrastive")

    def test_the_class_has_no_head(self):
        asked_of = []
        model = dataclasses.replace(MODEL, name="SmallModel")
        with unittest.mock.patch.multiple(
                architectures, _config=lambda settings: self.CONFIG, text_part=lambda config: config,
                models_of=lambda text, given: asked_of.append(text) or [model]), \
                unittest.mock.patch.object(pairs, "class_of", lambda config: "SmallModel"):
            architectures.encoder_of('{"model_type": "small", "architectures": ["SmallForMaskedLM"]}')
        self.assertEqual(asked_of, ['{"model_type": "small", "architectures": ["SmallModel"]}'])


class Keywords(unittest.TestCase):
    def test_a_name_may_be_called(self):
        self.assertEqual(keywords.called("resnet50.a1_in1k"), ("resnet50.a1_in1k", {}))
        self.assertEqual(keywords.called("net(aux_loss=True, drop_rate=0.1, kind='a')"),
                         ("net", {"aux_loss": True, "drop_rate": 0.1, "kind": "a"}))
        self.assertEqual(keywords.called("Net(channels=(8, 16))"), ("Net", {"channels": (8, 16)}))

    def test_only_literals_are_read(self):
        for text in ("net(1)", "net(a=__import__('os'))", "net(a=1))", "net(**{})", "net(a=[[1]])", "net(a=(len,))", "net(a=1)+run()", "net("):
            with self.subTest(text), self.assertRaisesRegex(UnknownModel, "keywords of its builder"):
                keywords.called(text)


if __name__ == "__main__":
    unittest.main()
