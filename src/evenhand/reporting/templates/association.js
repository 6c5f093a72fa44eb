"use strict";
/* Context association tests: the plots of a task, target terms, and the items themselves. */
(() => {
  const { make, plots, draw, csvMakers } = EvenhandPage;
  const { counted, fillSelect, signed } = EvenhandItems;
  const data = EvenhandPage.data.association;
  const state = { task: data.tasks[0][0], run: 0, column: 8, descending: true };
  const byId = (id) => document.getElementById(id);

  const shown = (value, digits = 1) => (value === null ? "–" : value.toFixed(digits));

  const setPlots = () => {
    const absent = data.runs.filter((run) => !(state.task in run.targets)).map((run) => run.label);
    for (const id of ["plane", "bias-types"]) {
      plots[id] = data.plots[state.task][id];
      const note = document.querySelector(`[data-plot="${id}"]`).parentElement.querySelector("[data-left-out]");
      note.hidden = absent.length === 0;
      note.textContent = `Not drawn: ${absent.join("; ")} (no scores for this task).`;
    }
  };
  const drawPlots = () => {
    setPlots();
    for (const id of ["plane", "bias-types"]) draw(document.querySelector(`[data-plot="${id}"]`));
  };

  /* Target terms */
  const shape = (name, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const bar = (value, low, high, reason) => {
    const side = low === null ? "open" : low > 50 ? "towards" : high < 50 ? "against" : "open";
    const marks = low === null
      ? [shape("circle", { class: "bar-hollow", cx: value + "%", cy: 6, r: 5 }, shape("title", {}, "No interval: " + reason))]
      : [shape("rect", { class: "bar-range " + side, x: low + "%", width: Math.max(high - low, 0.8) + "%", height: 12, rx: 2 }),
        shape("rect", { class: "bar-value " + side, x: value + "%", y: -2, width: 4, height: 16, rx: 2, transform: "translate(-2 0)" })];
    return shape("svg", { class: "bar", width: "100%", height: 12, "aria-hidden": "true" },
      shape("rect", { class: "bar-track", width: "100%", height: 12, rx: 3 }),
      shape("line", { class: "bar-neutral", x1: "50%", x2: "50%", y1: -3, y2: 15 }), ...marks);
  };
  const targetRows = () => {
    const words = byId("target-search").value.trim().toLowerCase();
    const bias = byId("target-bias").value;
    const rows = (data.runs[state.run].targets[state.task] || []).filter(
      (row) => (!bias || row[1] === bias) && row[0].toLowerCase().includes(words));
    const direction = state.descending ? -1 : 1;
    const text = typeof (rows[0] || [])[state.column] === "string";
    return rows.sort((one, two) => direction * (text ? one[state.column].localeCompare(two[state.column]) : one[state.column] - two[state.column]));
  };
  const drawTargets = () => {
    const all = data.runs[state.run].targets[state.task] || [];
    const rows = targetRows();
    const terms = data.runs[state.run].terms[state.task] || 0;
    const held = all.length < terms ? ` This page holds the ${counted(all.length)} of ${counted(terms)} terms that pull most. All are in the run's folder, in estimates.json.` : "";
    byId("target-status").textContent = `${counted(rows.length)} of ${counted(all.length)} terms${held && "."}${held}`;
    byId("target-table").tBodies[0].replaceChildren(...rows.map(([term, bias, n, ss, low, high, lms, icat, pull, reason]) =>
      make("tr", {},
        make("th", { scope: "row", textContent: term }),
        make("td", { textContent: bias }),
        make("td", {}, make("span", { className: "value", textContent: shown(ss) }), " ",
          make("span", { className: "interval", textContent: low === null ? "no interval: " + reason : `${shown(low)} to ${shown(high)}` }), ss === null ? "" : bar(ss, low, high, reason)),
        make("td", { className: "count", textContent: signed(pull) }),
        make("td", { className: "count", textContent: shown(lms) }),
        make("td", { className: "count", textContent: shown(icat) }),
        make("td", { className: "count", textContent: counted(n) }))));
  };
  const sortTargets = (button) => {
    const column = Number(button.dataset.column);
    state.descending = column === state.column ? !state.descending : column > 1;
    state.column = column;
    for (const head of byId("target-table").tHead.rows[0].cells) {
      const own = head.querySelector("button") === button;
      head.setAttribute("aria-sort", own ? (state.descending ? "descending" : "ascending") : "none");
    }
    drawTargets();
  };

  /* Items: those that lean most where a page cannot hold all. */
  for (const texts of Object.values(data.texts)) texts.forEach(EvenhandItems.restore);
  const restartItems = EvenhandItems.browse({
    items: () => data.texts[data.runs[state.run].texts].map((text, index) => [text, data.runs[state.run].items[index]]),
    run: () => data.runs[state.run],
    task: () => state.task,
    taskTitles: Object.fromEntries(data.tasks),
    note: () => {
      const { texts: key } = data.runs[state.run];
      const [here, all] = [data.texts[key].length, data.totals[key]];
      const others = byId("item-pages") ? "All are on the pages that are linked below." : "All are in the run's folder, on its pages of items (items-1.html and on) and in items.csv.";
      return here === all ? "" : `This page holds ${counted(here)} of ${counted(all)} items: those that lean most to either side, the closest calls and the first. ${others}`;
    },
  });

  /* Controls */
  const biasOptions = () => {
    const found = new Set((data.runs[state.run].targets[state.task] || []).map((row) => row[1]));
    return [["", "all"], ...[...found].sort().map((name) => [name, name])];
  };
  const redraw = () => {
    fillSelect(byId("target-bias"), biasOptions());
    fillSelect(byId("item-bias"), biasOptions());
    drawTargets();
    restartItems();
  };
  fillSelect(byId("task-select"), data.tasks);
  byId("task-select").addEventListener("change", (event) => { state.task = event.target.value; drawPlots(); redraw(); });
  const runSelect = byId("run-select");
  if (runSelect) {
    fillSelect(runSelect, data.runs.map((run, index) => [index, run.label]));
    runSelect.addEventListener("change", (event) => { state.run = Number(event.target.value); redraw(); });
  }
  byId("target-search").addEventListener("input", drawTargets);
  byId("target-bias").addEventListener("change", drawTargets);
  for (const button of byId("target-table").tHead.querySelectorAll("button")) button.addEventListener("click", () => sortTargets(button));
  csvMakers.set("items", () => EvenhandItems.csv(data.runs.flatMap((run) => data.texts[run.texts].map((text, index) => [run.label, text, run.items[index]]))));
  setPlots();
  redraw();
})();
