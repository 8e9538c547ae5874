"""The part of a model of transformers that a stage of a pipeline runs. The text of these classes goes into scripts, and
tools/python/frameworks/record_pipeline.py imports them."""
import torch


class Stage(torch.nn.Module):
    """Blocks begin to end of a model; its own forward makes positions and masks from the states that arrive."""

    def __init__(self, whole, is_first, is_last, begin, end):
        super().__init__()
        self.is_first = is_first
        backbone = whole.base_model
        backbone.layers = torch.nn.ModuleList(list(backbone.layers)[begin:end])
        if not is_first:
            backbone.embed_tokens = None
        if not is_last:
            backbone.norm = torch.nn.Identity()
        self.backbone = backbone
        self.head = whole.get_output_embeddings() if is_last else None

    def forward(self, states):
        name = "input_ids" if self.is_first else "inputs_embeds"
        states = self.backbone(**{name: states}, use_cache=False).last_hidden_state
        return self.head(states) if self.head else states


class Gpt2Stage(torch.nn.Module):
    """GPT-2 adds positions to whatever it is given, so a stage has a forward of its own."""

    def __init__(self, whole, is_first, is_last, begin, end):
        super().__init__()
        backbone = whole.transformer
        self.config = whole.config
        self.wte, self.wpe, self.drop = (backbone.wte, backbone.wpe, backbone.drop) if is_first else (None,) * 3
        self.h = torch.nn.ModuleList(list(backbone.h)[begin:end])
        self.ln_f, self.head = (backbone.ln_f, whole.lm_head) if is_last else (None, None)

    def forward(self, states):
        states = self.backbone(states)
        return self.head(states) if self.head else states

    def backbone(self, tokens, position_ids=None):
        from transformers import masking_utils
        inputs_embeds = self.wte(tokens) if self.wte else tokens
        position_ids = torch.arange(inputs_embeds.shape[1], device=inputs_embeds.device) + 0
        position_ids = position_ids.unsqueeze(0)
        states = inputs_embeds
        if self.wpe:
            position_embeds = self.wpe(position_ids)
            states = inputs_embeds + position_embeds
        mask = masking_utils.create_causal_mask(config=self.config, inputs_embeds=inputs_embeds, attention_mask=None,
                                                past_key_values=None, position_ids=position_ids)
        if self.drop:
            states = self.drop(states)
        for block in self.h:
            states = block(states, None, mask, None, encoder_attention_mask=None, use_cache=False, position_ids=position_ids)
        states = self.ln_f(states) if self.ln_f else states
        return states
