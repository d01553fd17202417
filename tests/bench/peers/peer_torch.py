"""transformers on torch, with scaled-dot-product attention. In f32 it is the reference."""

import torch
import transformers

import peer


class Torch(peer.Peer):
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}

    def __init__(self, precision, threads, model_folder):
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        model = transformers.BertModel.from_pretrained(
            model_folder, add_pooling_layer=False, attn_implementation="sdpa").eval()
        self.model = model.to({"f32": torch.float32, "bf16": torch.bfloat16}[precision])

    def prepare(self, texts):
        ids, mask = peer.pad(texts)
        return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}

    def run(self, prepared):
        with torch.inference_mode():
            return self.model(**prepared).last_hidden_state.float().numpy()
