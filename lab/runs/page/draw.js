// Plots on a canvas.
import {get, num, show, label} from "./rows.js";

const hues = ["#1b7f8a", "#d1662a", "#6a4fb0", "#3f8f3f", "#c2407f", "#8a6d1f", "#3b6fc4", "#a33b3b"];
const ramp = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [233, 210, 40]];

function resolve(canvas, name) { // light-dark() has no value until something uses it
  canvas.style.borderColor = `var(${name})`;
  return getComputedStyle(canvas).borderTopColor;
}

export function prepare(canvas) {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * ratio; canvas.height = h * ratio;
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  g.clearRect(0, 0, w, h);
  g.font = "12px system-ui, sans-serif";
  return {g, w, h, ink: resolve(canvas, "--ink"), soft: resolve(canvas, "--soft"), line: resolve(canvas, "--line"), accent: resolve(canvas, "--accent")};
}

// drawable reports whether a number has a place on an axis: near the limits of float64 differences and ratios overflow.
const drawable = (x, log) => Math.abs(x) < 1e150 && (!log || x > 1e-150);

// scale maps the values of a column to 0…1: numbers, or places of texts.
export function scale(rows, col, log) {
  let lo = Infinity, hi = -Infinity, texts = new Set(), numbers = 0;
  for (const r of rows) {
    const v = get(r, col), x = num(v);
    if (x === undefined) { if (v !== undefined && v !== null) texts.add(String(v)); continue; }
    numbers++;
    if (drawable(x, log)) { lo = Math.min(lo, x); hi = Math.max(hi, x); }
  }
  if (texts.size > numbers || !numbers) {
    const list = [...texts].sort(), n = Math.max(1, list.length);
    const places = new Map(list.map((t, i) => [t, (i + .5) / n]));
    return {at: v => places.get(String(v)), ticks: list.slice(0, 40).map((t, i) => [(i + .5) / n, t]), list};
  }
  if (!(lo <= hi)) { lo = log ? 1 : 0; hi = log ? 10 : 1; }
  if (lo === hi) { const d = log ? 2 : Math.abs(lo) * .05 || 1; log ? (lo /= d, hi *= d) : (lo -= d, hi += d); }
  const f = log ? Math.log10 : x => x, a = f(lo), b = f(hi), pad = (b - a) * .03;
  const at = v => { const x = num(v); return x === undefined || !drawable(x, log) ? undefined : (f(x) - a + pad) / (b - a + 2 * pad); };
  return {at, ticks: (log ? decades(lo, hi) : round(lo, hi)).map(x => [at(x), show(x)])};
}

function round(lo, hi) {
  const raw = (hi - lo) / 6, p = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find(m => m * p >= raw) * p;
  const out = [];
  for (let i = Math.ceil(lo / step); i * step <= hi + step * 1e-9; i++) out.push(+(i * step).toPrecision(12));
  return out;
}

function decades(lo, hi) {
  const out = [], span = Math.log10(hi / lo), skip = Math.max(1, Math.ceil(span / 8));
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e += skip)
    for (const m of span < 2 ? [1, 2, 5] : [1]) { const x = m * 10 ** e; if (x >= lo * .999 && x <= hi * 1.001) out.push(+x.toPrecision(3)); }
  return out.length > 1 ? out : round(lo, hi);
}

// colours returns a function from row to colour, and a legend.
export function colours(rows, col, log) {
  if (!col) return {of: () => hues[0], legend: []};
  const s = scale(rows, col, log);
  if (s.list || new Set(rows.slice(0, 3000).map(r => show(get(r, col)))).size <= hues.length) {
    const list = [...new Set(rows.map(r => show(get(r, col))))].sort((a, b) => a - b || (a < b ? -1 : 1)).slice(0, 200);
    const of = new Map(list.map((t, i) => [t, hues[i % hues.length]]));
    return {of: r => of.get(show(get(r, col))) || "#888", legend: list.slice(0, 8).map(t => [of.get(t), t])};
  }
  const shade = u => {
    if (u === undefined) return "#888";
    const x = Math.min(Math.max(u, 0), .9999) * (ramp.length - 1), i = Math.floor(x), t = x - i;
    return `rgb(${ramp[i].map((c, k) => Math.round(c + t * (ramp[i + 1][k] - c)))})`;
  };
  return {of: r => shade(s.at(get(r, col))), legend: s.ticks.map(([u, t]) => [shade(u), t])};
}

function legend(p, col, list, y) {
  if (!col || !list.length) return;
  let x = p.w - 24;
  p.g.textAlign = "right"; p.g.textBaseline = "middle";
  for (const [colour, long] of [...list].reverse()) {
    const text = long.length > 24 ? long.slice(0, 23) + "…" : long;
    p.g.fillStyle = p.ink; p.g.fillText(text, x, y);
    x -= p.g.measureText(text).width + 10;
    p.g.fillStyle = colour; p.g.beginPath(); p.g.arc(x, y, 5, 0, 7); p.g.fill();
    x -= 16;
  }
  p.g.fillStyle = p.soft; p.g.fillText(label(col), x, y);
}

// scatter draws the rows, and returns where each is, and in lost how many have no place.
export function scatter(canvas, rows, o) {
  const p = prepare(canvas), {g, w, h} = p;
  const sx = scale(rows, o.x, o.xlog), sy = scale(rows, o.y, o.ylog), c = colours(rows, o.colour, o.colourlog);
  const left = 74, right = w - 24, top = 34, bottom = h - 52;
  const X = u => left + u * (right - left), Y = u => bottom - u * (bottom - top);
  g.strokeStyle = p.line; g.fillStyle = p.soft; g.textBaseline = "top"; g.textAlign = "center";
  for (const [u, t] of sx.ticks) { g.beginPath(); g.moveTo(X(u), top); g.lineTo(X(u), bottom); g.stroke(); g.fillText(t, X(u), bottom + 8); }
  g.textAlign = "right"; g.textBaseline = "middle";
  for (const [u, t] of sy.ticks) { g.beginPath(); g.moveTo(left, Y(u)); g.lineTo(right, Y(u)); g.stroke(); g.fillText(t, left - 9, Y(u)); }
  g.fillStyle = p.ink; g.textAlign = "center"; g.fillText(label(o.x), (left + right) / 2, h - 14);
  g.save(); g.translate(17, (top + bottom) / 2); g.rotate(-Math.PI / 2); g.fillText(label(o.y), 0, 0); g.restore();
  const points = Object.assign([], {lost: 0}), size = rows.length > 3000 ? 2.2 : rows.length > 400 ? 3 : 4.5;
  g.globalAlpha = rows.length > 3000 ? .55 : .85;
  for (const r of rows) {
    const u = sx.at(get(r, o.x)), v = sy.at(get(r, o.y));
    if (u === undefined || v === undefined) { points.lost++; continue; }
    g.fillStyle = c.of(r);
    g.beginPath(); g.arc(X(u), Y(v), size, 0, 7); g.fill();
    points.push({x: X(u), y: Y(v), row: r});
  }
  averages(g, points, c.of, r => o.others.map(col => show(get(r, col))).join("\n"));
  g.globalAlpha = 1;
  legend(p, o.colour, c.legend, 16);
  return points;
}

// averages draws the lines, each with a band of a standard deviation about it.
function averages(g, points, of, setting) {
  for (const {row, line} of lines(points, setting)) {
    g.fillStyle = g.strokeStyle = of(row);
    g.globalAlpha = .15; g.beginPath();
    line.forEach(([x, m, d]) => g.lineTo(x, m + d));
    line.reverse().forEach(([x, m, d]) => g.lineTo(x, m - d));
    g.fill();
    g.globalAlpha = 1; g.lineWidth = 1.5; g.beginPath();
    line.forEach(([x, m]) => g.lineTo(x, m));
    g.stroke();
  }
}

// lines returns for each setting of the other parameters its x, with the mean and standard deviation of the points there: replicates.
export function lines(points, setting) {
  const settings = new Map();
  for (const p of points) {
    const key = setting(p.row), at = settings.get(key) || settings.set(key, new Map()).get(key);
    (at.get(p.x) || at.set(p.x, []).get(p.x)).push(p);
  }
  return [...settings.values()].filter(at => at.size > 1 && at.size <= 200).map(at => ({
    row: at.values().next().value[0].row,
    line: [...at].sort((a, b) => a[0] - b[0]).map(([x, ps]) => {
      const mean = ps.reduce((a, p) => a + p.y, 0) / ps.length;
      return [x, mean, Math.sqrt(ps.reduce((a, p) => a + (p.y - mean) ** 2, 0) / Math.max(1, ps.length - 1))];
    }),
  }));
}

// parallel draws a line a row across the axes cols, and returns the axes.
export function parallel(canvas, rows, all, cols, o) {
  const p = prepare(canvas), {g, w, h} = p, top = 64, bottom = h - 34, left = 60, right = w - 60;
  const c = colours(all, o.colour, o.colourlog);
  const axes = cols.map((col, i) => ({col, scale: scale(all, col, o.logs.has(col)), x: cols.length > 1 ? left + i * (right - left) / (cols.length - 1) : w / 2}));
  const Y = u => bottom - u * (bottom - top);
  const chosen = new Set(rows);
  for (const bright of [false, true]) {
    g.globalAlpha = bright ? Math.max(.06, Math.min(.7, 120 / Math.max(1, rows.length))) : .05;
    for (const r of bright ? rows : all) {
      if (!bright && (chosen.has(r) || all.length > 4000)) continue;
      g.strokeStyle = bright ? c.of(r) : p.soft;
      g.beginPath();
      let on = false;
      for (const a of axes) {
        const u = a.scale.at(get(r, a.col));
        if (u === undefined) { on = false; continue; }
        on ? g.lineTo(a.x, Y(u)) : g.moveTo(a.x, Y(u));
        on = true;
      }
      g.stroke();
    }
  }
  g.globalAlpha = 1;
  for (const a of axes) {
    g.strokeStyle = p.soft; g.beginPath(); g.moveTo(a.x, top); g.lineTo(a.x, bottom); g.stroke();
    g.textAlign = "center"; g.textBaseline = "bottom"; g.fillStyle = p.ink; g.font = "600 12px system-ui, sans-serif";
    g.fillText(label(a.col), a.x, top - 14);
    g.font = "11px system-ui, sans-serif"; g.textAlign = "left"; g.textBaseline = "middle";
    for (const [u, t] of a.scale.ticks) {
      const text = t.length > 14 ? t.slice(0, 13) + "…" : t, m = g.measureText(text).width;
      g.globalAlpha = .75; g.fillStyle = resolve(canvas, "--bg"); g.fillRect(a.x + 5, Y(u) - 7, m + 4, 14);
      g.globalAlpha = 1; g.fillStyle = p.soft; g.fillText(text, a.x + 7, Y(u));
    }
    const b = o.brushes.get(a.col);
    if (b) { g.fillStyle = p.accent; g.globalAlpha = .25; g.fillRect(a.x - 8, Y(b[1]), 16, Y(b[0]) - Y(b[1])); g.globalAlpha = 1; g.strokeStyle = p.accent; g.strokeRect(a.x - 8, Y(b[1]), 16, Y(b[0]) - Y(b[1])); }
  }
  legend(p, o.colour, c.legend, 18);
  return {axes, unit: y => Math.min(1, Math.max(0, (bottom - y) / (bottom - top)))};
}
