"""What batches differ in where their inputs vary: lengths of sounds, sizes of photographs, objects in them.

They come in this order again and again, each batch with the next one.
"""

# Height and width of photographs as COCO has them, lying and standing, the widest beside the highest. Their number is odd, so that each
# comes together with its neighbours on both sides in batches of two.
PHOTOGRAPHS = ((480, 640), (427, 640), (640, 480), (480, 640), (500, 375), (480, 640), (640, 427), (360, 640), (640, 480), (426, 640), (375, 500))
OBJECTS = (3, 12, 7, 1, 17, 5, 4)  # 7 in the mean, as in all of COCO (sources.py)


def lengths_up_to(most, shares):
    """shares: in thousandths"""
    return tuple(max(1, most * share // 1000) for share in shares)


def of_batch(values):
    """The expression of the value for the batch that an example belongs to; `index` is the example's."""
    return f"{tuple(values)}[index // {{batch}} % {len(values)}]"
