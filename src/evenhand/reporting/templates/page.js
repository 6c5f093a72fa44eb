"use strict";
/* What every page does: draw plots, sort tables, choose a baseline, give away links, CSV and PNG, print in full. */
const EvenhandPage = (() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const plots = data.plots;
  const views = new Map();
  const csvMakers = new Map();

  /* Build an element. Text only ever arrives as textContent, so nothing in the data becomes markup. */
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  /* Plots: colours that start with @ are the theme's, so a plot follows light and dark. */
  const themed = (value, style) => {
    if (typeof value === "string" && value.startsWith("@")) return style.getPropertyValue("--" + value.slice(1)).trim();
    if (Array.isArray(value)) return value.map((entry) => themed(entry, style));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, themed(entry, style)]));
    return value;
  };
  /* A plot in a folded part has no width to fill; it gets that of the first part around it that has one. */
  const widthFor = (place) => {
    for (let part = place; part; part = part.parentElement) if (part.clientWidth) return part === place ? part.clientWidth : part.clientWidth - 40;
    return 600;
  };
  const draw = (place) => {
    const spec = plots[place.dataset.plot];
    if (!spec || !spec.layer) {
      place.textContent = "There is nothing to draw.";
      return Promise.resolve();
    }
    /* The figure is named as a whole and its numbers stand in a table; its marks would only be noise. */
    const canvas = make("div", { className: "plot-canvas", ariaHidden: "true" });
    const width = widthFor(place);
    place.dataset.width = width;
    place.replaceChildren(canvas);
    return vegaEmbed(canvas, { ...themed(spec, getComputedStyle(document.documentElement)), width: Math.max(width, 200) }, { actions: false, renderer: "svg" })
      .then((result) => views.set(place.dataset.plot, result.view));
  };
  const places = () => [...document.querySelectorAll("[data-plot]")];
  const isFolded = (place) => place.offsetParent === null;
  const drawAll = () => {
    const folded = [];
    for (const place of places()) isFolded(place) ? folded.push(place) : draw(place);
    const later = window.requestIdleCallback || ((work) => setTimeout(work, 50));
    const next = () => { const place = folded.shift(); if (place) draw(place).then(() => later(next)); };
    later(next);
  };
  const redrawIfResized = () => {
    for (const place of places()) if (!isFolded(place) && Math.abs(widthFor(place) - Number(place.dataset.width)) > 8) draw(place);
  };

  /* Tables that sort by any column: numbers by data-value, everything else by its text. */
  const cellValue = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const sortTable = (table, column, head) => {
    const descending = head.getAttribute("aria-sort") === "ascending" || (head.getAttribute("aria-sort") === "none" && column > 0 && isNumeric(table, column));
    const body = table.tBodies[0];
    const numeric = isNumeric(table, column);
    const rows = [...body.rows].sort((one, two) => {
      const [first, second] = [cellValue(one, column), cellValue(two, column)];
      if (first === "" || second === "") return (first === "") - (second === "");
      const order = numeric ? first - second : first.localeCompare(second);
      return descending ? -order : order;
    });
    body.replaceChildren(...rows);
    for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  };
  const isNumeric = (table, column) => [...table.tBodies[0].rows].every((row) => cellValue(row, column) === "" || Number.isFinite(Number(cellValue(row, column))));
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => sortTable(table, column, head)));
  }

  /* The baseline that the reader chooses */
  for (const select of document.querySelectorAll("[data-baselines]")) {
    const own = [...document.querySelectorAll("[data-baseline]")].filter((part) => part.dataset.baseline.startsWith(select.dataset.baselines + " "));
    select.addEventListener("change", () => {
      for (const part of own) part.hidden = part.dataset.baseline !== `${select.dataset.baselines} ${select.value}`;
    });
  }

  /* Links, CSV and PNG */
  const save = (name, url) => make("a", { href: url, download: name }).click();
  const saveText = (name, text) => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    save(name, url);
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };
  for (const link of document.querySelectorAll("[data-link]")) {
    link.addEventListener("click", () => navigator.clipboard?.writeText(link.href).catch(() => {}));
  }
  for (const button of document.querySelectorAll("[data-csv]")) {
    const id = button.dataset.csv;
    button.addEventListener("click", () => saveText(`evenhand-${id}.csv`, csvMakers.has(id) ? csvMakers.get(id)() : data.csv[id]));
  }
  for (const button of document.querySelectorAll("[data-png]")) {
    const id = button.dataset.png;
    button.addEventListener("click", () => views.get(id)?.background(getComputedStyle(document.documentElement).getPropertyValue("--panel").trim()).runAsync()
      .then((view) => view.toImageURL("png", 2)).then((url) => save(`evenhand-${id}.png`, url)));
  }

  /* Folded parts: plots in them are drawn to their width when they are unfolded; on paper everything is open. */
  const parts = () => document.querySelectorAll("main details");
  document.addEventListener("toggle", (event) => { if (event.target.open) redrawIfResized(); }, true);
  let folded = [];
  window.addEventListener("beforeprint", () => { folded = [...parts()].filter((part) => !part.open); for (const part of folded) part.open = true; });
  window.addEventListener("afterprint", () => { for (const part of folded) part.open = false; });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let resizing;
  window.addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(redrawIfResized, 150); });
  return { data, plots, draw, drawAll, make, csvMakers };
})();
document.addEventListener("DOMContentLoaded", EvenhandPage.drawAll);
