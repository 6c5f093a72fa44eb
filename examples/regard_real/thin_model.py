"""A decoder without some of its layers: another model to carry a trigger to, where no second one is at hand.

    python examples/regard_real/thin_model.py MODEL.gguf runs/thin --without 14 15

It writes worse text than the whole model. What a trigger does on it tells whether the trigger hangs on the exact
weights that it was searched on; it does not tell what the trigger does on a model of another kind.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main() -> None:
    """Load, leave out, save as a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="a GGUF file")
    parser.add_argument("out", type=Path, help="folder for the other model")
    parser.add_argument("--without", type=int, nargs="+", required=True, help="layers, counted from 0")
    chosen = parser.parse_args()
    source = {"pretrained_model_name_or_path": str(chosen.model.parent), "gguf_file": chosen.model.name}
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    count = len(model.model.layers)
    if not all(0 <= layer < count for layer in chosen.without):
        raise SystemExit(f"{chosen.model} has layers 0 to {count - 1}.")
    kept = [layer for number, layer in enumerate(model.model.layers) if number not in chosen.without]
    for number, layer in enumerate(kept):
        layer.self_attn.layer_idx = number
    model.model.layers = torch.nn.ModuleList(kept)
    model.config.num_hidden_layers = len(kept)
    # The weights were dequantised on loading, and are saved as they are now.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.save_pretrained(chosen.out)
    AutoTokenizer.from_pretrained(**source).save_pretrained(chosen.out)
    print(f"{chosen.out} has {len(kept)} of {count} layers.")


if __name__ == "__main__":
    main()
