"""Sizes of images, sounds and videos that a plan gives, and objects in an image: --image-size, --audio-seconds, --video-frames, --objects;
and whether batches differ in them: --varied-inputs.

A model whose configuration names such a size is made for the one that is given, by the line that a user writes after
reading the configuration.
"""
import dataclasses
from typing import Optional

from .plan import Refused

WORDS = {"image_size": "images", "audio_seconds": "sounds", "video_frames": "videos", "objects": "objects in images"}


@dataclasses.dataclass(frozen=True)
class Given:
    """None: what the model's configuration says."""
    image_size: Optional[tuple] = None  # height, width
    audio_seconds: Optional[float] = None
    video_frames: Optional[int] = None
    objects: Optional[int] = None
    varied: tuple = ()  # where each batch has lengths and sizes of its own: thousandths of the greatest length, batch by batch

    def named(self):
        """Sizes that are given."""
        return {name: getattr(self, name) for name in WORDS if getattr(self, name) is not None}


def given(named):
    """named: the request's model."""
    size = named.get("image_size")
    return Given(tuple(size) if size else None, named.get("audio_seconds"), named.get("video_frames"), named.get("objects"), tuple(named.get("varied") or ()))


def require_fed(plan, model):
    """@raises Refused"""
    for name, what in WORDS.items():
        if plan.is_changed(name) and name not in model.sizes:
            raise Refused(f"--{name.replace('_', '-')}: {model.name or 'the model'} is not fed {what}; omit it")


def require_varying(plan, model):
    """@raises Refused"""
    if plan.is_changed("varied_inputs") and not model.varies and not feeds_text(model):
        raise Refused(f"--varied-inputs: {model.name or 'the model'} is fed neither texts, nor sounds, nor images of several sizes; omit it")


def feeds_text(model):
    """Whether the tokens of an example are as many as the plan says."""
    return bool(model.counted) or "{seq}" in model.fields or not (model.data or model.batches)


def like(value, size):
    """A size of images in the form that a configuration has it in."""
    height, width = size
    if isinstance(value, dict):
        return {"height": height, "width": width}
    if isinstance(value, (list, tuple)):
        return [height, width]
    return height if height == width else (height, width)
