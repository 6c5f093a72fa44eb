// Fetches the figures again every fifteen seconds, until the reader stops it.
"use strict";

const button = document.querySelector("[data-live]");
let running = true;

function show() {
  button.hidden = false;
  button.textContent = running ? button.dataset.on : button.dataset.off;
  button.setAttribute("aria-pressed", String(running));
}

button.addEventListener("click", () => {
  running = !running;
  show();
});

setInterval(async () => {
  const figures = document.getElementById("figures");
  if (!running || document.hidden || figures.contains(document.activeElement)) return;
  try {
    const answer = await fetch(button.dataset.live);
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("figures");
    if (fresh) figures.replaceWith(document.importNode(fresh, true));
  } catch {
    // The server is away for a moment; the next round may find it.
  }
}, 15000);

show();
