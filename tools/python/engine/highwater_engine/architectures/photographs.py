"""Images of models whose configuration names no size, where each pixel or object counts: as transformers' own processor makes them of a photograph."""

from .variety import PHOTOGRAPHS

PHOTOGRAPH = (480, 640)  # height and width of most images of COCO
SQUARE = (224, 224)      # of what sorts whole images
DENSE = ("boxes", "masks", "pixels", "depths")  # labels


def size_for(config, labels):
    """(height, width). labels: how they look (tasks.py)"""
    return (_processed(config.model_type) if labels in DENSE else None) or SQUARE


def several_for(config, labels):
    """Sizes of photographs of several sizes, of what learns from boxes; empty for others."""
    size = _size_of_processor(config.model_type) if labels == "boxes" else None
    return tuple(dict.fromkeys(resized(size, *photograph) for photograph in PHOTOGRAPHS)) if size else ()


def _processed(kind):
    """A photograph as the architecture's image processor makes it by default."""
    size = _size_of_processor(kind)
    return resized(size) if size else None


def _size_of_processor(kind):
    """None where there is no processor or it says nothing of sizes."""
    import transformers
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES
    names = IMAGE_PROCESSOR_MAPPING_NAMES.get(kind)
    names = names.values() if isinstance(names, dict) else names or ()
    sizes = (getattr(getattr(transformers, str(name), None), "size", None) for name in names)
    return next((size for size in sizes if isinstance(size, dict)), None)


def resized(size, height=PHOTOGRAPH[0], width=PHOTOGRAPH[1]):
    """A photograph of this processor's size: {"height", "width"}, or {"shortest_edge"} with or without {"longest_edge"}."""
    if "height" in size:
        return size["height"], size["width"]
    if height > width:
        return resized(size, width, height)[::-1]
    shortest, most = size.get("shortest_edge", height), size.get("longest_edge")
    longest = width * shortest // height
    return (height * most // width, most) if most and longest > most else (shortest, longest)
