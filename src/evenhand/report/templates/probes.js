"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("page-data").textContent);
  const draw = (part) => {
    for (const place of part.querySelectorAll("[data-plot]")) drawPlot(place, plots[place.dataset.plot]);
  };
  const drawAll = () => draw(document);
  /* A plot in a folded part has no width to fill, so it is drawn anew when the part is unfolded. */
  for (const part of document.querySelectorAll("details")) {
    part.addEventListener("toggle", () => { if (part.open) draw(part); });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll();
})();
