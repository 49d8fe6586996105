"""Loads a model on the GPU, and downloads one, with the public clients as they are."""

import hashlib
import importlib.util
import os
import time


def handler(job):
    return {"load": load, "download": download}[job["input"]["do"]](job["input"]["model"])


def load(name):
    import torch
    import transformers

    began = time.time()
    tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32).to("cuda").eval()
    ids = tokenizer("word3 word5", return_tensors="pt")["input_ids"].to("cuda")
    with torch.no_grad():
        logits = model(ids).logits[0, -1].tolist()
    return {"device": str(model.device), "logits": logits, "seconds": round(time.time() - began, 2), **versions()}


def versions():
    import huggingface_hub
    import transformers

    return {"transformers": transformers.__version__, "hub": huggingface_hub.__version__}


def download(name):
    from huggingface_hub import hf_hub_download, model_info, snapshot_download

    commit = model_info(name).sha
    folder = snapshot_download(name)
    found = {path: digest(os.path.join(folder, path)) for path in sorted(os.listdir(folder))}
    again = hf_hub_download(name, "config.json")
    return {
        **versions(),
        "hasXet": importlib.util.find_spec("hf_xet") is not None,
        "commit": commit,
        "files": found,
        "isSame": os.path.realpath(again) == os.path.realpath(os.path.join(folder, "config.json")),
        "atCommit": os.path.basename(os.path.dirname(hf_hub_download(name, "config.json", revision=commit))) == commit,
        "forced": digest(hf_hub_download(name, "model.safetensors", force_download=True)),
        "missingFile": error_of(lambda: hf_hub_download(name, "no-such-file.bin")),
        "missingRevision": error_of(lambda: hf_hub_download(name, "config.json", revision="no-such-branch")),
        "missingModel": error_of(lambda: snapshot_download("acme/no-such-model")),
        "dataset": error_of(lambda: snapshot_download("acme/data", repo_type="dataset")),
    }


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def error_of(call):
    """Its name and text, and those of the errors behind it."""
    try:
        return f"no error: {call()}"
    except Exception as error:  # noqa: BLE001
        texts = []
        while error is not None:
            texts.append(f"{type(error).__name__}: {error}"[:600])
            error = error.__cause__
        return "; caused by ".join(texts)
