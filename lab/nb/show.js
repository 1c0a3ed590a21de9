(id, src, width, markup, words) => {
const l = document.getElementById(id);
if (!l) return;
const p = l.querySelector(".nb-picture"), i = l.querySelector(".nb-picture > img");
if (src && i) { i.src = src; i.width = width; } else { p.innerHTML = markup; }
l.querySelector(".nb-status").textContent = "";
l.dataset.drawn = words;
}
