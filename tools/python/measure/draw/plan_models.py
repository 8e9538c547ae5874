"""The models that plans are drawn with: the families of scripts, and the decoders of the list of recordings.

A function returns (name in transformers, config.json without its model_type).
"""

import json
from pathlib import Path

from .families import FAMILIES, VOCABULARIES

LIST = Path(__file__).resolve().parents[1] / "cases" / "decoders.json"
POSITIONS = 4096
FAMILY_SHARE = 0.6  # of plans with a family of scripts, whose sizes are drawn
SPLITTABLE = ("llama", "qwen2", "qwen3", "mistral", "gemma")  # by transformers' plans


def is_mixture(config):
    return any("experts" in name for name in config)


def listed(wanted):
    rows = json.loads(LIST.read_text())
    return [(row["model"], row["overrides"]) for row in rows
            if row["model"] != "openai-gpt" and wanted(row["overrides"])]


DENSE = listed(lambda config: not is_mixture(config))
MIXTURES = listed(is_mixture)


def of_families(rng, names):
    name = rng.choices(names, [FAMILIES[name].weight for name in names])[0]
    return name, FAMILIES[name].config(rng)


def of_list(rng, rows):
    """Layers and widths stay: some configurations have lists of them."""
    name, config = rng.choice(rows)
    return name, {**config, "vocab_size": rng.choice(VOCABULARIES), "max_position_embeddings": POSITIONS}


def any_decoder(rng):
    dense = [name for name, family in FAMILIES.items() if family.is_decoder and not family.is_mixture]
    return of_families(rng, dense) if rng.random() < FAMILY_SHARE else of_list(rng, DENSE)


def splittable(rng):
    return of_families(rng, SPLITTABLE)


def llama(rng):
    return of_families(rng, ("llama",))


def mixture(rng):
    mixtures = [name for name, family in FAMILIES.items() if family.is_mixture]
    return of_families(rng, mixtures) if rng.random() < FAMILY_SHARE else of_list(rng, MIXTURES)
