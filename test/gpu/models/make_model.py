"""Writes a tiny model of random weights into a folder, as transformers saves them, and prints what it generates on the CPU."""

import json
import sys

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder = sys.argv[1]
words = ["<unk>", "<s>", "</s>", *(f"word{i}" for i in range(61))]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokens = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
)
tokens.save_pretrained(folder)
torch.manual_seed(7)
config = LlamaConfig(
    vocab_size=len(words), hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=2,
)  # fmt: skip
model = LlamaForCausalLM(config).eval()
model.save_pretrained(folder)
ids = tokens("word3 word5", return_tensors="pt")["input_ids"]
with torch.no_grad():
    print(json.dumps(model(ids).logits[0, -1].tolist()))
