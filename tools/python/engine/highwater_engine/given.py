"""Sizes of images, sounds and videos that a plan gives, and objects in an image: --image-size, --audio-seconds, --video-frames, --objects.

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

    def named(self):
        """Those that are given."""
        return {name: value for name, value in vars(self).items() if value is not None}


def given(named):
    """named: the request's model."""
    size = named.get("image_size")
    return Given(tuple(size) if size else None, named.get("audio_seconds"), named.get("video_frames"), named.get("objects"))


def require_fed(plan, model):
    """@raises Refused"""
    for name, what in WORDS.items():
        if plan.is_changed(name) and name not in model.sizes:
            raise Refused(f"--{name.replace('_', '-')}: {model.name or 'the model'} is not fed {what}; omit it")


def like(value, size):
    """A size of images in the form that a configuration has it in."""
    height, width = size
    if isinstance(value, dict):
        return {"height": height, "width": width}
    if isinstance(value, (list, tuple)):
        return [height, width]
    return height if height == width else (height, width)
