"""An encoder that learns from pairs of texts, which it encodes one after the other.

A text is the mean of its states, and each is to be nearest to its own partner of all in the batch: Pooling in mode "mean" and
MultipleNegativesRankingLoss of sentence-transformers, or the mean_pooling() of its models' cards with the same loss.
"""
import dataclasses

from ..asking import UnknownModel

_LINES = '''
def mean_of(states, mask):
    """The mean of what no padding hides."""
    if mask is None:
        return states.mean(1)
    mask = mask.unsqueeze(-1).expand(states.size()).float()
    return (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def loss_of(texts):
    first, second = (torch.nn.functional.normalize(text, dim=1) for text in texts)
    scores = 20 * first @ second.T
    return torch.nn.functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))

'''

_DATA = """

class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return {examples}

    def __getitem__(self, index):
        return [{{{fields}}} for length in ({seq}, {target})]

"""


def class_of(config):
    """The name of the class without a head. @raises UnknownModel"""
    from transformers.models.auto import modeling_auto
    name = modeling_auto.MODEL_MAPPING_NAMES.get(config.model_type)
    if not isinstance(name, str) or getattr(config, "is_encoder_decoder", False):
        raise UnknownModel(f"--loss contrastive: model_type '{config.model_type}' is no encoder of texts; omit it")
    return name


def of(model, config):
    """The same model, fed with pairs. model: of the class without a head. @raises UnknownModel"""
    if not isinstance(getattr(config, "vocab_size", None), int):
        raise UnknownModel(f"--loss contrastive: {model.name} reads no tokens; omit it")
    return dataclasses.replace(
        model, prepare=f"{model.prepare}\n{_LINES}", data=_DATA, fields='"input_ids": torch.randint(0, config.vocab_size, (length,))',
        mask='"attention_mask": torch.ones(length, dtype=torch.long){hidden}, ', counted="length", dataset="Pairs()",
        load="batch = [{{name: tensor.to({device}) for name, tensor in text.items()}} for text in batch]", arranges=(), constants="",
        call='[mean_of({called}(**text)[0], text.get("attention_mask")) for text in batch]', loss="loss_of(outputs)", targets=True,
        fed="pairs of texts, the mean of whose states is compared")

