(id, names, address) => {
const live = document.getElementById(id);
let seq = 0, queued = {}, timer = null;
const send = text => globalThis.gonb_comm && globalThis.gonb_comm.send(address, (++seq) + ":" + text);
const flush = () => { timer = null; for (const c in queued) send(c + ":" + queued[c]); queued = {}; };
live.querySelectorAll("[data-control]").forEach(e => {
  const move = () => {
    const c = e.dataset.control, o = e.parentNode.querySelector("output");
    if (o) o.textContent = names[c][e.value];
    queued[c] = e.value;
    timer = timer || setTimeout(flush, 30);
  };
  e.addEventListener("input", move);
  e.addEventListener("change", move);
});
live.querySelector(".nb-stop").addEventListener("click", () => send("stop:stopped"));
window.addEventListener("pagehide", () => send("stop:the page went away"), {once: true});
}
