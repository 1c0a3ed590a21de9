#!/usr/bin/env python3
"""Time this module and other libraries on the same problems, in turns: exact, sparse, entropic, unbalanced and quadratic
transport, gradients, grids and barycentres.

    python3 rows.py --ours "now=bin/peers" "avx2=env COUPLING_CPU=avx2 bin/peers" [--only REGEXP] [--sets 3] [--rounds 5]

Every row has several random data sets; on each, all sides take turns for some rounds. A first run of each, which is not timed,
checks that values agree, and tightens the peers' tolerances until their error is that of ours. The table has seconds of the
first of ours and multiples of them, medians over data sets of medians of those within rounds, and in brackets the data sets
with the least and the most; what a library that fails says is in its place. What takes more than a tenth of the limit is run
once. With one thread these are processor seconds, which others on the machine disturb least, with two wall seconds.
"""
import argparse, json, math, os, re, shutil, statistics, subprocess, sys, tempfile

import numpy as np

from peers import FIXED, PEERS, SLOW

TARGET = 1e-6  # L1 error of both marginals


# ---- data: generator -> arrays, and the fields of the request --------------------------------------------------------

def costs(x, y, p=2):
    return sum(abs(x[:, k, None] - y[None, :, k]) ** p for k in range(x.shape[1]))

def uniform(_, n):
    return {"a": np.full(n, 1 / n), "b": np.full(n, 1 / n)}

def weights(rng, n, m=None):
    a, b = rng.exponential(size=n), rng.exponential(size=m or n)
    return {"a": a / a.sum(), "b": b / b.sum()}

def assignment(n, draw):
    return lambda rng: dict(uniform(rng, n), c=draw(rng, n))

def integers(k):
    return lambda rng, n: rng.integers(0, k, (n, n)).astype(float)

def points(d, root):
    return lambda rng, n: costs(rng.random((n, d)), rng.random((n, d))) ** root

def tall(n, m):
    return lambda rng: dict(weights(rng, n, m), c=costs(rng.random((n, 2)), rng.random((m, 2))))

def histograms(n, p):
    def make(rng):
        at = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).reshape(-1, 2).astype(float)
        return dict(weights(rng, n * n), c=costs(at, at, p))
    return make

def line(n, draw):
    return lambda rng: dict(draw(rng, n), x=rng.normal(size=n), y=rng.normal(.5, 1, n))

def cloud(rng, n, m, d):
    return {"x": rng.normal(size=(n, d)), "y": rng.normal(.5, 1, (m, d))}

def clouds(n, d, ratio, draw=weights, rho=0):
    def make(rng):
        out = dict(draw(rng, n), **cloud(rng, n, n, d))
        c = costs(out["x"], out["y"])
        mean = out["a"] @ c @ out["b"]
        return dict(out, c=c, n=n, d=d, ratio=ratio * mean, rho=rho * mean)
    return make

def decades(spread):
    def make(rng):
        w = [10. ** -rng.integers(0, spread, k) for k in (1500, 1250)]
        out = dict(cloud(rng, 1500, 1250, 2), a=w[0] / w[0].sum(), b=w[1] / w[1].sum())
        return dict(out, ratio=.001 * np.ptp(costs(out["x"], out["y"])), n=1500, d=2)
    return make

def graph(n, draw):
    """Pairs (i, j) and their costs, drawn until a full matching exists."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching
    def make(rng):
        while True:
            c, i, j = draw(rng, n)
            s = csr_matrix((c, (i, j)), (n, n))
            s.sort_indices()
            if (maximum_bipartite_matching(s) >= 0).all():
                return dict(uniform(rng, n), starts=s.indptr.astype(float), targets=s.indices.astype(float), costs=s.data)
    return make

def nearest(rng, n, y=None, k=20):
    from scipy.spatial import cKDTree
    x = rng.random((n, 2))
    y = rng.random((n, 2)) if y is None else y(x)
    (_, j), (_, i) = cKDTree(y).query(x, k), cKDTree(x).query(y, k)
    i, j = np.concatenate([np.repeat(np.arange(n), k), i.ravel()]), np.concatenate([j.ravel(), np.repeat(np.arange(n), k)])
    i, j = np.unique(np.stack([i, j]), axis=1)
    return ((x[i] - y[j]) ** 2).sum(1), i, j

def moved(rng, n):
    """Independent clouds of many points have no full matching of near ones."""
    return nearest(rng, n, lambda x: x + rng.normal(0, n**-.5, x.shape))

def pairs(rng, n, k=20):
    i, j = np.unique(np.stack([np.repeat(np.arange(n), k), rng.integers(0, n, n * k)]), axis=1)
    return rng.random(len(i)) + 1e-3, i, j

def quadratic(ratio):
    def make(rng):
        c = points(2, 1)(rng, 300)
        return dict(uniform(rng, 300), c=c, ratio=ratio * c.mean())
    return make

def rings(n, ratio):
    def make(rng):
        t = np.linspace(0, 1, n)
        u, v = np.meshgrid(t, t)
        r = [np.hypot(u - p, v - q) for p, q in .5 + .1 * rng.normal(size=(3, 2))]
        w = np.stack([np.exp(-((r - s) / .05) ** 2) + .1 for r, s in zip(r, (.15, .25, .3))])
        return {"images": w / w.sum((1, 2), keepdims=True), "axis": (t[:, None] - t) ** 2, "n": n, "ratio": ratio}
    return make

def image(n):
    def make(rng):
        t = np.arange(n, dtype=float)
        out = histograms(n, 2)(rng)
        return dict(out, axis=(t[:, None] - t) ** 2, n=n, ratio=1)
    return make


# ---- rows: name, method of ours, data, peers, largest relative difference of values ----------------------------------

ASSIGN, SAMPLES = ["SciPy assignment", "POT emd"], ["torch, SamplesLoss", "GeomLoss SamplesLoss"]
ROWS = [
    *((f"assignment, {name}, n = {n}", "exact", assignment(n, draw), ASSIGN, 1e-9)
      for name, draw in [("integers 0..9", integers(10)), ("integers 0..99", integers(100)),
                         ("uniform random", lambda rng, n: rng.random((n, n))), ("Euclidean, d = 2", points(2, .5)),
                         ("squares, d = 16", points(16, 1))] for n in (1000, 2000)),
    *((f"weighted points, d = 2, n = {n}", "exact", tall(n, n), ["POT emd"], 1e-9) for n in (1024, 2048)),
    *((f"40×40 histograms, {name}", "exact", histograms(40, p), ["POT emd"], 1e-9) for p, name in ((2, "squares"), (1, "L1"))),
    *((f"{n} × {m}", "exact", tall(n, m), ["POT emd"], 1e-9) for n, m in ((200, 10000), (10000, 200))),
    *((f"the line, p = 2, value, {draw.__name__}, n = {n}", "line", line(n, draw), ["POT emd2_1d", "POT wasserstein_1d"], 1e-9)
      for n in (10**4, 10**6) for draw in (uniform, weights)),
    ("sliced, n = 5000, 100 directions, not POT's", "sliced", lambda rng: dict(uniform(rng, 5000), **cloud(rng, 5000, 5000, 5)),
     ["POT sliced"], .2),
    *((f"`cost.Sparse`, 20 {name}, n = {n}", "sparse", graph(n, draw), ["SciPy matching"], 1e-9)
      for n in (2000, 6000) for name, draw in (("nearest, two clouds", nearest), ("nearest, a cloud and it moved", moved),
                                               ("random pairs each", pairs)) if n == 2000 or draw != nearest),
    *((f"quadratic (`freg`), λ = {r} of the mean", "quadratic", quadratic(r), ["POT smooth_ot_dual"], 1e-4) for r in (1, .1, .01)),
    *((f"unbalanced, n = 1000, ε = {e}, ρ = {r}", "unbalanced", clouds(1000, 2, e, uniform, r),
       ["POT sinkhorn_unbalanced"], 1e-5) for e, r in ((.1, 1), (.01, .1), (.01, 1), (.01, 10))),
    *((f"{name} {n}/{r}", method, clouds(n, 2, r), ["POT sinkhorn", *SLOW] * (method == "auto"), 1e-4)
      for n in (1024, 2048, 4096) for r in (.1, .01, .001) for name, method in (("solve", "auto"), ("matrix-free", "free"))),
    *((f"{name}, n = {n}, d = {d}", name, clouds(n, d, .1), libraries if n <= most else [], .02)
      for n, d in ((256, 32), (1024, 2), (2048, 2))
      for name, libraries, most in (("loss reg_kl", ["torch, at the optimum"], 2048), ("loss sharp", ["POT sinkhorn2"], 1024),
                                    ("divergence reg_kl", SAMPLES, 2048), ("divergence sharp", [], 0))),
    *((f"{name}, 1500 × 1250, ε = .001 of the range", "free", decades(k), [], 0)
      for k, name in ((1, "equal weights"), (8, "weights over eight decades"))),
    *((f"barycentre of three rings, 48×48, ε = {e}", "barycentre", rings(48, e), ["POT convolutional"], 1e-3)
      for e in (.004, .001)),
    *((f"two noisy images of {n}×{n}, ε = 1 pixel²", "grid", image(n), ["POT sinkhorn"], 1e-4) for n in (32, 64)),
]


# ---- taking turns ----------------------------------------------------------------------------------------------------

class Server:
    """A program that answers JSON lines; it ends at a time-out and is started again."""

    def __init__(self, command, threads):
        self.command = command
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS")
        self.env = dict(os.environ, **{k: str(threads) for k in names})
        self.clock = "cpu" if threads == 1 else "seconds"
        self.limit, self.process = threads, None

    def ask(self, q, limit):
        """The reply, with its time by the clock that counts; or a note."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(dict(q, limit=limit * self.limit)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.process = None
            return {"note": f">{limit:g} s"}
        r = json.loads(line)
        if r.get(self.clock):
            r["time"] = r[self.clock]
        return r


def apart(value, reference):
    return abs(value - reference) / (abs(reference) or 1)


def tighten(server, q, reference, off, limit):
    """The first run of a peer, repeated with a tighter knob while its error is above that of ours."""
    for _ in range(8):
        r = server.ask(q, limit)
        if "time" not in r:
            return r
        r["off"] = apart(r["value"], reference)
        error = r["l1"] if r["l1"] >= 0 else r["off"] if q["method"] == "unbalanced" else 0
        if error <= TARGET or q["peer"] in FIXED:
            break
        q["knob"] *= max(.05, min(.5, .9 * TARGET / error))
    if r["l1"] > 1.01 * TARGET and q["method"] == "auto":
        return {"note": f"L1 error {r['l1']:.1e}"}
    return r if r["off"] <= off else {"note": f"value off by {r['off']:.1e}"}


def data_set(row, seed, ours, theirs, args):
    """Seconds of each side in each round; a note for a side that fails."""
    name, method, make, libraries, off = row
    libraries = [x for x in libraries if args.slow or x not in SLOW]
    rng, folder = np.random.default_rng([seed, *name.encode()]), tempfile.mkdtemp(prefix="rows")
    fields = make(rng)
    q = {"method": method, "dir": folder, "knob": TARGET}
    for k, v in fields.items():
        if isinstance(v, np.ndarray):
            v.astype("<f8").tofile(os.path.join(folder, k + ".f64"))
        else:
            q[k] = v
    sides = {side: (server, dict(q)) for side, server in ours.items()}
    sides.update({peer: (theirs, dict(q, peer=peer)) for peer in libraries})
    runs, reference = {}, None
    for side, (server, q) in sides.items():
        r = server.ask(q, args.limit) if side in ours else tighten(server, q, reference, off, args.limit)
        reference = r.get("value") if reference is None else reference
        agrees = "time" in r and apart(r["value"], reference) <= max(off, 1e-5)
        runs[side] = [r["time"]] if agrees else r.get("note") or f"value {r['value']}"
        print(f"  {side}: {r} knob {q['knob']:.1e}", file=sys.stderr, flush=True)
    alive = [side for side in sides if isinstance(runs[side], list)]
    slow = {side for side in alive if runs[side][0] > args.limit / 10}
    rounds = args.rounds if max(runs[side][0] for side in alive) > .05 else 3 * args.rounds
    for k in range(rounds):
        for side in alive[k % len(alive):] + alive[:k % len(alive)]:
            server, q = sides[side]
            if side not in slow:
                runs[side].append(server.ask(q, 10 * args.limit)["time"])
    shutil.rmtree(folder)
    return {side: r[1:] if isinstance(r, list) and side not in slow else r for side, r in runs.items()}


def ratio(sets, side, first):
    """The median over data sets of the medians within rounds, and the least and the most."""
    each = []
    for runs in sets:
        a, b = runs.get(side), runs.get(first)
        if isinstance(a, list) and isinstance(b, list):
            b = b if len(a) == len(b) else [statistics.median(b)] * len(a)
            each.append(statistics.median(x / y for x, y in zip(a, b)))
    return (statistics.median(each), min(each), max(each)) if each else None


def cell(sets, side, first):
    """Seconds of the first of ours; of others in multiples of it."""
    if r := ratio(sets, side, first):
        if side == first:
            return f"{statistics.median(statistics.median(s[side]) for s in sets if isinstance(s[side], list)):.2g} s"
        return f"{r[0]:.3g} ({r[1]:.3g}–{r[2]:.3g})"
    return next((s[side] for s in sets if isinstance(s.get(side), str)), "–")


def main():
    f = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    f.add_argument("--ours", nargs="+", default=["now=go run ./ot/peers"], help="NAME=COMMAND of our program, one or more")
    f.add_argument("--only", default="", help="rows whose name this regular expression finds")
    f.add_argument("--sets", type=int, default=3)
    f.add_argument("--rounds", type=int, default=5)
    f.add_argument("--limit", type=float, default=30, help="seconds of one run")
    f.add_argument("--threads", type=int, default=1)
    f.add_argument("--slow", action="store_true", help="peers that take minutes, too, and all peers of a row instead of the best")
    args = f.parse_args()
    ours = {name: Server(command.split(), args.threads) for name, command in (o.split("=", 1) for o in args.ours)}
    theirs = Server([sys.executable, os.path.join(os.path.dirname(__file__), "peers.py")], args.threads)
    first = next(iter(ours))
    print("| problem |", " | ".join(ours), "| best peer |", "\n" + "|--" * (len(ours) + 2) + "|")
    for row in ROWS:
        if not re.search(args.only, row[0]):
            continue
        print(row[0], file=sys.stderr, flush=True)
        sets = [data_set(row, seed, ours, theirs, args) for seed in range(args.sets)]
        tried = [side for side in sets[0] if side in PEERS]
        tried.sort(key=lambda p: (ratio(sets, p, first) or [math.inf])[0])
        others = "; ".join(f"{p} {cell(sets, p, first)}" for p in (tried if args.slow else tried[:1]))
        cells = [cell(sets, side, first) for side in ours] + [others or "–"]
        print("|", row[0], "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
