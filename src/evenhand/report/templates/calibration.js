"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("page-data").textContent);
  const drawPlots = () => {
    for (const place of document.querySelectorAll("[data-plot]")) {
      const spec = plots[place.dataset.plot];
      if (spec.layer) drawPlot(place, spec);
      else place.textContent = "The measure is undefined on these models.";
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPlots);
  drawPlots();
})();
