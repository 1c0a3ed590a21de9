#!/usr/bin/env python3
"""Time this module's solvers and other libraries' on the same problems, in turns, on the same machine.

    python3 peers.py DATA [--n 1024 4096] [--d 2] [--ratio .1 .01 .001] [--threads 1 2] [--limit 60] [--rounds 3]

DATA is the folder of the timing problems. Run it where `go run ./ot/peers` works, or give --ours a built program.
What is not installed is left out. Progress goes to standard error, and to standard output two Markdown tables: of solves, and
of losses with their gradient.
"""
import argparse, importlib, importlib.metadata, json, math, os, resource, signal, statistics, subprocess, sys, time, warnings

TARGET = 1e-6  # L1 error of both marginals
OURS = ["auto", "newton", "scaling", "free"]
LOSSES = ["loss reg_kl", "loss sharp", "divergence reg_kl", "divergence sharp"]  # of ours, with the gradient by x


# ---- the other libraries, each as: problem, ε, knob -> plan ----------------------------------------------------------

def pot_sinkhorn(p, eps, knob):
    return p.ot.sinkhorn(p.a, p.b, p.C, eps, stopThr=knob, numItermax=10**7)

def pot_log(p, eps, knob):
    t = p.torch.from_numpy
    return p.ot.bregman.sinkhorn_log(t(p.a), t(p.b), t(p.C), eps, stopThr=knob, numItermax=10**7).numpy()

def pot_stabilized(p, eps, knob):
    return p.ot.bregman.sinkhorn_stabilized(p.a, p.b, p.C, eps, stopThr=knob, numItermax=10**7)

def pot_emd(p, eps, knob):
    return p.ot.emd(p.a, p.b, p.C, numItermax=10**9, numThreads=p.threads)

def regot_lbfgs(p, eps, knob):
    return p.regot.sinkhorn_lbfgs_dual(p.C, p.a, p.b, eps, tol=knob, max_iter=10**6).plan

def regot_splr(p, eps, knob):
    return p.regot.sinkhorn_splr(p.C, p.a, p.b, eps, tol=knob, max_iter=10**6).plan

def regot_ssns(p, eps, knob):
    return p.regot.sinkhorn_ssns(p.C, p.a, p.b, eps, tol=knob, max_iter=10**6).plan

def mdot_own(p, eps, knob):
    t, top = p.torch.from_numpy, p.C.max()
    return p.mdot_tnt.solve_OT(t(p.a), t(p.b), t(p.C / top), gamma_f=top / eps, return_plan=True, round=False).numpy()

def mdot(p, eps, knob):
    """Its tolerance at inverse temperature γ is H/γ^p, H the smaller entropy of the weights: p such that it ends at knob."""
    t, top = p.torch.from_numpy, p.C.max()
    a, b, C, gamma = t(p.a), t(p.b), t(p.C / top), top / eps
    entropy = -max((p.a * p.np.log(p.a)).sum(), (p.b * p.np.log(p.b)).sum())
    u, v, gamma, _, _ = p.mdot_tnt.mdot(a, b, C, gamma, p=math.log(entropy / knob) / math.log(gamma))
    return (u[:, None] + v[None, :] - gamma * C).exp().numpy()

def geomloss(p, eps, knob):
    """It has no stop test, only a number of iterations, over which ε falls; its error goes as one over that number."""
    t = p.torch.from_numpy
    return p.geomloss_ot.solve(t(p.C), reg=eps, a=t(p.a), b=t(p.b), max_iter=100).plan.numpy()


# ---- losses with their gradient by x, each as: problem, ε, knob -> value, gradient, L1 error --------------------------

def squares(x, y):
    return (x * x).sum(1)[:, None] + (y * y).sum(1)[None, :] - 2 * x @ y.T

def softmin(C, eps, log_w, g):
    return -eps * (log_w + (g[None, :] - C) / eps).logsumexp(1)

def sinkhorn(p, C, eps, knob):
    """Alternate softmins until the L1 error of the rows, looked at every 10 steps, is at most knob."""
    la, lb, k = p.ta.log(), p.tb.log(), 0
    g = p.torch.zeros_like(lb)
    f = softmin(C, eps, lb, g)
    while True:
        g = softmin(C.T, eps, la, f)
        before, f = f, softmin(C, eps, lb, g)
        k += 1
        if k % 10 == 0:
            l1 = (p.ta * (((before - f).detach() / eps).exp() - 1).abs()).sum().item()
            if not l1 > knob:
                return before, g, l1

def points(p):
    """The points and weights as tensors; x wants a gradient."""
    t = p.torch.from_numpy
    p.ta, p.tb = t(p.a), t(p.b)
    return t(p.x).requires_grad_(), t(p.y)

def through(p, eps, knob):
    """Autograd through every step of the loop."""
    x, y = points(p)
    f, g, l1 = sinkhorn(p, squares(x, y), eps, knob)
    loss = p.ta @ f + p.tb @ g
    loss.backward()
    return loss, x.grad, l1

def envelope(p, eps, knob):
    """The loop without autograd, then the gradient of <T,C> for fixed T, which is that of the loss at the optimum."""
    x, y = points(p)
    C = squares(x, y)
    with p.torch.no_grad():
        f, g, l1 = sinkhorn(p, C, eps, knob)
        T = p.ta[:, None] * p.tb[None, :] * ((f[:, None] + g[None, :] - C) / eps).exp()
    (T * C).sum().backward()
    return p.ta @ f + p.tb @ g, x.grad, l1

def pot_loop(p, eps, knob):
    """<T,C> of POT's sinkhorn2, by autograd through its loop."""
    x, y = points(p)
    loss = p.ot.sinkhorn2(p.ta, p.tb, squares(x, y), eps, stopThr=knob, numItermax=10**6)
    loss.sum().backward()
    return loss.sum(), x.grad, -1

def samples_loss(p, eps, knob):
    """The divergence as GeomLoss's SamplesLoss computes it at its defaults (scaling ½): averaged steps for the three problems
    at once while ε falls from the squared diameter by a factor of four, and one differentiated step. It has no stop test."""
    x, y = points(p)
    la, lb, a, b = p.ta.log(), p.tb.log(), p.ta, p.tb
    z = p.torch.cat([x.detach(), y])
    schedule, e = [], 2 * ((z.max(0).values - z.min(0).values) ** 2).sum().item()
    while e > eps:
        schedule.append(e)
        e /= 4
    with p.torch.no_grad():
        Cs = Cxy, Cyx, Cxx, Cyy = squares(x, y), squares(y, x), squares(x, x), squares(y, y)
        ba, ab, aa, bb = (softmin(C, e, w, 0 * w) for C, w in zip(Cs, (lb, la, la, lb)))
        for e in schedule + [eps]:
            ba, ab = (ba + softmin(Cxy, e, lb, ab)) / 2, (ab + softmin(Cyx, e, la, ba)) / 2
            aa, bb = (aa + softmin(Cxx, e, la, aa)) / 2, (bb + softmin(Cyy, e, lb, bb)) / 2
        l1 = (a * (((ba - softmin(Cxy, eps, lb, ab)) / eps).exp() - 1).abs()).sum().item()
    last_ba, last_ab = softmin(squares(x, y), eps, lb, ab), softmin(squares(y, x.detach()), eps, la, ba)
    last_aa, last_bb = softmin(squares(x, x.detach()), eps, la, aa), softmin(Cyy, eps, lb, bb)
    loss = a @ (last_ba - last_aa) + b @ (last_ab - last_bb)
    loss.backward()
    return loss, x.grad, l1

def geomloss_samples(p, eps, knob):
    """SamplesLoss at its defaults; its cost is |x-y|²/2 and its ε blur². It has no stop test."""
    x, y = points(p)
    of = p.geomloss.SamplesLoss("sinkhorn", p=2, blur=math.sqrt(eps / 2), backend="tensorized")
    loss = 2 * of(p.ta, x, p.tb, y)
    loss.backward()
    return loss, x.grad, -1

# name: (function, modules, what of ours it computes)
GRADIENTS = {
    "torch, autograd through the loop": (through, ["torch"], "loss reg_kl"),
    "torch, gradient at the optimum": (envelope, ["torch"], "loss reg_kl"),
    "POT sinkhorn2 (torch)": (pot_loop, ["ot", "torch"], "loss sharp"),
    "torch, as SamplesLoss": (samples_loss, ["torch"], "divergence reg_kl"),
    "GeomLoss SamplesLoss": (geomloss_samples, ["geomloss", "torch"], "divergence reg_kl"),
}

# name: (function, modules, first knob)
PEERS = {
    "POT sinkhorn": (pot_sinkhorn, ["ot"], TARGET),
    "POT sinkhorn_log (torch)": (pot_log, ["ot", "torch"], TARGET),
    "POT sinkhorn_stabilized": (pot_stabilized, ["ot"], TARGET),
    "regOT lbfgs_dual": (regot_lbfgs, ["regot"], TARGET),
    "regOT splr": (regot_splr, ["regot"], TARGET),
    "regOT ssns": (regot_ssns, ["regot"], TARGET),
    "MDOT-TNT, own stop": (mdot_own, ["mdot_tnt", "torch"], TARGET),
    "MDOT-TNT, to the target": (mdot, ["mdot_tnt", "torch"], TARGET),
    "GeomLoss ot.solve, 100 steps": (geomloss, ["geomloss.ot", "torch"], TARGET),
    "POT emd": (pot_emd, ["ot"], TARGET),
}
ONE_KNOB = {"MDOT-TNT, own stop", "GeomLoss ot.solve, 100 steps", "POT emd", "exact"}  # nothing to tighten
EXACT = {"POT emd", "exact"}
GRADIENT_SIZES = [(256, 32), (1024, 2), (4096, 2)]
THROUGH_LOOP = {"torch, autograd through the loop", "POT sinkhorn2 (torch)"}  # hold every step: up to 1024 points


class Problem:
    def __init__(self, data, n, d):
        import numpy as np
        self.np, self.key = np, (n, d)
        read = lambda name: np.fromfile(os.path.join(data, f"n{n}_d{d}_{name}.f64"), "<f8")
        self.a, self.b = read("a"), read("b")
        self.x, self.y = x, y = read("x").reshape(n, d), read("y").reshape(n, d)
        self.C = sum((x[:, k, None] - y[None, :, k]) ** 2 for k in range(d))
        self.mean = self.a @ self.C @ self.b


def processor():
    """Seconds of this process. time.process_time counts in ticks of the clock while the timer of worker runs."""
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def answer(p, q):
    solve, modules, _ = {**PEERS, **GRADIENTS}[q["method"]]
    for m in modules:
        setattr(p, m.replace(".", "_"), importlib.import_module(m))
    if q["method"] in GRADIENTS:
        cpu = processor()
        loss, grad, l1 = solve(p, q["ratio"] * p.mean, q["knob"])
        return {"cpu": processor() - cpu, "l1": l1, "value": loss.item(), "gradient": grad.norm().item()}
    cpu, wall = processor(), time.perf_counter()
    P = solve(p, q["ratio"] * p.mean, q["knob"])
    r = {"seconds": time.perf_counter() - wall, "cpu": processor() - cpu}
    r["l1"] = float(abs(P.sum(1) - p.a).sum() + abs(P.sum(0) - p.b).sum())
    r["value"] = float((P * p.C).sum())
    if not math.isfinite(r["l1"]):
        r["l1"], r["note"] = -1, "not finite"
    return r


def worker(data, threads):
    """Answer requests for the other libraries, as the Go program does for ours."""
    warnings.simplefilter("ignore")
    p = None
    for line in sys.stdin:
        q = json.loads(line)
        if p is None or p.key != (q["n"], q["d"]):
            p = Problem(data, q["n"], q["d"])
        p.threads = threads
        # Processor time, since others may be using the machine; C++ code cannot be stopped but by the signal's default.
        signal.setitimer(signal.ITIMER_PROF, q["limit"] * threads)
        try:
            if "torch" in {**PEERS, **GRADIENTS}[q["method"]][1]:
                importlib.import_module("torch").set_num_threads(threads)
            r = answer(p, q)
        except Exception as e:
            r = {"l1": -1, "note": f"{type(e).__name__}: {e}"}
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(r), flush=True)


# ---- taking turns ----------------------------------------------------------------------------------------------------

class Timeout(Exception):
    pass


class Server:
    """A program that answers JSON lines; it ends at a time-out and is started again."""

    def __init__(self, command, threads):
        self.command = command
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS")
        self.env = dict(os.environ, **{k: str(threads) for k in names})
        self.process = None

    def ask(self, q, limit=0):
        if self.process is None:
            self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(dict(q, limit=limit)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.process = None
            raise Timeout
        return json.loads(line)


class Case:
    """A method on a problem: its knob, and what was measured."""

    def __init__(self, server, method, n, d, ratio, threads):
        self.server, self.method, self.n, self.ratio, self.threads = server, method, n, ratio, threads
        self.q = {"method": method, "n": n, "d": d, "ratio": ratio, "knob": PEERS[method][2] if method in PEERS else TARGET}
        self.runs, self.last, self.gave_up = [], None, ""

    def calibrate(self, limit):
        """Tighten the knob until the error is at the target, then keep it."""
        for _ in range(6):
            try:
                self.last = self.server.ask(self.q, limit)
            except Timeout:
                if self.last is None:
                    self.gave_up = f">{limit:g}"
                break
            if self.last["l1"] < 0:
                self.gave_up = "fails" if self.method in PEERS else "refuses"
                note("  ", self.method, self.last.get("note"))
                break
            self.runs = [self.last]
            if self.last["l1"] <= TARGET or self.method in ONE_KNOB:
                break
            self.q["knob"] *= max(.05, min(.5, .9 * TARGET / self.last["l1"]))

    def again(self, limit):
        try:
            self.last = self.server.ask(self.q, limit)
            self.runs.append(self.last)
        except Timeout:
            pass

    def converged(self):
        return bool(self.runs) and (self.method in EXACT or self.last["l1"] <= 1.001 * TARGET)

    def seconds(self):
        """Processor seconds of one thread are not disturbed by who else runs; two threads are about wall time."""
        return statistics.median(r["cpu" if self.threads == 1 else "seconds"] for r in self.runs)

    def value_error(self, reference):
        return abs(self.last["value"] - reference) / reference

    def __str__(self):
        if self.gave_up or not self.runs:
            return self.gave_up or "–"
        if self.method in EXACT:
            return f"{self.seconds():.2g}"
        cell = f"{self.seconds():.2g} · {self.last['l1']:.0e} · {self.value_error(self.reference):.0e}"
        return cell if self.converged() else f"({cell})"


def note(*words):
    print(*words, file=sys.stderr, flush=True)


def version(module):
    m = importlib.import_module(module)
    try:
        return importlib.metadata.version({"ot": "pot", "mdot_tnt": "mdot-tnt"}.get(module, module))
    except importlib.metadata.PackageNotFoundError:
        return getattr(m, "__version__", "?")


def installed():
    names = []
    for name, (_, modules, _) in PEERS.items():
        try:
            for m in modules:
                importlib.import_module(m)
            names.append(name)
        except Exception as e:  # a library that cannot start is as good as absent
            note(f"skipping {name}: {e}")
    return names


def measure(args, peers, threads):
    ours = Server(args.ours + [args.data], threads)
    theirs = Server([sys.executable, __file__, args.data, "--worker", str(threads)], threads)
    hopeless = []  # (method, n, ratio) that ran out of time or failed: harder cases are not tried
    table = {}
    for n in args.n:
        for ratio in args.ratio + [0] * args.exact:
            names = ["exact", "POT emd"] if ratio == 0 else OURS + [x for x in peers if x not in EXACT]
            names = [x for x in names if x in peers or x not in PEERS]
            cases = [Case(theirs if x in PEERS else ours, x, n, args.d, ratio, threads) for x in names]
            reference = 0
            if ratio > 0:
                tight = {"method": "newton", "n": n, "d": args.d, "ratio": ratio, "knob": 1e-11}
                reference = ours.ask(tight)["value"]
            for c in cases:
                c.reference = reference
                if any(c.method == m and n >= n0 and ratio <= r0 for m, n0, r0 in hopeless):
                    c.gave_up = "–"
                    continue
                c.calibrate(args.limit)
                if c.gave_up or not c.converged() and c.method not in ONE_KNOB:
                    hopeless.append((c.method, n, ratio))
                note(f"{threads} threads, n={n}, ratio={ratio:g}: {c.method}: {c} (knob {c.q['knob']:.1e}) {(c.last or {}).get('note', '')}")
            for _ in range(args.rounds - 1):
                for c in cases:
                    if c.runs and not c.gave_up and c.seconds() < args.limit / 4:
                        c.again(args.limit)
            for c in cases:
                table[c.method, n, ratio] = c
    return table


def gradients(args):
    """Losses with their gradient by x: processor seconds of one thread, and what theirs differ from ours by."""
    ours = Server(args.ours + [args.data], 1)
    theirs = Server([sys.executable, __file__, args.data, "--worker", "1"], 1)
    sizes = [s for s in GRADIENT_SIZES if s[0] <= max(args.n)]
    runs = {(m, s): [] for s in sizes for m in LOSSES + list(GRADIENTS) if s[0] <= 1024 or m not in THROUGH_LOOP}
    for _ in range(args.rounds):
        for m, (n, d) in runs:
            server = ours if m in LOSSES else theirs
            try:
                r = server.ask({"method": m, "n": n, "d": d, "ratio": args.ratio[0], "knob": TARGET}, args.limit)
            except Timeout:
                r = {"note": f">{args.limit:g}"}
            note(f"n={n}, d={d}: {m}: {r}")
            runs[m, (n, d)].append(r)
    print("\n| method |", " | ".join(f"n = {n}, d = {d}" for n, d in sizes), "|")
    print("|--" * (len(sizes) + 1) + "|")
    for m in LOSSES + list(GRADIENTS):
        print("|", m, "|", " | ".join(gradient_cell(runs, m, s) for s in sizes), "|")


def gradient_cell(runs, m, size):
    """Milliseconds; for the others' also multiples of ours, and the relative differences of value and gradient."""
    of = runs.get((m, size), [])
    if not of or any("cpu" not in r or r["l1"] < 0 and "note" in r for r in of):
        return of[-1]["note"] if of else "–"
    seconds = lambda m: statistics.median(r["cpu"] for r in runs[m, size])
    cell = f"{seconds(m) * 1e3:.3g} ms"
    if m in GRADIENTS:
        own, r = GRADIENTS[m][2], of[-1]
        off = lambda k: abs(r[k] / runs[own, size][-1][k] - 1)
        l1 = f"{r['l1']:.0e}" if r["l1"] >= 0 else "?"
        cell += f" · {seconds(m) / seconds(own):.3g}× {own} · L1 {l1} · value {off('value'):.0e} · gradient {off('gradient'):.0e}"
    return cell


def gain(table, n, ratio):
    cases = [c for (_, m, r), c in table.items() if (m, r) == (n, ratio)]
    best = min((c for c in cases if c.method in PEERS and c.converged()), key=Case.seconds, default=None)
    own = table["exact" if ratio == 0 else "auto", n, ratio]
    if best is None or not own.converged():
        return "no peer converges"
    return f"{best.seconds() / own.seconds():.3g}× ({best.method})"


def show(tables, args):
    columns = [(n, r) for n in args.n for r in args.ratio + [0] * args.exact]
    print("| method | version | threads |", " | ".join(f"{n}/{r:g}" if r else f"{n}/exact" for n, r in columns), "|")
    print("|--" * (len(columns) + 3) + "|")
    for threads, table in tables.items():
        for method in dict.fromkeys(m for m, _, _ in table):
            v = version(PEERS[method][1][0].split(".")[0]) if method in PEERS else "ours"
            print("|", method, "|", v, "|", threads, "|", " | ".join(str(table.get((method, *c), "")) for c in columns), "|")
        print("| best converging peer ÷ ours | |", threads, "|", " | ".join(gain(table, *c) for c in columns), "|")


def main():
    f = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    f.add_argument("data")
    f.add_argument("--n", type=int, nargs="+", default=[1024, 2048, 4096])
    f.add_argument("--d", type=int, default=2)
    f.add_argument("--ratio", type=float, nargs="+", default=[.1, .01, .001])
    f.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    f.add_argument("--limit", type=float, default=60, help="seconds for one solve")
    f.add_argument("--rounds", type=int, default=3)
    f.add_argument("--gradient", action="store_true", help="losses with their gradient only")
    f.add_argument("--no-exact", dest="exact", action="store_false")
    f.add_argument("--only", nargs="+", help="names of peers")
    f.add_argument("--ours", nargs="+", default=["go", "run", "./ot/peers"], help="the command of our program")
    f.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    args = f.parse_args()
    if args.worker:
        return worker(args.data, args.worker)
    if not args.gradient:
        peers = [x for x in installed() if not args.only or x in args.only]
        show({t: measure(args, peers, t) for t in args.threads}, args)
    gradients(args)


if __name__ == "__main__":
    main()
