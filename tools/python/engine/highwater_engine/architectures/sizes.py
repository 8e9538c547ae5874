"""Sizes of a model's inputs: the numbers of its configuration, and the shapes that the documentation of its forward names."""
import re

from ..given import Given, like
from .photographs import SQUARE
from .variety import OBJECTS as VARIED_OBJECTS
from .variety import lengths_up_to, of_batch

PIXELS = ("vision", "image", "backbone", "visual")
SOUND = ("audio", "encoder", "speech", "acoustic")
FRAMES = 100         # of a spectrogram, in a second: the 10 ms of every feature extractor
MOST_FRAMES = 30 * FRAMES
SAMPLING_RATE = 16000  # where the configuration has none: that of nearly all speech models
EXAMPLES_OWN = 4       # things in an example, of which a user may have any number
SECONDS = 5            # of a waveform
OBJECTS = 4            # in an image


class Unknown(Exception):
    """A shape that does not follow from the configuration; the message names it."""


def parts(config, words=()):
    """The configurations inside this one whose field has one of these words, then itself, then all others inside."""
    return [part for _, part in named_parts(config, words)]


def named_parts(config, words=()):
    """The same, each with what a script calls it: ("config.vision_config", part)."""
    inner = list(_inner("config", config))
    first = [pair for pair in inner if any(word in pair[0].rpartition(".")[2] for word in words)]
    return [*first, ("config", config), *(pair for pair in inner if all(pair[1] is not other for _, other in first))]


def _inner(path, config):
    for name, part in vars(config).items():
        if hasattr(part, "model_type") and hasattr(part, "to_dict"):
            yield f"{path}.{name}", part
            yield from _inner(f"{path}.{name}", part)


def first(config, words, *names):
    """The first of these fields, in the order of the names, that a part of the configuration has."""
    for name in names:
        for part in parts(config, words):
            value = getattr(part, name, None)
            if value is not None:
                return value
    return None


def whole(config, words, *names, default):
    value = first(config, words, *names)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def number(name, value):
    """A whole number that becomes part of a script: a configuration may be anybody's, and text in it would be code there.
    @raises Unknown"""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unknown(f"{name} {value!r}, which is not a whole number")
    return value


def text_part(config):
    """The configuration of its text; of two, that of the decoder."""
    try:
        return config.get_text_config()
    except ValueError:
        return config.get_text_config(decoder=True)


def fitted(config, given):
    """Gives the configuration the sizes that it names and that are given; the lines that do so in a script."""
    lines = []
    for name, value in (("image_size", given.image_size), ("num_frames", given.video_frames)):
        path, part = next(((path, part) for path, part in named_parts(config, PIXELS)
                           if getattr(part, name, None) is not None), (None, None))
        if value is not None and part is not None:
            made = like(getattr(part, name), value) if name == "image_size" else value
            setattr(part, name, made)
            lines.append(f"{path}.{name} = {made}")
    return lines


class Sizes:
    """What inputs of a model have in common; `used`: which of the sizes that a plan may give it was asked for."""

    def __init__(self, config, given=Given(), image=SQUARE, images=()):
        """image: height and width where neither the configuration nor the plan has them; images: several, of which each batch has
        one where its inputs vary"""
        self.config, self.used = config, set()
        self.varied, self._several = given.varied, images if given.varied and not given.image_size else ()
        text = text_part(config)
        vocabulary = getattr(text, "vocab_size", None) or whole(config, ("text",), "vocab_size", default=None)
        self.vocabulary = vocabulary and number("vocab_size", vocabulary)
        self._image = given.image_size or _edges(first(config, PIXELS, "image_size") or image)
        self.channels = whole(config, PIXELS, "num_channels", "in_channels", "num_image_channels", default=3)
        self._images = given.video_frames or whole(config, PIXELS, "num_frames", default=None)
        self._seconds = given.audio_seconds
        self._objects = given.objects or OBJECTS
        self._rate = whole(config, SOUND, "sampling_rate", "sample_rate", default=SAMPLING_RATE)
        self.bins = whole(config, SOUND, "num_mel_bins", "n_mels", "feature_size", "input_feat_per_channel", "input_dim",
                          "num_bins", default=80)

    @property
    def height(self):
        return self._use("image_size", self._image[0])

    @property
    def width(self):
        return self._use("image_size", self._image[1])

    @property
    def images(self):
        """Frames of a video; None where the configuration has no number."""
        return self._use("video_frames", self._images)

    @property
    def several(self):
        """The expression of a batch's height and width, where its images have their own; else empty."""
        return of_batch(self._several) if self._several and first(self.config, PIXELS, "image_size") is None else ""

    @property
    def objects(self):
        """In each image: a number, or an expression where each batch has its own."""
        self.used.add("objects")
        return of_batch(VARIED_OBJECTS) if self.several and self._objects == OBJECTS else self._objects

    @property
    def samples(self):
        """Of a waveform: a number, or an expression where each batch has its own."""
        most = self._use("audio_seconds", round((self._seconds or SECONDS) * self._rate))
        return of_batch(lengths_up_to(most, self.varied)) if self.varied else most

    @property
    def spectrogram(self):
        return self._use("audio_seconds", round(self._seconds * FRAMES) if self._seconds else self._positions())

    def _use(self, name, value):
        self.used.add(name)
        return value

    def _positions(self):
        """Frames: as many as the encoder has positions for, before its convolution of stride 2."""
        longest = whole(self.config, SOUND, "max_length", default=None)
        if longest:
            return longest
        positions = whole(self.config, SOUND, "max_source_positions", "n_ctx", default=MOST_FRAMES // 2)
        return min(2 * positions, MOST_FRAMES)

    def series(self, name):
        """Times of what was (with what the lags reach back to) or will be; None for what is no series."""
        lags = first(self.config, (), "lags_sequence") or [0]
        if name.startswith("past_") and whole(self.config, (), "context_length", default=None):
            return whole(self.config, (), "context_length", default=0) + max(number("lags_sequence", lag) for lag in lags)
        return whole(self.config, (), "prediction_length", default=None) if name.startswith("future_") else None

    def time_features(self, word, name):
        return whole(self.config, (), "num_time_features", default=None) if word == "num_features" and name.endswith("time_features") else None

    def patches(self):
        """(rows, columns) of patches of an image, and how many of them become one token."""
        edge = whole(self.config, PIXELS, "patch_size", default=14)
        merged = whole(self.config, PIXELS, "spatial_merge_size", "merge_size", default=1)
        rows, columns = (max(size // edge // merged, 1) * merged for size in (self.height, self.width))
        return rows, columns, merged * merged

    def of_patch(self):
        edge = whole(self.config, PIXELS, "patch_size", default=14)
        return self.channels * whole(self.config, PIXELS, "temporal_patch_size", default=1) * edge * edge


def _edges(size):
    """(height, width) of what a configuration calls image_size. @raises Unknown"""
    if isinstance(size, dict):
        edges = size.get("height", 224), size.get("width", 224)
    else:
        edges = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    return tuple(number("image_size", edge) for edge in edges)


_DOCUMENTED = re.compile(r"^\s*(\w+) \(`?([^`\n]*?)`?,? *of shape `?\(([^`\n]*)\)`", re.MULTILINE)


def documented(forward):
    """{parameter: (type, dimensions)} from the documentation of a forward."""
    return {name: (kind, [word.strip() for word in shape.split(",") if word.strip()])
            for name, kind, shape in _DOCUMENTED.findall(forward.__doc__ or "")}


_NUMBERS = {
    "num_channels": "channels", "channels": "channels", "image_channels": "channels", "height": "height",
    "width": "width", "frame_size": "height", "image_height": "height", "image_width": "width", "num_mel_bins": "bins", "mel_bins": "bins", "feature_size": "bins", "feature_dim": "bins",
    "num_banks": "bins", "feature_length": "bins", "n_mels": "bins", "max_length": "spectrogram", "num_frames": "images",
}


def dimension(word, sizes, is_sound):
    """The number of a dimension that the documentation calls so; "{seq}" for the length of a sequence. @raises Unknown"""
    word = word.removeprefix("config.").strip("`").removesuffix(" + 1")  # a token of the end, which is among the ids
    if word.isdigit():
        return int(word)
    if is_sound and word in ("channels", "num_channels", "audio_channels"):
        return whole(sizes.config, SOUND, "audio_channels", default=1)
    if is_sound and word in ("sequence_length", "audio_length", "num_samples", "time_steps", "segment_length", "seq_len"):
        return sizes.samples
    if word in _NUMBERS and getattr(sizes, _NUMBERS[word]) is not None:
        return getattr(sizes, _NUMBERS[word])
    named = whole(sizes.config, (), word, "num_" + word, default=None)
    if named is not None:
        return named
    if word.endswith(("length", "len", "seqlen")):
        return "{seq}"
    if word.startswith("num_"):  # of points, regions, ...: as many as an example has
        return EXAMPLES_OWN
    raise Unknown(f"a dimension '{word}'")
