// The cells, and the questions that every view asks of them.

const special = {NaN: NaN, "+Inf": Infinity, "-Inf": -Infinity};
const metas = ["key", "state", "experiment", "version", "code", "seed", "start", "seconds", "device", "host", "commit", "error"];

export class Rows {
  constructor() { this.map = new Map(); }

  apply(list) {
    for (const r of list) r.state === "gone" ? this.map.delete(r.key) : this.map.set(r.key, named(r));
  }

  experiments() {
    const n = new Map();
    for (const r of this.map.values()) n.set(r.experiment, (n.get(r.experiment) || 0) + 1);
    return [...n].sort((a, b) => a[0] < b[0] ? -1 : 1);
  }

  of(experiment) {
    const out = [];
    for (const r of this.map.values()) if (!experiment || r.experiment === experiment) out.push(r);
    return out;
  }
}

// named sorts the columns of a table into parameters, values and words of metas.
function named(r) {
  if (r.columns) Object.assign(r, {params: {}, values: {}});
  for (const [name, v] of Object.entries(r.columns || {})) {
    const [group, rest] = name.split(/\.(.*)/s);
    if (group === "param") r.params[rest || "param"] = v;
    else if (group === "value") r.values[rest || "value"] = v;
    else if (name !== "key") r[rest || group] = name === "seed" ? String(v) : v; // r.key has the code, too
  }
  return r;
}

// A column is "p:NAME" (a parameter), "v:NAME" (a value) or a word of metas.
export function get(r, col) {
  if (col.startsWith("p:")) return r.params?.[col.slice(2)];
  if (col.startsWith("v:")) return r.values?.[col.slice(2)];
  return r[col];
}

export function num(v) {
  if (typeof v === "number") return v;
  if (typeof v === "string" && v in special) return special[v];
  return undefined;
}

export const label = col => col.replace(/^[pv]:/, "");
export const kind = col => col.startsWith("p:") ? "parameter" : col.startsWith("v:") ? "value" : "";

// columns tells those that vary from those that are the same in all rows.
export function columns(rows) {
  const first = new Map(), varies = new Set(), missing = new Map();
  const note = (col, v) => {
    if (!first.has(col)) first.set(col, v);
    else if (first.get(col) !== v) varies.add(col);
    missing.set(col, (missing.get(col) || 0) + 1);
  };
  let finished = 0;
  for (const r of rows) {
    if (r.state !== "stored") continue;
    finished++;
    for (const n in r.params) note("p:" + n, r.params[n]);
    for (const n in r.values) note("v:" + n, r.values[n]);
    note("seed", r.seed);
    note("code", r.code);
  }
  const out = {params: [], values: [], constants: [], seed: varies.has("seed"), code: varies.has("code")};
  for (const [col, v] of first) {
    if (col === "seed" || col === "code") continue;
    if (col.startsWith("v:")) out.values.push(col);
    else if (varies.has(col) || missing.get(col) < finished || finished < 2) out.params.push(col);
    else out.constants.push([col, v]);
  }
  out.params.sort(); out.values.sort(); out.constants.sort();
  return out;
}

export function show(v) {
  const x = num(v);
  if (x !== undefined) {
    if (Number.isInteger(x) && Math.abs(x) < 1e7) return String(x);
    if (!Number.isFinite(x)) return String(x).replace("Infinity", "∞");
    const a = Math.abs(x);
    return a >= 1e-3 && a < 1e6 ? String(+x.toPrecision(5)) : (+x.toPrecision(4)).toExponential();
  }
  return v === undefined || v === null ? "" : String(v);
}

export function compare(a, b) {
  const x = num(a), y = num(b);
  if (x !== undefined && y !== undefined) {
    if (Number.isNaN(x)) return Number.isNaN(y) ? 0 : 1;
    return Number.isNaN(y) ? -1 : x - y;
  }
  if (x !== undefined) return -1;
  if (y !== undefined) return 1;
  a = a ?? ""; b = b ?? "";
  return a < b ? -1 : a > b ? 1 : 0;
}

const term = /^([^=<>!~\s]+?)(<=|>=|!=|=|<|>|~)(.*)$/;

// parse reads "eps<0.1 solver=newton word"; it throws what is wrong with it.
export function parse(text, rows) {
  const tests = [];
  const names = new Set(metas);
  for (const r of rows) {
    for (const n in r.params) names.add("p:" + n);
    for (const n in r.values) names.add("v:" + n);
  }
  for (const word of text.trim().split(/\s+/).filter(Boolean)) {
    const m = term.exec(word);
    if (!m) { tests.push(r => matches(r, word.toLowerCase())); continue; }
    const col = ["p:", "v:", ""].map(p => p + m[1]).find(c => names.has(c));
    if (!col) throw `there is no ${m[1]}`;
    if (m[3] === "") throw `${word} compares with nothing`;
    tests.push(test(col, m[2], m[3]));
  }
  return r => tests.every(t => t(r));
}

function test(col, op, want) {
  const n = want in special ? special[want] : Number(want);
  if (op === "~") return r => String(get(r, col) ?? "").toLowerCase().includes(want.toLowerCase());
  const both = f => r => { const x = num(get(r, col)); return x !== undefined && f(x); };
  switch (op) {
    case "<": return both(x => x < n);
    case ">": return both(x => x > n);
    case "<=": return both(x => x <= n);
    case ">=": return both(x => x >= n);
  }
  const equal = r => {
    const v = get(r, col), x = num(v);
    return x !== undefined && !(Number.isNaN(n) && want !== "NaN") ? Object.is(x, n) || x === n : String(v ?? "") === want;
  };
  return op === "=" ? equal : r => !equal(r);
}

function matches(r, word) {
  if (r.key.startsWith(word) || r.experiment.includes(word) || r.state === word || r.error?.toLowerCase().includes(word)) return true;
  for (const n in r.params) if (String(r.params[n]).toLowerCase().includes(word)) return true;
  return false;
}

// group collects rows by a column: count, mean and standard deviation of values.
export function group(rows, col, values) {
  const groups = new Map();
  for (const r of rows) {
    if (r.state !== "stored") continue;
    const k = show(get(r, col));
    let g = groups.get(k);
    if (!g) groups.set(k, g = {value: get(r, col), n: 0, sums: {}, keys: []});
    g.n++; g.keys.push(r.key);
    for (const v of values) {
      const x = num(get(r, v));
      if (x === undefined) continue;
      const s = g.sums[v] ||= {n: 0, mean: 0, m2: 0}; // Welford
      const d = x - s.mean;
      s.mean += d / ++s.n;
      s.m2 += d * (x - s.mean);
    }
  }
  return [...groups.values()].sort((a, b) => compare(a.value, b.value));
}
