"""Times what gpucheck's benchmarks time, by PyTorch on the same device, and by KeOps and GeomLoss where they are installed.

    python3 torch_rows.py --device cuda:0 --out torch.json

Rows: half-steps of Sinkhorn's algorithm in the log domain for |x-y|^2 (matrix-free, in blocks of rows that fit), in pairs
a second as BenchmarkOnDevice/half-step prints them; products, in FLOP a second, as BenchmarkOnDevice/Gemm; whole solves by
GeomLoss. Factors of products are not rounded to TF32. Each number is the best of several runs of at least 0.3 s.
"""

import argparse
import json
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("torch_rows.py: this python3 has no PyTorch: put one that has it first in PATH")

BLOCK_BYTES = 1 << 31  # of one block of the cost matrix


def best(device, step):
    """Seconds of one call of step: the least mean of five runs of at least 0.3 s."""
    def sync():
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    step()
    sync()
    seconds, count = [], 1
    while len(seconds) < 5:
        sync()
        began = time.perf_counter()
        for _ in range(count):
            step()
        sync()
        took = time.perf_counter() - began
        if took < 0.3:
            count = max(count + 1, int(count * 0.36 / max(took, 1e-6)))
            continue
        seconds.append(took / count)
    return min(seconds)


def half_step(x, y, h, eps):
    rows = max(1, BLOCK_BYTES // (y.shape[0] * x.element_size()))
    yy = (y * y).sum(1)
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    for i in range(0, x.shape[0], rows):
        part = x[i:i + rows]
        cost = (part * part).sum(1, keepdim=True) + yy - 2 * part @ y.T
        out[i:i + rows] = torch.logsumexp(h - cost / eps, 1)
    return out


def clouds(n, d, kind, device):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    y = torch.randn(n, d, generator=generator, dtype=torch.float64) + 1
    return x.to(device, kind), y.to(device, kind)


def rows(device, sizes):
    for n in sizes:
        for d in (2, 8, 64):
            for kind in (torch.float32, torch.float64):
                name = f"half-step/{str(kind)[6:]}/n={n}/d={d}"
                x, y = clouds(n, d, kind, device)
                h = torch.zeros(n, dtype=kind, device=device)
                s = best(device, lambda: half_step(x, y, h, 0.1))
                yield {"row": name, "by": "torch", "Gpairs/s": n * n / s / 1e9}
                try:
                    from pykeops.torch import LazyTensor
                except ImportError:
                    continue
                xi, yj, hj = LazyTensor(x[:, None, :]), LazyTensor(y[None, :, :]), LazyTensor(h[None, :, None])
                s = best(device, lambda: (hj - ((xi - yj) ** 2).sum(-1) / 0.1).logsumexp(1))
                yield {"row": name, "by": "KeOps", "Gpairs/s": n * n / s / 1e9}
    for n in (1024, 4096):
        for kind in (torch.float32, torch.float64):
            a, b = clouds(n, n, kind, device)
            s = best(device, lambda: a @ b)
            yield {"row": f"Gemm/{str(kind)[6:]}/n={n}", "by": "torch", "GFLOP/s": 2 * n**3 / s / 1e9}
    try:
        from geomloss import SamplesLoss
    except ImportError:
        return
    for n in sizes:
        x, y = clouds(n, 2, torch.float32, device)
        loss = SamplesLoss("sinkhorn", p=2, blur=0.3, debias=False)
        yield {"row": f"solve/float32/n={n}/d=2", "by": "GeomLoss, not converged", "seconds": best(device, lambda: loss(x, y))}


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--device", default="cuda:0")
    flags.add_argument("--sizes", default="4096,32768,131072")
    flags.add_argument("--out", required=True)
    args = flags.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    device = torch.device(args.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit(f"torch_rows.py: PyTorch {torch.__version__} sees no GPU: --device = {args.device}")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    report = {"device": name, "torch": torch.__version__, "cuda": torch.version.cuda, "date": time.strftime("%F"), "rows": []}
    for row in rows(device, [int(n) for n in args.sizes.split(",")]):
        print(json.dumps(row), flush=True)
        report["rows"].append(row)
        with open(args.out, "w") as f:
            json.dump(report, f, indent=1)


if __name__ == "__main__":
    main()
