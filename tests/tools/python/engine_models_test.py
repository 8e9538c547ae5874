"""Models of --engine torch as far as they go without torch: sizes and inputs from a configuration and a forward, models
that are no architecture of transformers, and what is drawn by `measure architectures`."""
import ast
import os
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools" / "python"), str(ROOT / "tools" / "python" / "engine")]

from highwater_engine import architectures, asking, given, job, lengths, models, scripts, sources  # noqa: E402
from highwater_engine.architectures import inputs, photographs, sizes, tasks  # noqa: E402
from highwater_engine.given import Given  # noqa: E402
from highwater_engine.readers import common  # noqa: E402
from measure.architectures import command, drawing, runs  # noqa: E402


class Config:
    """A configuration as transformers' are."""
    model_type = "any"

    def __init__(self, **fields):
        vars(self).update(fields)

    def to_dict(self):
        return vars(self)

    def get_text_config(self):
        return getattr(self, "text_config", self)


class Contrastive:
    """A class as transformers' are."""
    main_input_name, input_modalities = "input_ids", ("image", "text")

    def forward(self, input_ids=None, pixel_values=None, attention_mask=None, return_loss=None, **kwargs):
        """
        Args:
            input_ids (`torch.LongTensor` of shape `(batch_size, sequence_length)`, *optional*):
                Tokens.
            pixel_values (`torch.FloatTensor` of shape `(batch_size, num_channels, height, width)`, *optional*):
                Pixels.
        """


class Speech:
    main_input_name, input_modalities = "input_features", ("audio", "text")

    def forward(self, input_features=None, labels=None, decoder_input_ids=None):
        """
            input_features (`torch.FloatTensor` of shape `(batch_size, sequence_length, feature_dim)`):
        """


class Text:
    main_input_name, input_modalities = "input_ids", ("text",)

    def forward(self, input_ids=None, attention_mask=None, labels=None, start_positions=None, end_positions=None):
        """Nothing documented."""


CLIP = Config(text_config=Config(vocab_size=500), vision_config=Config(image_size=32, num_channels=3))


class Sizes(unittest.TestCase):
    def test_a_part_that_is_about_images_says_their_size(self):
        found = sizes.Sizes(CLIP)
        self.assertEqual((found.channels, found.height, found.width, found.vocabulary), (3, 32, 32, 500))
        self.assertEqual(sizes.Sizes(Config(image_size=[8, 16])).width, 16)

    def test_shapes_are_those_of_the_documentation(self):
        shapes = sizes.documented(Contrastive.forward)
        self.assertEqual(shapes["pixel_values"], ("torch.FloatTensor", ["batch_size", "num_channels", "height", "width"]))

    def test_a_dimension_is_a_number_of_the_configuration(self):
        found = sizes.Sizes(Config(state_dim=17, num_codebooks=4))
        self.assertEqual(sizes.dimension("state_dim", found, False), 17)
        self.assertEqual(sizes.dimension("codebooks", found, False), 4)
        self.assertEqual(sizes.dimension("episode_length", found, False), "{seq}")
        with self.assertRaises(sizes.Unknown):
            sizes.dimension("no_such_size", found, False)


    def test_what_a_plan_gives_comes_first(self):
        config = Config(vision_config=Config(image_size=32, num_channels=3))
        lines = sizes.fitted(config, Given(image_size=(64, 64)))
        self.assertEqual(lines, ["config.vision_config.image_size = 64"])
        self.assertEqual(config.vision_config.image_size, 64)
        found = sizes.Sizes(Config(sampling_rate=100), Given(image_size=(480, 640), audio_seconds=2.5))
        self.assertEqual((found.height, found.samples, found.spectrogram, found.images), (480, 250, 250, None))
        self.assertEqual(found.used, {"image_size", "audio_seconds", "video_frames"})

    def test_a_size_keeps_the_form_that_the_configuration_has_it_in(self):
        self.assertEqual(given.like(224, (64, 64)), 64)
        self.assertEqual(given.like(224, (64, 96)), (64, 96))
        self.assertEqual(given.like([1, 2], (64, 96)), [64, 96])
        self.assertEqual(given.like({"height": 1, "width": 2}, (64, 96)), {"height": 64, "width": 96})

    def test_a_size_that_nothing_follows_is_refused(self):
        with self.assertRaisesRegex(job.Refused, "--image-size: GPT is not fed images"):
            given.require_fed(job.Plan({}, ["image_size"]), models.Model("", "", "", name="GPT"))


class Inputs(unittest.TestCase):
    def test_what_modalities_bring(self):
        made = inputs.batch_of(inputs.Inputs(Contrastive, sizes.Sizes(CLIP)), "pairs")
        self.assertEqual(list(made.fields), ["input_ids", "pixel_values"])
        self.assertIn("3, 32, 32", made.fields["pixel_values"])
        self.assertEqual((made.constants, made.loss), (", return_loss=True", ""))

    def test_without_labels_the_first_output_is_trained(self):
        made = inputs.batch_of(inputs.Inputs(Contrastive, sizes.Sizes(CLIP)), "none")
        self.assertEqual(made.loss, inputs.FIRST_OUTPUT)

    def test_a_decoder_is_fed_unless_the_labels_do(self):
        found = sizes.Sizes(Config(num_mel_bins=80, max_source_positions=100, vocab_size=50))
        self.assertNotIn("decoder_input_ids", inputs.batch_of(inputs.Inputs(Speech, found), "tokens").fields)
        self.assertIn("decoder_input_ids", inputs.batch_of(inputs.Inputs(Speech, found), "none").fields)

    def test_features_come_in_either_order(self):
        found = sizes.Sizes(Config(num_mel_bins=80, max_source_positions=100, vocab_size=50))
        drawn = [inputs.Inputs(Speech, found, form).features() for form in inputs.forms_of(Speech)[:3]]
        self.assertEqual(drawn, ["torch.randn(200, 80{floats})"] * 2 + ["torch.randn(80, 200{floats})"])

    def test_tasks_have_labels_of_their_form(self):
        found = sizes.Sizes(Config(vocab_size=50))
        cases = (("ends", {"input_ids": "torch.randint(0, 50, ({seq},))", "start_positions": "torch.tensor(0)",
                           "end_positions": "torch.tensor(0)"}),
                 ("classes", {"input_ids": "torch.randint(0, 50, ({seq},))", "labels": "torch.zeros({seq}, dtype=torch.long)"}))
        for labels, fields in cases:
            with self.subTest(labels):
                self.assertEqual(inputs.batch_of(inputs.Inputs(Text, found), labels).fields, fields)
        choice = inputs.Inputs(Text, found, choices=4)
        batch = inputs.batch_of(choice, "choice")
        self.assertEqual(batch.fields, {"input_ids": "torch.randint(0, 50, (4, {seq},))", "labels": "torch.tensor(0)"})
        self.assertEqual(inputs.mask_of(choice, batch), '"attention_mask": torch.ones(4, {seq}, dtype=torch.long){hidden}, ')

    def test_patches_of_an_image_are_hidden(self):
        class Seer:
            main_input_name = "pixel_values"

            def forward(self, pixel_values, bool_masked_pos=None):
                """pixel_values (`torch.Tensor` of shape `(batch_size, num_channels, height, width)`):"""

        found = inputs.batch_of(inputs.Inputs(Seer, sizes.Sizes(Config(image_size=32, patch_size=8))), "patches").fields
        self.assertEqual(found["bool_masked_pos"], "torch.ones(16, dtype=torch.long)")

    def test_a_class_is_what_the_problem_asks_for(self):
        for problem, classes, made in ((None, 3, "torch.tensor(0)"), ("single_label_classification", 3, "torch.tensor(0)"),
                                       ("multi_label_classification", 3, "torch.zeros(3)"), ("regression", 1, "torch.tensor(0.0)"),
                                       ("regression", 2, "torch.zeros(2)")):
            with self.subTest(problem=problem, classes=classes):
                config = Config(vocab_size=50, problem_type=problem, num_labels=classes)
                self.assertEqual(inputs.batch_of(inputs.Inputs(Text, sizes.Sizes(config)), "class").fields["labels"], made)

    def test_labels_of_a_decoder_beside_an_encoder_have_a_length_of_their_own(self):
        found = sizes.Sizes(Config(num_mel_bins=80, max_source_positions=100, vocab_size=50, is_encoder_decoder=True))
        self.assertIn("({target},)", inputs.batch_of(inputs.Inputs(Speech, found, inputs.Form(features="bins")), "tokens").fields["labels"])

    def test_tokens_keep_clear_of_those_that_stand_for_images(self):
        made = inputs.Inputs(Contrastive, sizes.Sizes(Config(vocab_size=100, image_token_id=10)))
        self.assertEqual(made.tokens(), "torch.randint(11, 100, ({seq},))")
        made.places, made.place_token = 4, 10
        self.assertIn("torch.full((4,), 10)", made.tokens())


def script(model, **changed):
    return scripts.plain_script({**scripts.DEFAULTS, "model": model, "batch": 2, "examples": 6, **changed})


class Sources(unittest.TestCase):
    def setUp(self):
        asked, self.facts = sources.asked, {}
        self.addCleanup(setattr, sources, "asked", asked)
        sources.asked = lambda question: self.facts

    def test_a_function_of_a_file(self):
        self.facts = {"takes": ["batch"], "returns": 3, "batch": "dict", "block": ["net", "Block"]}
        model, = sources.models_of({"python": "/home/me/net.py:make", "batch": 2, "seq": 128})
        written = script(model)
        ast.parse(written)
        for line in ("sys.path.insert(0, '/home/me')", "spec_from_file_location('file_net', '/home/me/net.py')", "model = make(batch=2)[0]",
                     "_, batch, loss_of = make(batch=2)", "loader = [batch] * 3", "outputs = model(**batch)"):
            self.assertIn(line, written)
        self.assertEqual(model.fixes, ("seq",))
        ast.parse(script(model, sharding="fsdp2", ranks=2))

    def test_a_function_may_return_several_models(self):
        self.facts = {"takes": ["batch"], "returns": 3, "batch": "tensor", "is_nested": False, "has_turns": True}
        model, = sources.models_of({"python": "/home/me/gan.py:make", "batch": 2, "seq": 128})
        self.assertEqual((model.turns, model.expression), ("turns(*model, batch)", "make(batch=2)[0]"))
        self.assertIn("_, batch, turns = make(batch=2)", model.prepare)

    def test_several_models_take_turns(self):
        module = type("Module", (), {})
        torch = types.SimpleNamespace(nn=types.SimpleNamespace(Module=module))

        def turns(generator, critic, batch):
            yield critic, 0.0

        with unittest.mock.patch.dict(sys.modules, torch=torch):
            self.assertTrue(sources._facts_of_turns("make", ((module(), module()), 1.0, turns), {})["has_turns"])
            for made, told in ((((module(), 1), 1.0, turns), "has a int, which is no torch.nn.Module"),
                               (((module(), module()), 1.0), "returns 2 models; return (models, batch, turns)"),
                               (((module(), module()), 1.0, len), "returns 2 models")):
                with self.assertRaises(TypeError) as raised:
                    sources._facts_of_turns("make", made, {})
                self.assertIn(told, str(raised.exception))

    def test_values_of_a_batch_may_be_pairs(self):
        self.facts = {"takes": [], "returns": 3, "batch": "dict", "block": None, "is_nested": True}
        model, = sources.models_of({"python": "/home/me/lstm.py:make", "batch": 2, "seq": 128})
        written = script(model)
        ast.parse(written)
        self.assertIn("from torch.utils._pytree import tree_map\n", written)
        self.assertIn('batch = tree_map(lambda value: value.to("cuda") if isinstance(value, torch.Tensor) else value, batch)', written)
        for batch, kind, answer in (({"x": 1.0, "states": (1.0, 1.0)}, "dict", True), ({"x": 1.0}, "dict", False),
                                    ([1.0, None], "list", True), (1.0, "tensor", False)):
            self.assertEqual(sources.is_nested(batch, kind, float), answer)

    def test_adapters_of_another_librarys_model(self):
        self.facts = {"class": "UNet2DModel", "block": [], "fields": {}, "sample_size": 32, "defaults": "layers_per_block=2"}
        model, = sources.models_of({"python": "diffusers:UNet2DModel"})
        written = script(model, lora=4, lora_targets=("to_q", "to_v"))
        ast.parse(written)
        self.assertIn("get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=['to_q', 'to_v']))", written)
        plan = job.Plan({"lora": 4, "checkpoint": "none", "dp_kind": "ddp"}, ["lora"])
        with self.assertRaisesRegex(job.Refused, "does not know which layers of diffusers:UNet2DModel to adapt"):
            common.require_own(plan, model)
        common.require_own(job.Plan({**plan._options, "lora_targets": "to_q"}, ["lora", "lora_targets"]), model)

    def test_a_file_may_be_called_as_no_module_can_be(self):
        self.facts = {"takes": [], "returns": 2, "batch": "dict", "block": None}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "22_my-gpt.py")
            path.write_text("def make():\n    return 'made'\n")
            model, = sources.models_of({"python": f"{path}:make", "batch": 2, "seq": 128})
            self.addCleanup(sys.path.remove, folder)
            self.addCleanup(sys.modules.pop, "file_22_my_gpt")
            names = {}
            exec(model.imports.partition("\nfrom torch")[0], names)  # what the script does
            self.assertEqual(names["make"](), "made")

    def test_labels_that_only_the_loss_takes_stay_out_of_the_forward(self):
        for kind, taken, call in (("dict", ["x"], 'model(**{name: batch[name] for name in ("x",)})'), ("list", 1, "model(*batch[:1])"),
                                  ("dict", None, "model(**batch)"), ("list", None, "model(*batch)")):
            with self.subTest(kind=kind, taken=taken):
                self.facts = {"takes": [], "returns": 3, "batch": kind, "block": None, "taken": taken}
                model, = sources.models_of({"python": "/home/me/net.py:make", "batch": 2, "seq": 128})
                self.assertIn(f"outputs = {call}\n", script(model))

    def test_what_a_forward_takes_of_a_batch(self):
        def plain(x, scale=1):
            return x

        def any_(**inputs):
            return inputs

        batch = {"x": 1, "label": 2}
        self.assertEqual(sources.taken_of(types.SimpleNamespace(forward=plain), batch, "dict"), ["x"])
        self.assertIsNone(sources.taken_of(types.SimpleNamespace(forward=any_), batch, "dict"))
        self.assertIsNone(sources.taken_of(types.SimpleNamespace(forward=plain), {"x": 1}, "dict"))
        self.assertEqual(sources.taken_of(types.SimpleNamespace(forward=lambda x: x), [1, 2], "list"), 1)

    def test_libraries(self):
        self.facts = {"input": [3, 64, 64], "block": ["timm.models.resnet", "Bottleneck"], "label": sources.LABEL,
                      "loss": "loss(outputs)", "arguments": {}}
        written = script(sources.models_of({"python": "timm:resnet50"})[0], weights="bf16")
        ast.parse(written)
        self.assertIn('timm.create_model("resnet50").to(torch.bfloat16)', written)
        self.assertIn("torch.randn(3, 64, 64, dtype=torch.bfloat16)", written)

    def test_a_detector_is_given_lists_of_images_and_objects(self):
        self.facts = {"input": [3, 480, 640], "block": [], "label": "", "loss": "", "arguments": {"weights_backbone": None},
                      "target": ["boxes", "labels", "masks"]}
        model, = sources.models_of({"python": "torchvision:maskrcnn_resnet50_fpn"})
        written = script(model)
        ast.parse(written)
        self.assertIn('get_model("maskrcnn_resnet50_fpn", weights=None, weights_backbone=None)', written)
        self.assertNotIn("get_state_dict", written)
        self.assertIn("loader = [([image] * 2, [target] * 2)] * 3\n", written)
        self.assertIn('"masks": torch.ones(7, 480, 640, dtype=torch.uint8)', written)
        self.assertIn("loss = sum(outputs.values())\n", written)

        more, = sources.models_of({"python": "torchvision:maskrcnn_resnet50_fpn", "objects": 9})
        self.assertIn('"labels": torch.ones(9, dtype=torch.long)', script(more))

    def test_images_of_a_detector_lie_and_stand_where_no_size_is_given(self):
        self.facts = {"input": [3, 480, 640], "block": [], "label": "", "loss": "", "arguments": {}, "target": ["boxes", "labels", "masks"], "turns": True}
        written = script(sources.models_of({"python": "torchvision:maskrcnn_resnet50_fpn"})[0])
        ast.parse(written)
        self.assertIn("loader = [(([image, image.mT] * 2)[:2], ([target, turned] * 2)[:2])] * 3\n", written)
        self.assertIn('turned = {**target, "boxes": target["boxes"][:, [1, 0, 3, 2]]}\nturned["masks"] = target["masks"].mT\n', written)

    def test_photographs_of_several_sizes_where_inputs_vary(self):
        self.facts = {"input": [3, 480, 640], "block": [], "label": "", "loss": "", "arguments": {}, "target": ["boxes", "labels"], "turns": True}
        model, = sources.models_of({"python": "torchvision:retinanet_resnet50_fpn", "varied": [500, 1000]})
        written = script(model, batch=3, examples=12)
        ast.parse(written)
        self.assertIn("loader = (batch_of(3, step) for step in range(4))\n", written)
        self.assertIn("(480, 640), (427, 640), (640, 480)", written)
        self.assertIn("for name in ['boxes', 'labels']}", written)
        self.assertTrue(model.varies)
        fixed, = sources.models_of({"python": "torchvision:retinanet_resnet50_fpn", "varied": [500, 1000], "image_size": [600, 800]})
        self.assertNotIn("batch_of", script(fixed))

    def test_the_defaults_of_a_class_are_no_scripts(self):
        self.facts = {"class": "UNet2DModel", "block": [], "fields": {}, "sample_size": None, "defaults": "layers_per_block=2, num_layers=3"}
        model, = sources.models_of({"python": "diffusers:UNet2DModel"})
        self.assertIn("(layers_per_block=2, num_layers=3)", model.assumed)
        self.assertIn('--model "diffusers:UNet2DModel(layers_per_block=...)"', model.assumed)
        self.assertEqual(sources.models_of({"python": "diffusers:UNet2DModel(num_layers=2)"})[0].assumed, "")
        self.assertEqual(sources._told({"block_out_channels": [8, 16], "num_layers": 2, "dropout": 0}), "block_out_channels=(8, 16), num_layers=2")

    def test_a_drawn_size_is_the_largest(self):
        model = types.SimpleNamespace(transform=types.SimpleNamespace(min_size=(640, 800)))
        self.assertEqual(sources._largest(model), {"min_size": 800})
        model.transform.min_size = (800,)
        self.assertEqual(sources._largest(model), {})
        self.assertEqual(sources._largest(types.SimpleNamespace()), {})

    def test_a_series_has_what_was_and_what_will_be(self):
        class Forecaster:
            main_input_name = "past_values"

            def forward(self, past_values, past_time_features, future_values=None, future_time_features=None):
                """
                past_values (`torch.FloatTensor` of shape `(batch_size, sequence_length)`):
                past_time_features (`torch.FloatTensor` of shape `(batch_size, sequence_length, num_features)`):
                future_values (`torch.FloatTensor` of shape `(batch_size, prediction_length)`):
                future_time_features (`torch.FloatTensor` of shape `(batch_size, prediction_length, num_features)`):
                """

        config = Config(context_length=48, prediction_length=24, lags_sequence=[1, 37], num_time_features=2, num_static_categorical_features=1)
        batch = inputs.batch_of(inputs.Inputs(Forecaster, sizes.Sizes(config)), "future")
        self.assertEqual(batch.fields, {
            "past_values": "torch.randn(85{floats})", "past_time_features": "torch.randn(85, 2{floats})", "future_values": "torch.randn(24{floats})",
            "future_time_features": "torch.randn(24, 2{floats})", "static_categorical_features": "torch.zeros(1, dtype=torch.long)"})
        self.assertEqual(batch.loss, "")

    def test_a_processor_makes_sizes_of_a_photograph(self):
        self.assertEqual(photographs.resized({"shortest_edge": 800, "longest_edge": 1333}), (800, 1066))
        self.assertEqual(photographs.resized({"shortest_edge": 1000, "longest_edge": 1200}), (900, 1200))
        self.assertEqual(photographs.resized({"height": 512, "width": 640}), (512, 640))
        self.assertEqual(photographs.resized({"shortest_edge": 800, "longest_edge": 1333}, 640, 360), (1333, 749))
        self.assertEqual(photographs.size_for(types.SimpleNamespace(model_type="any"), "class"), (224, 224))

    def test_a_detectors_backbone_is_taken_to_be_pretrained(self):
        self.facts = {"input": [3, 480, 640], "block": [], "label": "", "loss": "", "arguments": {}, "target": ["boxes", "labels"],
                      "backbone": {"class": "ResNet50_Weights", "name": "resnet50"}}
        written = script(sources.models_of({"python": "torchvision:fasterrcnn_resnet50_fpn"})[0])
        ast.parse(written)
        self.assertIn('torchvision.models.ResNet50_Weights.get_state_dict = lambda weights, *args, **kwargs: '
                      'torchvision.models.get_model("resnet50").state_dict()\n', written)
        self.assertIn('get_model("fasterrcnn_resnet50_fpn", weights=None)', written)

    def test_a_librarys_head_has_the_classes_that_are_given(self):
        asked_of = []
        with unittest.mock.patch.object(sources, "_CLASSIFIERS", {"timm": lambda *arguments: asked_of.append(arguments)}):
            job.models_of({"python": "timm:resnet50"}, 7)
            job.models_of({"python": "timm:resnet50"}, 0)
        self.assertEqual(asked_of, [("resnet50", Given(), {"num_classes": 7}), ("resnet50", Given(), {})])
        with self.assertRaisesRegex(job.Refused, "net.py:make makes its own head"):
            job.models_of({"python": "net.py:make"}, 7)

    def test_a_name_from_a_file_is_no_code(self):
        self.facts = {"input": [3, 64, 64], "block": [], "label": sources.LABEL, "loss": "loss(outputs)", "arguments": {}}
        name = 'resnet50"+run{0}+"'
        for library in ("timm", "torchvision"):
            written = script(sources.models_of({"python": f"{library}:{name}"})[0])
            self.assertNotIn("run", {node.id for node in ast.walk(ast.parse(written)) if isinstance(node, ast.Name)})
            self.assertIn('"resnet50\\"+run{0}+\\""', written)
            with self.assertRaisesRegex(asking.UnknownModel, "keywords of its builder"):
                sources.models_of({"python": f'{library}:resnet50"+run({{0}})+"'})
        with tempfile.TemporaryDirectory() as root:
            folder = os.path.join(root, 'unet"+run()+"')
            os.mkdir(folder)
            self.facts = {"class": "UNet2DModel", "block": [], "fields": {}, "sample_size": 32, "defaults": ""}
            model, = sources.models_of({"python": f"diffusers:{folder}"})
            called = {ast.unparse(node.func) for node in ast.walk(ast.parse(model.expression)) if isinstance(node, ast.Call)}
            self.assertEqual(called, {"UNet2DModel.from_config", "UNet2DModel.load_config"})

    def test_text_in_the_place_of_a_size_is_refused(self):
        for more in ({"vocab_size": "8)+run("}, {"vision_config": Config(image_size={"height": "1)+run(", "width": 2})},
                     {"vision_config": Config(image_size=["1", "2"])}):
            with self.subTest(more=more), self.assertRaisesRegex(sizes.Unknown, "is not a whole number"):
                sizes.Sizes(Config(**more))

    def test_a_model_for_one_size_of_images_is_made_for_the_one_that_is_given(self):
        self.facts = {"input": [3, 384, 512], "block": [], "label": sources.LABEL, "loss": "loss(outputs)",
                      "arguments": {"img_size": [384, 512]}}
        model, = sources.models_of({"python": "timm:vit_tiny_patch16_224", "image_size": [384, 512]})
        self.assertIn('timm.create_model("vit_tiny_patch16_224", img_size=(384, 512))', script(model))
        self.facts = {"class": "UNet2DModel", "block": [], "fields": {}, "sample_size": 32, "defaults": ""}
        model, = sources.models_of({"python": "diffusers:UNet2DModel", "image_size": [32, 32]})
        self.assertEqual(model.expression, "UNet2DModel(sample_size=32)")

    def test_a_function_may_take_the_size(self):
        self.facts = {"takes": ["batch", "image_size"], "returns": 2, "batch": "dict", "block": None}
        named = {"python": "/home/me/net.py:make", "batch": 2, "seq": 128, "image_size": [64, 96]}
        self.assertEqual(sources.models_of(named)[0].expression, "make(batch=2, image_size=(64, 96))[0]")

    def test_what_a_file_decides_is_no_choice_of_the_plan(self):
        model = models.Model("", "", "", name="net.py:make", fixes=("batch",))
        plan = job.Plan({"framework": "hf", "model_code": "hf", "data": "to", "batch": 4}, ["batch"])
        plan.ignore(job._READ_ELSEWHERE)
        with self.assertRaisesRegex(job.Refused, "--batch: net.py:make makes its own batch"):
            job.make(plan, model)


class Lengths(unittest.TestCase):
    model = models.Model("", "", "", name="CLIPModel", longest=77)

    def test_a_length_that_was_asked_for_is_refused_with_the_bound(self):
        with self.assertRaisesRegex(job.Refused, "at most 77"):
            lengths.fitting(job.Plan({"seq": [128]}, ["seq"]), self.model)

    def test_one_that_was_not_is_lowered_and_said(self):
        plan = job.Plan({"seq": [1024]}, [])
        self.assertEqual(lengths.fitting(plan, self.model), [77])
        self.assertIn("77 tokens", lengths.note(plan, self.model))


class Asking(unittest.TestCase):
    def test_what_goes_wrong_in_the_other_process_is_said(self):
        torch = types.ModuleType("torch")
        torch.device = lambda name: __import__("contextlib").nullcontext()
        sys.modules.setdefault("torch", torch)
        self.addCleanup(sys.modules.pop, "torch")
        self.assertEqual(asking.asked(lambda: [1, 2]), [1, 2])
        with self.assertRaisesRegex(asking.UnknownModel, "LookupError: nothing"):
            asking.asked(lambda: (_ for _ in ()).throw(LookupError("nothing")))


class Tasks(unittest.TestCase):
    """The auto classes of a transformers of one architecture."""

    def setUp(self):
        auto = types.ModuleType("transformers.models.auto")
        names = {"MASKED_LM": "MaskedLM", "TOKEN_CLASSIFICATION": "TokenClassification",
                 "SEQUENCE_CLASSIFICATION": "SequenceClassification", "CAUSAL_LM": "CausalLM"}
        classes = {"CAUSAL_LM": "BertLMHeadModel"}
        auto.modeling_auto = types.SimpleNamespace(**{
            f"MODEL_FOR_{task}_MAPPING_NAMES": {"bert": classes.get(task, f"BertFor{name}")} for task, name in names.items()})
        library = types.SimpleNamespace(**{f"AutoModelFor{name}": None for name in names.values()},
                                        **{f"BertFor{name}": None for name in names.values()}, BertLMHeadModel=None)
        patched = unittest.mock.patch.dict(sys.modules, {"transformers": library, "transformers.models": library,
                                                         "transformers.models.auto": auto})
        patched.start()
        self.addCleanup(patched.stop)
        self.auto = auto
        self.config = types.SimpleNamespace(model_type="bert")

    def classes(self, *named):
        return [name for _, name in tasks.of(self.config, named)]

    def test_the_class_that_a_file_names_is_the_only_one(self):
        self.assertEqual(self.classes("BertForTokenClassification"), ["BertForTokenClassification"])
        self.assertEqual(self.classes("BertLMHeadModel"), ["BertLMHeadModel"])
        self.assertEqual(self.classes("BertForMyTask"), [])
        self.assertEqual(self.classes()[0], "BertForMaskedLM")

    def test_a_number_of_labels_is_a_head_that_sorts(self):
        self.assertEqual(tasks.classifier(self.config), "BertForSequenceClassification")
        with unittest.mock.patch.object(architectures, "_config", lambda settings: self.config):
            self.assertEqual(architectures._with_head({"model_type": "bert", "id2label": {"0": "a"}}, 3),
                             {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "num_labels": 3})
            named = {"model_type": "bert", "architectures": ["BertForTokenClassification"]}
            self.assertEqual(architectures._with_head(named, 9), {**named, "num_labels": 9})
            self.config.model_type = "vit"
            self.auto.modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES = {"vit": "ViTForImageClassification"}
            self.assertEqual(architectures._with_head({"model_type": "vit"}, 3)["architectures"], ["ViTForImageClassification"])
            self.config.model_type = "unknown"
            with self.assertRaisesRegex(asking.UnknownModel, "--num-labels 3: transformers has no class"):
                architectures._with_head({"model_type": "unknown"}, 3)

    def test_a_class_that_no_auto_class_makes_is_named(self):
        self.assertIn("makes BertForMyTask from model_type 'bert'; delete architectures",
                      architectures._no_class(self.config, ["BertForMyTask"]))


class Architectures(unittest.TestCase):
    def test_layers_are_halved_where_they_are(self):
        config = Config(num_hidden_layers=32, hidden_size=64, text_config=Config(num_hidden_layers=3, num_experts=16))
        self.assertEqual(drawing._halved(config, drawing.LAYERS, 2),
                         {"num_hidden_layers": 16, "text_config": {"model_type": "any", "num_hidden_layers": 2}})
        self.assertEqual(drawing._merged({"a": {"x": 1}}, {"a": {"y": 2}, "b": 3}), {"a": {"x": 1, "y": 2}, "b": 3})

    def test_outcomes(self):
        peaks = dict.fromkeys(runs.FIGURES, 1)
        self.assertEqual(command.outcome({"answered": peaks, "recorded": peaks}), "equal")
        self.assertIn("active 1 / 2", command.outcome({"answered": peaks, "recorded": {**peaks, "active": 2}}))
        self.assertEqual(command.outcome({"answered": peaks}), "by the model")
        self.assertIn("refused: why", command.outcome({"refused": "why"}))


if __name__ == "__main__":
    unittest.main()
