id => {
const film = document.getElementById(id), frames = film.querySelectorAll(".nb-frame");
film.querySelector("input").addEventListener("input", e => {
  frames.forEach((f, i) => { f.style.display = i == e.target.value ? "block" : "none"; });
  film.querySelector("output").textContent = frames[e.target.value].dataset.value;
});
}
