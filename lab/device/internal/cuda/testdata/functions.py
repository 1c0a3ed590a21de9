# Writes functions.csv: arguments (float32 numbers) and values to 200 bits, as a float64 and the rest.
import random
import mpmath as mp

mp.mp.prec = 1400  # huge angles need it
rng = random.Random(7)


def f32(x):
    import struct
    return struct.unpack("f", struct.pack("f", x))[0]


def spread(lo, hi, n, signed=True):
    return [f32((rng.choice([-1, 1]) if signed else 1) * 10 ** rng.uniform(lo, hi)) for _ in range(n)]


F = {
    "Exp": (mp.exp, spread(-6, 1.9, 60) + [f32(v) for v in (-87, 88, 1e-30)]),
    "Log": (mp.log, spread(-37, 38, 30, False) + [f32(1 + v) for v in spread(-6, -0.5, 30)] + [f32(1e-41), f32(1e-44)]),
    "Sin": (mp.sin, spread(-4, 5, 40) + spread(5, 38, 30) + [f32(1e30), f32(355), f32(22), f32(6.2831855)]),
    "Cos": (mp.cos, spread(-4, 5, 40) + spread(5, 38, 30) + [f32(1e30), f32(355), f32(11), f32(1.5707964)]),
    "Tanh": (mp.tanh, spread(-6, 1, 60)),
    "Sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), spread(-4, 1.9, 60)),
    "Softplus": (lambda x: mp.log1p(mp.exp(x)), spread(-4, 1.9, 60)),
    "ELU": (lambda x: mp.expm1(x), [-abs(x) for x in spread(-6, 1.5, 60)]),
}
with open("functions.csv", "w") as out:
    for name, (f, xs) in F.items():
        for x in xs:
            y = f(mp.mpf(x))
            hi = float(y)
            out.write(f"{name},{x.hex()},{hi.hex()},{float(y - mp.mpf(hi)).hex()}\n")
