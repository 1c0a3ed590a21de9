#!/usr/bin/env python3
"""The other libraries, for rows.py: this program answers requests on its standard input as the Go program does for ours.

A function takes the problem, with the arrays of its folder and the fields of the request as attributes, and returns a plan, the
pairs of an assignment, an image, a value, or of losses a value, a gradient and an L1 error.
"""
import importlib, json, math, os, resource, signal, sys, time, warnings

import numpy as np


# ---- exact, quadratic, unbalanced, sliced, barycentres -----------------------------------------------------------------

def emd(p):
    return p.ot.emd(p.a, p.b, p.c, numItermax=10**9)

def assignment(p):
    return p.scipy_optimize.linear_sum_assignment(p.c)

def matching(p):
    return p.scipy_sparse_csgraph.min_weight_full_bipartite_matching(p.sparse)

def emd_1d(p):
    return p.ot.emd2_1d(p.x, p.y, p.a, p.b)

def wasserstein_1d(p):
    return p.ot.wasserstein_1d(p.x, p.y, p.a, p.b, p=2)

def sliced(p):
    return p.ot.sliced_wasserstein_distance(p.x, p.y, p.a, p.b, 100, seed=1) ** 2

def quadratic_dual(p):
    """λ Σ ab (T/ab)² for equal weights is λnm|T|²."""
    return p.ot.smooth.smooth_ot_dual(p.a, p.b, p.c, 2 * p.ratio * p.c.size, stopThr=p.knob, numItermax=10**5)

def unbalanced(p):
    """Its reference measure is 1, ours a⊗b."""
    c = p.c - p.ratio * np.log(p.a[:, None] * p.b)
    return p.ot.unbalanced.sinkhorn_knopp_unbalanced(p.a, p.b, c, p.ratio, p.rho, numItermax=10**6, stopThr=p.knob)

def convolution(p):
    A = p.images.reshape(-1, p.n, p.n)
    return p.ot.bregman.convolutional_barycenter2d(A, p.ratio, numItermax=10**6, stopThr=p.knob, warn=False)


# ---- entropic plans ----------------------------------------------------------------------------------------------------

def pot_sinkhorn(p):
    return p.ot.sinkhorn(p.a, p.b, p.c, p.ratio, stopThr=p.knob, numItermax=10**7)

def pot_log(p):
    t = p.torch.from_numpy
    return p.ot.bregman.sinkhorn_log(t(p.a), t(p.b), t(p.c), p.ratio, stopThr=p.knob, numItermax=10**7).numpy()

def pot_stabilized(p):
    return p.ot.bregman.sinkhorn_stabilized(p.a, p.b, p.c, p.ratio, stopThr=p.knob, numItermax=10**7)

def regot_lbfgs(p):
    return p.regot.sinkhorn_lbfgs_dual(p.c, p.a, p.b, p.ratio, tol=p.knob, max_iter=10**6).plan

def regot_splr(p):
    return p.regot.sinkhorn_splr(p.c, p.a, p.b, p.ratio, tol=p.knob, max_iter=10**6).plan

def regot_ssns(p):
    return p.regot.sinkhorn_ssns(p.c, p.a, p.b, p.ratio, tol=p.knob, max_iter=10**6).plan

def mdot_own(p):
    t, top = p.torch.from_numpy, p.c.max()
    return p.mdot_tnt.solve_OT(t(p.a), t(p.b), t(p.c / top), gamma_f=top / p.ratio, return_plan=True, round=False).numpy()

def mdot(p):
    """Its tolerance at inverse temperature γ is H/γ^p, H the smaller entropy of the weights: p such that it ends at knob."""
    t, top = p.torch.from_numpy, p.c.max()
    a, b, C, gamma = t(p.a), t(p.b), t(p.c / top), top / p.ratio
    entropy = -max((p.a * np.log(p.a)).sum(), (p.b * np.log(p.b)).sum())
    u, v, gamma, _, _ = p.mdot_tnt.mdot(a, b, C, gamma, p=math.log(entropy / p.knob) / math.log(gamma))
    return (u[:, None] + v[None, :] - gamma * C).exp().numpy()

def geomloss(p):
    """It has no stop test, only a number of iterations, over which ε falls; its error goes as one over that number."""
    t = p.torch.from_numpy
    return p.geomloss_ot.solve(t(p.c), reg=p.ratio, a=t(p.a), b=t(p.b), max_iter=100).plan.numpy()

# ---- losses with their gradient by x -----------------------------------------------------------------------------------

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

def envelope(p):
    """The loop without autograd, then the gradient of <T,C> for fixed T, which is that of the loss at the optimum."""
    x, y = points(p)
    C = squares(x, y)
    with p.torch.no_grad():
        f, g, l1 = sinkhorn(p, C, p.ratio, p.knob)
        T = p.ta[:, None] * p.tb[None, :] * ((f[:, None] + g[None, :] - C) / p.ratio).exp()
    (T * C).sum().backward()
    return p.ta @ f + p.tb @ g, x.grad, l1

def pot_loop(p):
    """<T,C> of POT's sinkhorn2, by autograd through its loop."""
    x, y = points(p)
    loss = p.ot.sinkhorn2(p.ta, p.tb, squares(x, y), p.ratio, stopThr=p.knob, numItermax=10**6)
    loss.sum().backward()
    return loss.sum(), x.grad, -1

def samples_loss(p):
    """The divergence as GeomLoss's SamplesLoss computes it at its defaults (scaling ½): averaged steps for the three problems
    at once while ε falls from the squared diameter by a factor of four, and one differentiated step. It has no stop test."""
    x, y = points(p)
    la, lb, a, b = p.ta.log(), p.tb.log(), p.ta, p.tb
    z = p.torch.cat([x.detach(), y])
    schedule, e = [], 2 * ((z.max(0).values - z.min(0).values) ** 2).sum().item()
    while e > p.ratio:
        schedule.append(e)
        e /= 4
    with p.torch.no_grad():
        Cs = Cxy, Cyx, Cxx, Cyy = squares(x, y), squares(y, x), squares(x, x), squares(y, y)
        ba, ab, aa, bb = (softmin(C, e, w, 0 * w) for C, w in zip(Cs, (lb, la, la, lb)))
        for e in schedule + [p.ratio]:
            ba, ab = (ba + softmin(Cxy, e, lb, ab)) / 2, (ab + softmin(Cyx, e, la, ba)) / 2
            aa, bb = (aa + softmin(Cxx, e, la, aa)) / 2, (bb + softmin(Cyy, e, lb, bb)) / 2
        l1 = (a * (((ba - softmin(Cxy, p.ratio, lb, ab)) / p.ratio).exp() - 1).abs()).sum().item()
    last_ba, last_ab = softmin(squares(x, y), p.ratio, lb, ab), softmin(squares(y, x.detach()), p.ratio, la, ba)
    last_aa, last_bb = softmin(squares(x, x.detach()), p.ratio, la, aa), softmin(Cyy, p.ratio, lb, bb)
    loss = a @ (last_ba - last_aa) + b @ (last_ab - last_bb)
    loss.backward()
    return loss, x.grad, l1

def geomloss_samples(p):
    """SamplesLoss at its defaults; its cost is |x-y|²/2 and its ε blur². It has no stop test."""
    x, y = points(p)
    of = p.geomloss.SamplesLoss("sinkhorn", p=2, blur=math.sqrt(p.ratio / 2), backend="tensorized")
    loss = 2 * of(p.ta, x, p.tb, y)
    loss.backward()
    return loss, x.grad, -1


# name: function, modules
PEERS = {
    "POT emd": (emd, ["ot"]),
    "SciPy assignment": (assignment, ["scipy.optimize"]),
    "SciPy matching": (matching, ["scipy.sparse.csgraph"]),
    "POT emd2_1d": (emd_1d, ["ot"]),
    "POT wasserstein_1d": (wasserstein_1d, ["ot"]),
    "POT sliced": (sliced, ["ot"]),
    "POT smooth_ot_dual": (quadratic_dual, ["ot"]),
    "POT sinkhorn_unbalanced": (unbalanced, ["ot"]),
    "POT convolutional": (convolution, ["ot"]),
    "POT sinkhorn": (pot_sinkhorn, ["ot"]),
    "POT sinkhorn_log (torch)": (pot_log, ["ot", "torch"]),
    "POT sinkhorn_stabilized": (pot_stabilized, ["ot"]),
    "regOT lbfgs_dual": (regot_lbfgs, ["regot"]),
    "regOT splr": (regot_splr, ["regot"]),
    "regOT ssns": (regot_ssns, ["regot"]),
    "MDOT-TNT, own stop": (mdot_own, ["mdot_tnt", "torch"]),
    "MDOT-TNT, to the target": (mdot, ["mdot_tnt", "torch"]),
    "GeomLoss ot.solve, 100 steps": (geomloss, ["geomloss.ot", "torch"]),
    "torch, at the optimum": (envelope, ["torch"]),
    "POT sinkhorn2": (pot_loop, ["ot", "torch"]),
    "torch, SamplesLoss": (samples_loss, ["torch"]),
    "GeomLoss SamplesLoss": (geomloss_samples, ["geomloss", "torch"]),
}
FIXED = {"MDOT-TNT, own stop", "GeomLoss ot.solve, 100 steps", "torch, SamplesLoss", "GeomLoss SamplesLoss"}  # no tolerance
SLOW = ["POT sinkhorn_log (torch)", "POT sinkhorn_stabilized", "regOT lbfgs_dual", "regOT splr", "regOT ssns",
        "MDOT-TNT, own stop", "MDOT-TNT, to the target", "GeomLoss ot.solve, 100 steps"]  # of plans; run with --slow


# ---- answering ---------------------------------------------------------------------------------------------------------

class Problem:
    def __init__(self, q):
        for f in os.listdir(q["dir"]):
            setattr(self, f.removesuffix(".f64"), np.fromfile(os.path.join(q["dir"], f), "<f8"))
        if hasattr(self, "c"):
            self.c = self.c.reshape(len(self.a), len(self.b))
        if hasattr(self, "starts"):
            from scipy.sparse import csr_matrix
            self.sparse = csr_matrix((self.costs, self.targets.astype(int), self.starts.astype(int)))
        if q["method"] != "line" and hasattr(self, "x"):
            self.x, self.y = self.x.reshape(len(self.a), -1), self.y.reshape(len(self.b), -1)

    def reply(self, out):
        if isinstance(out, tuple) and len(out) == 3:  # a loss with its gradient
            return {"value": out[0].item(), "gradient": out[1].norm().item(), "l1": out[2]}
        if isinstance(out, tuple):
            c = getattr(self, "c", None)
            return {"value": float((self.sparse if c is None else c)[out].mean()), "l1": -1}
        if np.ndim(out) == 0:
            return {"value": float(out), "l1": -1}
        if self.method == "barycentre":
            b = out.ravel() / out.sum()
            return {"value": float((b * np.arange(b.size) ** 2).sum() / b.size**2), "l1": -1}
        l1 = abs(out.sum(1) - self.a).sum() + abs(out.sum(0) - self.b).sum()
        return {"value": float((out * self.c).sum()), "l1": -1 if self.method == "unbalanced" else float(l1)}


def processor():
    """Seconds of this process. time.process_time counts in ticks of the clock while the timer of main runs."""
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def answer(p, q):
    solve, modules = PEERS[q["peer"]]
    for m in modules:
        setattr(p, m.replace(".", "_"), importlib.import_module(m))
    vars(p).update(q)
    cpu, wall = processor(), time.perf_counter()
    out = solve(p)
    r = {"seconds": time.perf_counter() - wall, "cpu": processor() - cpu}
    r.update(p.reply(out))
    return r if math.isfinite(r["value"]) else {"note": "not finite"}


def main():
    warnings.simplefilter("ignore")
    p = read = None
    for request in sys.stdin:
        q = json.loads(request)
        if read != q["dir"]:
            p, read = Problem(q), q["dir"]
        # Processor time, since others may be using the machine; C++ code cannot be stopped but by the signal's default.
        signal.setitimer(signal.ITIMER_PROF, q["limit"])
        try:
            r = answer(p, q)
        except Exception as e:
            r = {"note": f"{type(e).__name__}: {e}"}
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(r), flush=True)


if __name__ == "__main__":
    main()
