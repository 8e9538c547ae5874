"""What an architecture is trained for: the auto classes of transformers, in the order in which they are tried."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Task:
    mapping: str       # of modeling_auto: model_type -> class; empty: no auto class makes it
    auto_class: str    # or its own
    labels: str        # how they look (inputs.LABELS)
    peft: str = "FEATURE_EXTRACTION"


# An architecture with a class for several of these is trained for the first. Encoders with a class of causal language
# modelling (BERT) are masked ones unless their configuration says is_decoder.
TASKS = (
    Task("MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", "AutoModelForMultimodalLM", "tokens", "CAUSAL_LM"),
    Task("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "AutoModelForImageTextToText", "tokens", "CAUSAL_LM"),
    Task("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "AutoModelForSeq2SeqLM", "tokens", "SEQ_2_SEQ_LM"),
    Task("MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES", "AutoModelForSpeechSeq2Seq", "tokens", "SEQ_2_SEQ_LM"),
    Task("MODEL_FOR_MASKED_LM_MAPPING_NAMES", "AutoModelForMaskedLM", "tokens"),
    Task("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "AutoModelForCausalLM", "tokens", "CAUSAL_LM"),
    Task("MODEL_FOR_CTC_MAPPING_NAMES", "AutoModelForCTC", "characters"),
    Task("MODEL_FOR_RNNT_MAPPING_NAMES", "AutoModelForRNNT", "characters"),
    Task("MODEL_FOR_TDT_MAPPING_NAMES", "AutoModelForTDT", "characters"),
    Task("MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES", "AutoModelForZeroShotImageClassification", "pairs"),
    Task("MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES", "AutoModelForAudioClassification", "class"),
    Task("MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES", "AutoModelForImageClassification", "class"),
    Task("MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES", "AutoModelForVideoClassification", "class"),
    Task("MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES", "AutoModelForObjectDetection", "boxes"),
    Task("MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES", "AutoModelForZeroShotObjectDetection", "boxes"),
    Task("MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES", "AutoModelForSemanticSegmentation", "pixels"),
    Task("MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING_NAMES", "AutoModelForUniversalSegmentation", "masks"),
    Task("MODEL_FOR_INSTANCE_SEGMENTATION_MAPPING_NAMES", "AutoModelForInstanceSegmentation", "masks"),
    Task("MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES", "AutoModelForDepthEstimation", "depths"),
    Task("MODEL_FOR_MASKED_IMAGE_MODELING_MAPPING_NAMES", "AutoModelForMaskedImageModeling", "patches"),
    Task("MODEL_FOR_TIME_SERIES_PREDICTION_MAPPING_NAMES", "AutoModelForTimeSeriesPrediction", "none"),
    Task("MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES", "AutoModelForSequenceClassification", "class", "SEQ_CLS"),
    Task("MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES", "AutoModelForTokenClassification", "classes", "TOKEN_CLS"),
    Task("MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES", "AutoModelForQuestionAnswering", "ends", "QUESTION_ANS"),
    Task("MODEL_FOR_DOCUMENT_QUESTION_ANSWERING_MAPPING_NAMES", "AutoModelForDocumentQuestionAnswering", "ends", "QUESTION_ANS"),
    Task("MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES", "AutoModelForMultipleChoice", "choice"),
    Task("MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES", "AutoModelForNextSentencePrediction", "class"),
    Task("MODEL_FOR_AUDIO_XVECTOR_MAPPING_NAMES", "AutoModelForAudioXVector", "class"),
    Task("MODEL_FOR_PRETRAINING_MAPPING_NAMES", "AutoModelForPreTraining", "none"),
)

# What is left has no auto class that trains; it is trained on the mean of its first output.
UNTRAINED = (
    Task("MODEL_MAPPING_NAMES", "AutoModel", "none"),
    Task("MODEL_FOR_MASK_GENERATION_MAPPING_NAMES", "AutoModelForMaskGeneration", "none"),
    Task("MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES", "AutoModelForTextToWaveform", "none"),
    Task("MODEL_FOR_KEYPOINT_DETECTION_MAPPING_NAMES", "AutoModelForKeypointDetection", "none"),
    Task("MODEL_FOR_KEYPOINT_MATCHING_MAPPING_NAMES", "AutoModelForKeypointMatching", "none"),
    Task("MODEL_FOR_IMAGE_TO_IMAGE_MAPPING_NAMES", "AutoModelForImageToImage", "none"),
    Task("MODEL_FOR_IMAGE_MATTING_MAPPING_NAMES", "AutoModelForImageMatting", "none"),
    Task("MODEL_FOR_NORMAL_ESTIMATION_MAPPING_NAMES", "AutoModelForNormalEstimation", "none"),
    Task("MODEL_FOR_POSE_ESTIMATION_MAPPING_NAMES", "AutoModelForPoseEstimation", "none"),
    Task("MODEL_FOR_TEXT_RECOGNITION_MAPPING_NAMES", "AutoModelForTextRecognition", "none"),
    Task("MODEL_FOR_TABLE_RECOGNITION_MAPPING_NAMES", "AutoModelForTableRecognition", "none"),
    Task("MODEL_FOR_AUDIO_TOKENIZATION_NAMES", "AutoModelForAudioTokenization", "none"),
    Task("MODEL_FOR_AUDIO_FRAME_CLASSIFICATION_MAPPING_NAMES", "AutoModelForAudioFrameClassification", "none"),
    Task("MODEL_FOR_BACKBONE_MAPPING_NAMES", "AutoBackbone", "none"),
    Task("MODEL_FOR_DECISION_MAPPING_NAMES", "AutoModelForDecision", "none"),
    Task("MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES", "AutoModelForTextEncoding", "none"),
)
# What sorts whole examples: an architecture is one of text, images, sounds or videos.
CLASSIFICATIONS = tuple(f"MODEL_FOR_{kind}_CLASSIFICATION_MAPPING_NAMES" for kind in ("SEQUENCE", "IMAGE", "AUDIO", "VIDEO"))
SORTED = ("class", "classes", "pixels", "boxes", "masks")  # labels whose number of classes is a configuration's num_labels


def _class_called(name):
    return name[0] if isinstance(name, (tuple, list)) else name


def of(config, named=()):
    """[(task, name of its class)] for an architecture, the likeliest first.

    named: the `architectures` of its config.json; where it has any, only these are meant.
    """
    import transformers
    from transformers.models.auto import modeling_auto
    found = _forecasters(config, named)
    for task in TASKS + UNTRAINED:
        name = _class_called(getattr(modeling_auto, task.mapping, {}).get(config.model_type))
        if name and hasattr(transformers, task.auto_class) and hasattr(transformers, name) \
                and (name in named or not _is_an_encoders(task, config)):
            found.append((task, name))
    found = [pair for i, pair in enumerate(found) if pair[1] not in [name for _, name in found[:i]]]
    return [pair for pair in found if pair[1] in named] if named else found


def _forecasters(config, named):
    """The class that foretells a series, which none of the auto classes makes."""
    import transformers
    from transformers.models.auto import modeling_auto
    base = _class_called(getattr(modeling_auto, "MODEL_MAPPING_NAMES", {}).get(config.model_type)) or ""
    name = base.removesuffix("Model") + "ForPrediction"
    is_one = base.endswith("Model") and hasattr(transformers, name) and (not named or name in named)
    return [(Task("", name, "future"), name)] if is_one else []


def classifier(config, named=()):
    """The class of an architecture that sorts, or None: the one that its file names, if that sorts; else the one for whole
    examples."""
    from transformers.models.auto import modeling_auto
    made = lambda mapping: _class_called(getattr(modeling_auto, mapping, {}).get(config.model_type))  # noqa: E731
    names = [made(task.mapping) for task in TASKS if task.labels in SORTED]
    return next((name for name in (*(name for name in named if name in names), *map(made, CLASSIFICATIONS)) if name), None)


def _is_an_encoders(task, config):
    return task.auto_class == "AutoModelForMaskedLM" and getattr(config, "is_decoder", False) is True


def has_several(task, config):
    """Whether the auto class knows several classes for the architecture."""
    from transformers.models.auto import modeling_auto
    return isinstance(getattr(modeling_auto, task.mapping, {}).get(config.model_type), (tuple, list))
