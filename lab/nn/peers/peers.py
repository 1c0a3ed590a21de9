#!/usr/bin/env python3
"""Time this module's products, convolutions and training steps beside PyTorch's, in turns, on the same machine.

    python3 lab/nn/peers/peers.py [--threads 1 2] [--rounds 5] [--only REGEXP]

Run it where `go build ./lab/nn/peers` works, or give --ours a built program. It needs PyTorch. Progress goes to standard
error and one Markdown table to standard output: processor seconds, the least of all rounds, and the median of their ratios.
"""
import argparse, json, os, re, resource, statistics, subprocess, sys, tempfile, time

CONVS = [(8, 64, 64, 32, 3, 1), (8, 128, 128, 16, 3, 1), (64, 16, 16, 16, 3, 1), (64, 64, 64, 4, 3, 1),
         (64, 32, 32, 8, 3, 1), (16, 64, 128, 28, 4, 2), (32, 32, 64, 16, 1, 1), (32, 16, 32, 28, 5, 1),
         (32, 32, 32, 15, 7, 1), (64, 1, 16, 28, 3, 1), (64, 16, 1, 28, 3, 1)]
NETS = [("lenet", 100), ("cnn", 100), ("dcgan", 70), ("unet", 64), ("ncsn", 8)]


def cases():
    """Yield name, request and floating-point operations (0: not counted)."""
    for kind in ("float32", "float64"):
        for n in (256, 512, 1024, 2048, 4096):
            if n < 4096 or kind == "float32":
                yield f"gemm {kind} {n}", {"kind": "gemm", "type": kind, "n": n}, 2 * n**3
    yield "gemm float32 1024, B transposed", {"kind": "gemm", "type": "float32", "trans": "T", "n": 1024}, 2 * 1024**3
    for n, i, o, side, k, s in CONVS:
        out = (side + 2 * ((k - 1) // 2) - k) // s + 1
        for way in ("forward", "weight", "input"):
            q = {"kind": "conv", "pass": way, "n": n, "in": i, "out": o, "side": side, "kernel": k, "stride": s}
            yield f"conv {k}×{k}/{s} {n}×{i}→{o} @{side}, {way}", q, 2 * n * i * o * k * k * out * out
    for net, n in NETS:
        yield f"step {net}, batch {n}", {"kind": "step", "net": net, "n": n}, 0
    yield "clipped gradients lenet, batch 256", {"kind": "clip", "net": "lenet", "n": 256}, 0


MEMORY = [("dcgan", 70), ("unet32", 128)]


# ---- PyTorch's side --------------------------------------------------------------------------------------------------

def prepare(torch, q):
    """Return a function that makes one call of what q asks for."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(1)
    if q["kind"] == "gemm":
        t = getattr(torch, q["type"])
        a, b, c = (torch.randn(q["n"], q["n"], dtype=t) for _ in range(3))
        b = b.t() if q.get("trans") == "T" else b
        return lambda: torch.mm(a, b, out=c)
    if q["kind"] == "conv":
        pad = (q["kernel"] - 1) // 2
        x = torch.randn(q["n"], q["in"], q["side"], q["side"])
        w = torch.randn(q["out"], q["in"], q["kernel"], q["kernel"])
        run = lambda: F.conv2d(x, w, stride=q["stride"], padding=pad)
        if q["pass"] == "forward":
            return run
        dy, mask = torch.randn_like(run()), [q["pass"] == "input", q["pass"] == "weight", False]
        s, p = [q["stride"]] * 2, [pad] * 2
        return lambda: torch.ops.aten.convolution_backward(dy, x, w, None, s, p, [1, 1], False, [0, 0], 1, mask)
    net, shape = network(torch, q["net"])
    x = torch.randn(q["n"], *shape)
    if q["kind"] == "clip":
        return clipped(torch, net, x)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-4)
    with torch.no_grad():
        dy = torch.randn_like(net(x))
    labels = torch.zeros(q["n"], dtype=torch.long)

    def step():
        optimiser.zero_grad()
        y = net(x)
        if y.dim() == 2:
            F.cross_entropy(y, labels, reduction="sum").backward()
        else:
            y.backward(dy)
        optimiser.step()
    return step


def network(torch, name):
    nn = torch.nn
    conv3 = lambda i, o: nn.Conv2d(i, o, 3, padding=1)

    class Residual(nn.Module):
        def __init__(self, *body):
            super().__init__()
            self.body = nn.Sequential(*body)

        def forward(self, x):
            return x + self.body(x)

    class Joined(nn.Module):
        def __init__(self, *body):
            super().__init__()
            self.body = nn.Sequential(*body)

        def forward(self, x):
            return torch.cat([x, self.body(x)], 1)

    class NormPlus(nn.Module):  # InstanceNorm++ as in the code of Song and Ermon (2020)
        def __init__(self, c):
            super().__init__()
            self.alpha, self.gamma = (nn.Parameter(1 + .02 * torch.randn(c)) for _ in range(2))
            self.beta = nn.Parameter(torch.zeros(c))

        def forward(self, x):
            means = x.mean((2, 3))
            m, v = means.mean(-1, keepdim=True), means.var(-1, keepdim=True)
            means = (means - m) / torch.sqrt(v + 1e-5)
            h = nn.functional.instance_norm(x) + means[..., None, None] * self.alpha[..., None, None]
            return self.gamma.view(-1, x.shape[1], 1, 1) * h + self.beta.view(-1, x.shape[1], 1, 1)

    if name == "lenet":
        return nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)), (1, 28, 28)
    if name == "cnn":
        return nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.MaxPool2d(2), nn.ReLU(),
            nn.Conv2d(64, 128, 3), nn.ReLU(), nn.Flatten(), nn.Linear(1152, 128), nn.ReLU(), nn.Linear(128, 10)), (1, 28, 28)
    if name == "dcgan":
        return nn.Sequential(
            nn.Unflatten(1, (100, 1, 1)), nn.ConvTranspose2d(100, 256, 7), nn.BatchNorm2d(256), nn.ReLU(),
            nn.ConvTranspose2d(256, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
            nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), conv3(64, 1), nn.Tanh()), (100,)
    if name in ("unet", "unet32"):
        def stage(i, o):
            return [conv3(i, o), nn.SiLU(), Residual(conv3(o, o), nn.SiLU(), conv3(o, o)), nn.SiLU()]

        def join(c, below, down, inner):
            return nn.Sequential(*down, Joined(nn.AvgPool2d(2), inner, nn.Upsample(scale_factor=2)), conv3(c + below, c), nn.SiLU())
        w, side = 16, 32 if name == "unet32" else 16
        middle = join(2 * w, 4 * w, stage(w, 2 * w), nn.Sequential(*stage(2 * w, 4 * w)))
        return nn.Sequential(join(w, 2 * w, stage(1, w), middle), conv3(w, 1)), (1, side, side)
    if name == "ncsn":
        block = lambda c: Residual(NormPlus(c), nn.ELU(), conv3(c, c), NormPlus(c), nn.ELU(), conv3(c, c))
        w = 64
        return nn.Sequential(
            conv3(1, w), block(w), Joined(nn.AvgPool2d(2), conv3(w, 2 * w), block(2 * w), nn.Upsample(scale_factor=2)),
            conv3(3 * w, w), NormPlus(w), nn.ELU(), conv3(w, 1)), (1, 32, 32)
    raise ValueError(name)


def clipped(torch, net, x):
    """Sum of clipped per-example gradients in Opacus' way: from inputs and cotangents of layers, by unfold and einsum."""
    F = torch.nn.functional
    layers = [m for m in net if list(m.parameters())]
    kept = {}
    for m in layers:
        m.register_forward_hook(lambda m, i, o: kept.__setitem__(m, [i[0].detach(), None]))
        m.register_full_backward_hook(lambda m, gi, go: kept[m].__setitem__(1, go[0]))
    labels = torch.zeros(len(x), dtype=torch.long)

    def call():
        net.zero_grad()
        F.cross_entropy(net(x), labels, reduction="sum").backward()
        grads = []
        for m in layers:
            a, d = kept[m]
            if d.dim() == 2:
                grads += [torch.einsum("no,ni->noi", d, a), d]
            else:
                u, d = F.unfold(a, m.kernel_size, padding=m.padding, stride=m.stride), d.flatten(2)
                grads += [torch.einsum("nop,nkp->nok", d, u), d.sum(2)]
        norm = torch.stack([g.flatten(1).norm(dim=1) for g in grads], 1).norm(dim=1)
        factor = (1 / (norm + 1e-6)).clamp(max=1)
        return [torch.einsum("n,n...->...", factor, g) for g in grads]
    return call


def least(call):
    call()
    best = float("inf")
    for _ in range(5):
        start, calls = time.process_time(), 0
        while calls == 0 or time.process_time() - start < .05:
            call()
            calls += 1
        best = min(best, (time.process_time() - start) / calls)
    return best


def worker(threads):
    import torch
    torch.set_num_threads(threads)
    resident = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    for line in sys.stdin:
        call = prepare(torch, json.loads(line))
        before = resident()
        print(json.dumps({"cpu": least(call), "peak": resident() - before}), flush=True)


# ---- taking turns ----------------------------------------------------------------------------------------------------

class Server:
    """A program that answers JSON lines."""

    def __init__(self, command, threads):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS")
        env = dict(os.environ, OMP_WAIT_POLICY="passive", **{k: str(threads) for k in names})
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, q):
        self.process.stdin.write(json.dumps(q) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        if reply.get("note"):
            raise SystemExit(f"{q}: {reply['note']}")
        return reply

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def note(*words):
    print(*words, file=sys.stderr, flush=True)


def measure(args, commands, threads):
    servers = [Server(c, threads) for c in commands]
    for name, q, flop in cases():
        if not re.search(args.only, name):
            continue
        rounds = [[s.ask(q)["cpu"] for s in servers] for _ in range(args.rounds)]
        ours, theirs = (min(t) for t in zip(*rounds))
        ratio = statistics.median(a / b for a, b in rounds)  # of turns: what disturbs one disturbs both
        speed = f"{flop / ours / 1e9:.0f} / {flop / theirs / 1e9:.0f}" if flop else ""
        row = f"| {name} | {threads} | {ours:.3g} | {theirs:.3g} | {speed} | {ratio:.2f} |"
        note(row)
        yield row
    for s in servers:
        s.close()


def memory(args, commands):
    for net, n in MEMORY:
        if not re.search(args.only, "memory " + net):
            continue
        peaks = []
        for command in commands:  # a process of its own: the most that was resident never falls
            server = Server(command, 1)
            peaks.append(server.ask({"kind": "step", "net": net, "n": n})["peak"])
            server.close()
        yield f"| {net}, batch {n} | {peaks[0] / 2**20:.0f} | {peaks[1] / 2**20:.0f} | {peaks[0] / peaks[1]:.2f} |"


def main():
    f = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    f.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    f.add_argument("--rounds", type=int, default=5)
    f.add_argument("--only", default="", help="regular expression of the names of rows")
    f.add_argument("--ours", help="our program, built")
    f.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    args = f.parse_args()
    if args.worker:
        return worker(args.worker)
    with tempfile.TemporaryDirectory() as folder:
        ours = args.ours or os.path.join(folder, "peers")
        if not args.ours:
            subprocess.run(["go", "build", "-o", ours, "./lab/nn/peers"], check=True)
        rows = []
        for t in args.threads:
            rows += measure(args, [[ours], [sys.executable, __file__, "--worker", str(t)]], t)
        peaks = list(memory(args, [[ours], [sys.executable, __file__, "--worker", "1"]]))
    print("| work | threads | ours, CPU s | PyTorch, CPU s | GFLOP/s | ours/PyTorch |\n|--|--|--|--|--|--|")
    print(*rows, sep="\n")
    if peaks:
        print("\n| memory of a step | ours, MB | PyTorch, MB | ours/PyTorch |\n|--|--|--|--|")
        print(*peaks, sep="\n")


if __name__ == "__main__":
    main()
