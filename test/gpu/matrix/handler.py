"""Holds MODEL_MIB of GPU memory with random bytes, multiplies matrices, and says when it had started what."""

import os
import time


def process_began():
    """In seconds since 1970, to a hundredth."""
    with open("/proc/self/stat") as stat, open("/proc/uptime") as uptime:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
        return time.time() - float(uptime.read().split()[0]) + ticks / os.sysconf("SC_CLK_TCK")


times = {"process": process_began(), "handler": time.time()}
import torch  # noqa: E402

times["torch"] = time.time()
torch.zeros(1, device="cuda")
torch.cuda.synchronize()
times["context"] = time.time()
model = torch.randint(0, 256, (int(os.environ["MODEL_MIB"]) << 20,), dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
times["model"] = time.time()

SIZE = 8192
FLOP = 2 * SIZE**3


def is_exact():
    """Whole numbers: the CPU's product is the same to the last bit."""
    left, right = (torch.randint(-9, 9, (512, 512), device="cuda").double() for _ in range(2))
    return torch.equal((left @ right).cpu(), left.cpu() @ right.cpu())


def multiply(seconds):
    """Returns the TFLOP/s of products that take so long together."""
    left, right = (torch.randn(SIZE, SIZE, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    began, count = time.time(), 0
    while time.time() < began + seconds:
        for _ in range(20):
            left @ right
        torch.cuda.synchronize()
        count += 20
    return round(count * FLOP / (time.time() - began) / 1e12)


def handler(job):
    called = time.time()
    seconds = (job["input"] or {}).get("seconds", 0)
    return {
        "pid": os.getpid(),
        "device": torch.cuda.get_device_name(),
        "devices": torch.cuda.device_count(),
        "isExact": is_exact(),
        "teraflops": multiply(seconds) if seconds else None,
        "sum": str(model.view(torch.int64).sum().item()),
        "times": {**times, "called": called, "answered": time.time()},
    }
