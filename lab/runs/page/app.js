import {Rows, get, num, show, label, kind, columns, compare, parse, group} from "./rows.js";
import {scatter, parallel, scale} from "./draw.js";

const $ = id => document.getElementById(id);
const el = (tag, attributes = {}, ...children) => {
  const e = Object.assign(document.createElement(tag), attributes);
  e.append(...children);
  return e;
};
const rows = new Rows();
const ROW = 28;
const state = {experiment: "", filter: "", group: "", sort: "start", down: true, tab: "table", picked: [], brushes: new Map(), log: new Set(), x: "", y: "", colour: "", pcolour: ""};
let view = {all: [], rows: [], cols: null, table: [], heads: []}, points = [], coordinates = null;

// Data.

// poll asks for what changed, once a second, and at once while the server still reads a large store.
let last = {epoch: "", change: 0};
async function poll() {
  let wait = 1000;
  try {
    const answer = await fetch(`changes?epoch=${last.epoch}&change=${last.change}`);
    if (!answer.ok) throw new Error(await answer.text());
    const next = await answer.json();
    if (next.epoch !== last.epoch) rows.map.clear();
    last = next;
    rows.apply(next.rows || []);
    $("fault").textContent = next.fault || ""; $("fault").className = "note wrong";
    $("live").classList.add("on");
    if (next.more) wait = 0;
    if (next.rows) later();
  } catch (e) { $("live").classList.remove("on"); }
  setTimeout(poll, wait);
}

let pending = 0;
function later() { pending ||= setTimeout(() => { pending = 0; refresh(); }, 60); }

function refresh() {
  const all = rows.of(state.experiment), cols = columns(all);
  let keep = () => true, note = "";
  try { keep = parse(state.filter, all); } catch (e) { note = String(e); }
  const brushed = [...state.brushes].map(([col, b]) => {
    const s = scale(all, col, state.log.has(col));
    return r => { const u = s.at(get(r, col)); return u !== undefined && u >= b[0] && u <= b[1]; };
  });
  const kept = all.filter(r => keep(r) && brushed.every(f => f(r)));
  view = {all, cols, rows: kept};
  $("filternote").textContent = note || (kept.length < all.length ? `${kept.length} of ${all.length} cells` : "");
  $("filternote").className = note ? "note wrong" : "note";
  order();
  sidebar();
  axes();
  drawTab();
}

// order makes the lines of the table: cells, or groups of them.
function order() {
  const c = view.cols;
  if (state.group) {
    view.heads = [{col: state.group, text: true}, {col: "cells"}, ...c.values.map(col => ({col, mean: true}))];
    view.table = group(view.rows, state.group, c.values).map(g => ({group: g, values: [g.value, g.n, ...c.values.map(v => g.sums[v]?.mean)], spread: [0, 0, ...c.values.map(v => g.sums[v] && g.sums[v].n > 1 ? Math.sqrt(g.sums[v].m2 / (g.sums[v].n - 1)) : undefined)]}));
  } else {
    view.heads = [{col: "key", text: true}, ...state.experiment ? [] : [{col: "experiment", text: true}], ...c.seed ? [{col: "seed"}] : [], ...state.experiment && c.code ? [{col: "code", text: true}] : [],
      ...state.experiment ? [...c.params, ...c.values].map(col => ({col, text: view.all.some(r => typeof get(r, col) === "string" && num(get(r, col)) === undefined)})) : [], {col: "start", text: true}, {col: "seconds"}];
    if (view.rows.some(r => r.error)) view.heads.push({col: "error", text: true});
    view.table = view.rows.map(r => ({row: r}));
  }
  const i = view.heads.findIndex(h => h.col === state.sort);
  if (!state.group || i >= 0) {
    const of = state.group ? l => l.values[i] : l => get(l.row, state.sort);
    view.table.sort((a, b) => (state.down ? -1 : 1) * compare(of(a), of(b)));
  }

}

function sidebar() {
  const n = {stored: 0, running: 0, failed: 0};
  for (const r of rows.map.values()) n[r.state]++;
  $("counts").replaceChildren(...["stored", "running", "failed"].flatMap(s => s !== "stored" && !n[s] ? [] : [el("b", {textContent: n[s].toLocaleString("en")}), ` ${s}  `]));
  const line = (name, title, count) => el("li", {className: state.experiment === name ? "on" : "", title, onclick: () => choose(name)}, el("span", {textContent: title}), el("span", {textContent: count.toLocaleString("en")}));
  $("experiments").replaceChildren(line("", "all", rows.map.size), ...rows.experiments().map(([e, k]) => line(e, e, k)));
  $("constants").replaceChildren(...view.cols.constants.flatMap(([c, v]) => [el("dt", {textContent: label(c)}), el("dd", {textContent: show(v), title: show(v)})]));
  options($("group"), [["", "nothing"], ...(state.experiment ? [] : [["experiment", "experiment"]]), ...(view.cols.seed ? [["seed", "seed"]] : []), ...view.cols.params.map(c => [c, label(c)]), ["host", "host"], ["device", "device"]], state.group);
}

function options(select, list, value) {
  const text = JSON.stringify(list);
  if (select.dataset.list !== text) {
    select.dataset.list = text;
    select.replaceChildren(...list.map(([v, t]) => el("option", {value: v, textContent: t})));
  }
  select.value = value;
}

// axes offers the columns to plots, and picks what a sweep asks: the value that varies most over the parameter of most values, by the
// next one that is not a list. Among equals it is the first.
function axes() {
  const count = c => new Set(view.all.map(r => show(get(r, c)))).size, byCount = cols => cols.map(c => [c, count(c)]).sort((a, b) => b[1] - a[1]).map(([c]) => c);
  const params = byCount(view.cols.params), isList = c => view.all.some(r => show(get(r, c)).startsWith("["));
  const numeric = c => view.all.some(r => num(get(r, c)) !== undefined);
  const cols = [...view.cols.params, ...view.cols.values, ...(view.cols.seed ? ["seed"] : []), "seconds"], list = cols.map(c => [c, label(c)]);
  const values = byCount(view.cols.values.filter(numeric));
  if (!cols.includes(state.x)) { state.x = params.find(numeric) || cols[0]; setLog("px", state.x); }
  if (!cols.includes(state.y)) { state.y = values.find(c => count(c) > 1) || "seconds"; setLog("py", state.y); }
  if (state.colour && !cols.includes(state.colour)) state.colour = "";
  if (!state.touched && !state.colour) state.colour = params.find(c => c !== state.x && !isList(c)) || "";
  if (!cols.includes(state.pcolour)) state.pcolour = values[0] || "";
  options($("px"), list, state.x); options($("py"), list, state.y);
  options($("pc"), [["", "none"], ...list], state.colour); options($("cc"), [["", "none"], ...list], state.pcolour);
}

// setLog proposes a logarithmic axis where positive values span two decades.
function setLog(id, col) { $(id + "log").checked = spans(col); }
function spans(col) {
  if (!col) return false;
  let lo = Infinity, hi = 0;
  for (const r of view.all) {
    const x = num(get(r, col));
    if (x === undefined || !Number.isFinite(x)) continue;
    if (x <= 0) return false;
    lo = Math.min(lo, x); hi = Math.max(hi, x);
  }
  return hi / lo >= 100;
}

function choose(experiment) {
  Object.assign(state, {experiment, group: "", sort: "start", down: true, touched: false, colour: "", x: "", y: "", picked: []});
  state.brushes.clear(); state.log.clear();
  $("scroll").scrollTop = 0;
  refresh();
}

// one chooses the experiment of most cells where none is chosen: axes are parameters of one.
function one() {
  const [most] = rows.experiments().sort((a, b) => b[1] - a[1]);
  if (!state.experiment && most) choose(most[0]);
}

// Views.

function drawTab() {
  if (state.tab === "table") drawTable();
  if (state.tab === "plot" || state.tab === "parallel") one();
  if (state.tab === "plot") {
    points = scatter($("scatter"), view.rows.filter(r => r.state === "stored"), {x: state.x, y: state.y, xlog: $("pxlog").checked, ylog: $("pylog").checked, colour: state.colour, colourlog: spans(state.colour), others: view.cols.params.filter(c => c !== state.x)});
    const lost = points.lost;
    $("lost").textContent = lost ? `${lost} of ${points.length + lost} cells have no place on these axes: not a number, infinite, not positive on a log axis, or beyond 1e±150` : "";
  }
  if (state.tab === "parallel") drawParallel();
}

function drawParallel() {
  const many = c => new Set(view.all.slice(0, 2000).map(r => show(get(r, c)))).size > 1;
  const cols = [...view.cols.params, ...view.cols.values.filter(c => view.all.some(r => num(get(r, c)) !== undefined))].filter(many).slice(0, 12);
  for (const c of cols) if (spans(c)) state.log.add(c);
  const stored = l => l.filter(r => r.state === "stored");
  coordinates = parallel($("coordinates"), stored(view.rows), stored(view.all), cols, {colour: state.pcolour, colourlog: state.log.has(state.pcolour), brushes: state.brushes, logs: state.log});
}

// drawTable builds only the lines that are in sight.
function drawTable() {
  const scroll = $("scroll"), n = view.table.length;
  const from = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 10), to = Math.min(n, from + Math.ceil(scroll.clientHeight / ROW) + 20);
  $("head").replaceChildren(el("tr", {}, ...view.heads.map(h => {
    const sorted = h.col === state.sort;
    return el("th", {className: (h.text ? "text " : "") + (sorted ? "sorted" : ""), title: "sort", onclick: () => sortBy(h.col)},
      el("span", {className: "kind", textContent: h.mean ? "mean ± sd" : kind(h.col) || " "}), label(h.col) + (sorted ? state.down ? " ↓" : " ↑" : ""));
  })));
  const pad = k => el("tr", {className: "pad"}, (() => { const td = el("td", {colSpan: view.heads.length}); td.style.height = k * ROW + "px"; return td; })());
  $("body").replaceChildren(pad(from), ...view.table.slice(from, to).map(tableRow), pad(n - to));
}

function tableRow(l) {
  if (l.group) return el("tr", {}, ...l.values.map((v, i) => el("td", {className: view.heads[i].text ? "text" : "", textContent: show(v) + (l.spread[i] !== undefined && i > 1 ? ` ± ${show(+l.spread[i].toPrecision(2))}` : "")})));
  const r = l.row, tr = el("tr", {className: state.picked.includes(r.key) ? "picked" : ""});
  tr.append(...view.heads.map(h => {
    if (h.col === "key") {
      const tick = el("input", {type: "checkbox", checked: state.picked.includes(r.key), title: "compare", onclick: e => { e.stopPropagation(); pick(r.key); }});
      return el("td", {className: "text key", onclick: () => detail(r.key)}, tick, " ", el("span", {className: "bar " + r.state, title: r.state}), r.key.slice(0, 8));
    }
    const v = get(r, h.col);
    return el("td", {className: h.text ? "text" : "", textContent: h.col === "start" ? (v || "").slice(0, 19).replace("T", " ") : h.col === "error" ? (v || "").split("\n")[0] : show(v), title: h.text ? show(v) : ""});
  }));
  return tr;
}

function sortBy(col) {
  state.down = state.sort === col ? !state.down : false;
  state.sort = col;
  refresh();
}

function pick(key) {
  state.picked = state.picked.includes(key) ? state.picked.filter(k => k !== key) : [...state.picked, key].slice(-2);
  drawTable();
  if (state.picked.length === 2) difference();
}

async function difference() {
  const [a, b] = state.picked, answer = await fetch(`diff?${new URLSearchParams({a, b})}`);
  if (!answer.ok) { $("diff").replaceChildren(el("p", {className: "note wrong", textContent: await answer.text()})); return; }
  const d = await answer.json(), sheet = [];
  for (const [name, title] of [["params", "Parameters that differ"], ["metrics", "Values"], ["context", "Context that differs"]]) {
    if (!d[name].length) continue;
    sheet.push(el("h2", {textContent: title}), el("table", {},
      el("tr", {}, ...["", a.slice(0, 8), b.slice(0, 8), "change"].map((t, i) => el("th", {className: i ? "" : "text", textContent: t}))),
      ...d[name].map(x => el("tr", {}, el("td", {className: "text", textContent: x.column.replace(/^(param|value|manifest)\./, "")}), ...[x.a, x.b].map(t => el("td", {className: x.equal ? "" : "differs", textContent: t.length > 40 ? t.slice(0, 39) + "…" : show(Number.isFinite(+t) && t !== "" ? +t : t), title: t})), el("td", {textContent: x.change})))));
  }
  $("diff").replaceChildren(...sheet);
}

async function detail(key) {
  const answer = await fetch("cell/" + key), r = rows.map.get(key);
  const text = answer.ok ? JSON.stringify(await answer.json(), null, 2) : r.error || "it has not finished";
  const files = (r.artifacts || []).map(a => {
    const href = `artifact/${key}/${a.name.split("/").map(encodeURIComponent).join("/")}`;
    return el("p", {}, el("a", {href, textContent: `${a.name} (${a.size.toLocaleString("en")} bytes)`}), ...(a.name.endsWith(".png") ? [el("br"), el("img", {src: href})] : []));
  });
  $("cell").replaceChildren(el("h2", {textContent: `${r.experiment} ${key.slice(0, 8)}`}), ...files, el("pre", {textContent: text}));
  $("detail").showModal();
}

async function download() {
  const keys = view.table.flatMap(l => l.group ? l.group.keys : [l.row.key]);
  const answer = await fetch("export", {method: "POST", body: JSON.stringify({keys})});
  if (!answer.ok) { $("fault").textContent = await answer.text(); return; }
  const a = el("a", {href: URL.createObjectURL(await answer.blob()), download: "cells.csv"});
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

async function about() {
  const {store, figures} = await (await fetch("about")).json();
  $("store").textContent = "\u200e" + store;
  document.title = "Runs · " + store.split("/").slice(-2).join("/");
  $("gallery").replaceChildren(...(figures?.length ? figures.map(figure) : [el("p", {className: "note", textContent: "No figures: coupling fig NAME --out DIR writes them, coupling runs serve --gallery DIR shows them."})]));
}

function figure(f) {
  const pictures = (f.pictures || []).map(p => (p.files || []).find(x => /\.(png|svg)$/.test(x))).filter(Boolean);
  const held = (f.claims || []).filter(c => c.verdict === "holds").length;
  return el("div", {className: "figure"}, ...pictures.map(p => el("a", {href: "gallery/" + p, target: "_blank"}, el("img", {src: "gallery/" + p, loading: "lazy"}))),
    el("b", {textContent: `${f.name} · ${f.title}`}), el("span", {textContent: f.error || `${f.preset}, seed ${f.seed}; ${held} of ${(f.claims || []).length} claims hold`}));
}

// What people do.

$("filter").oninput = e => { state.filter = e.target.value; $("scroll").scrollTop = 0; later(); };
$("group").onchange = e => { state.group = e.target.value; state.sort = state.group; state.down = false; refresh(); };
$("scroll").onscroll = () => requestAnimationFrame(drawTable);
$("px").onchange = e => { state.x = e.target.value; setLog("px", state.x); drawTab(); };
$("py").onchange = e => { state.y = e.target.value; setLog("py", state.y); drawTab(); };
$("pc").onchange = e => { state.colour = e.target.value; state.touched = true; drawTab(); };
$("cc").onchange = e => { state.pcolour = e.target.value; drawTab(); };
$("pxlog").onchange = $("pylog").onchange = drawTab;
$("csv").onclick = download;
$("close").onclick = () => $("detail").close();
$("tabs").onclick = e => {
  const tab = e.target.dataset.tab;
  if (!tab) return;
  state.tab = tab;
  for (const b of $("tabs").children) b.classList.toggle("on", b === e.target);
  for (const s of document.querySelectorAll(".tab")) s.classList.toggle("on", s.id === tab);
  drawTab();
};
onresize = () => later();

const nearest = e => {
  const box = $("scatter").getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
  let best = null, far = 400;
  for (const p of points) { const d = (p.x - x) ** 2 + (p.y - y) ** 2; if (d < far) { far = d; best = p; } }
  return best?.row;
};
$("scatter").onmousemove = e => {
  const r = nearest(e);
  $("hover").textContent = r ? [r.key.slice(0, 8), ...[state.x, state.y, state.colour].filter(Boolean).map(c => `${label(c)} ${show(get(r, c))}`)].join("  ·  ") : "";
};
$("scatter").onclick = e => { const r = nearest(e); if (r) detail(r.key); };

let drag = null;
const place = e => { const box = $("coordinates").getBoundingClientRect(); return {x: e.clientX - box.left, u: coordinates.unit(e.clientY - box.top)}; };
$("coordinates").onpointerdown = e => {
  if (!coordinates?.axes.length) return;
  const p = place(e), a = coordinates.axes.reduce((m, a) => Math.abs(a.x - p.x) < Math.abs(m.x - p.x) ? a : m);
  if (Math.abs(a.x - p.x) > 24) return;
  drag = {col: a.col, from: p.u};
  $("coordinates").setPointerCapture(e.pointerId);
};
$("coordinates").onpointermove = e => {
  if (!drag) return;
  const u = place(e).u;
  if (Math.abs(u - drag.from) > .01) { state.brushes.set(drag.col, [Math.min(u, drag.from), Math.max(u, drag.from)]); drag.moved = true; later(); }
};
$("coordinates").onpointerup = () => {
  if (drag && !drag.moved) { state.brushes.delete(drag.col); later(); }
  drag = null;
};

about();
setInterval(about, 60_000);
poll();
