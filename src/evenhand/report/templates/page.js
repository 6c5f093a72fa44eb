"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const TASK_TITLES = { overall: "Both tasks together", intrasentence: "Intra-sentence", intersentence: "Inter-sentence" };
  const LABELS = ["stereotype", "anti-stereotype", "unrelated"];
  const PAGE_SIZE = 20;
  const state = { task: data.tasks[0], run: 0, column: 8, descending: true, page: 0 };
  const byId = (id) => document.getElementById(id);

  /* Build an element. Text only ever arrives as textContent, so nothing in the data becomes markup. */
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const fillSelect = (select, options) => {
    const chosen = select.value;
    select.replaceChildren(...options.map(([value, text]) => make("option", { value, textContent: text })));
    if (options.some(([value]) => String(value) === chosen)) select.value = chosen;
  };
  const shown = (value, digits = 1) => (value === null ? "–" : value.toFixed(digits));
  const signed = (value, digits = 2) => (value === null ? "–" : (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(digits));

  const drawTaskPlot = (id, spec) => {
    if (spec && spec.layer) drawPlot(byId(id), spec);
    else byId(id).textContent = "No run has scores for this task.";
  };
  const drawPlots = () => {
    drawTaskPlot("plot-plane", data.plots[state.task].plane);
    drawTaskPlot("plot-bias-types", data.plots[state.task].bias_types);
  };

  /* Target terms */
  const track = (value, low, high) => {
    const side = low > 50 ? "towards" : high < 50 ? "against" : "open";
    const holder = make("span", { className: "track compact", ariaHidden: "true" });
    const range = make("span", { className: "track-range " + side });
    range.style.left = low + "%";
    range.style.width = high - low + "%";
    const dot = make("span", { className: "track-dot " + side });
    dot.style.left = value + "%";
    holder.append(make("span", { className: "track-neutral" }), range, dot);
    return holder;
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
    byId("target-status").textContent = `${rows.length} of ${all.length} terms`;
    byId("target-table").tBodies[0].replaceChildren(...rows.map(([term, bias, n, ss, low, high, lms, icat, pull]) =>
      make("tr", {},
        make("th", { scope: "row", textContent: term }),
        make("td", { textContent: bias }),
        make("td", {}, make("span", { className: "value", textContent: shown(ss) }), " ",
          make("span", { className: "interval", textContent: `${shown(low)} to ${shown(high)}` }), track(ss, low, high)),
        make("td", { className: "count", textContent: signed(pull) }),
        make("td", { className: "count", textContent: shown(lms) }),
        make("td", { className: "count", textContent: shown(icat) }),
        make("td", { className: "count", textContent: n.toLocaleString("en") }))));
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

  /* A candidate that only fills the blank arrives as its fill alone. */
  for (const texts of Object.values(data.texts)) {
    for (const text of texts) {
      for (let place = 6; place < 9; place += 1) {
        if (Array.isArray(text[place])) text[place] = text[5].replace("BLANK", () => text[place][0]);
      }
    }
  }

  /* Items: text = [id, task, bias, target, term, context, three texts, defects];
     score = [three scores, side, strength, sense, skipped reason, log-ratio in bits where it is known];
     strength = log2 of the scores' ratio where a run has only positive ones, else their difference */
  const KINDS = {
    all: () => true,
    stereotype: (text, score) => score[3] > 0,
    anti: (text, score) => score[3] < 0,
    nonsense: (text, score) => !score[6] && score[5] < 0.5,
    tie: (text, score) => !score[6] && score[3] === 0,
    flagged: (text) => text[9].length > 0,
    skipped: (text, score) => Boolean(score[6]),
  };
  const ORDERS = {
    towards: (one, two) => two[1][4] - one[1][4],
    against: (one, two) => one[1][4] - two[1][4],
    close: (one, two) => Math.abs(one[1][4]) - Math.abs(two[1][4]),
    file: () => 0,
  };
  const chosenItems = () => {
    const run = data.runs[state.run];
    const words = byId("item-search").value.trim().toLowerCase();
    const bias = byId("item-bias").value;
    const kind = KINDS[byId("item-kind").value];
    return data.texts[run.texts]
      .map((text, index) => [text, run.items[index]])
      .filter(([text, score]) =>
        (state.task === "overall" || text[1] === state.task) && (!bias || text[2] === bias) && kind(text, score) &&
        (!words || [text[0], ...text.slice(3, 9)].some((part) => part.toLowerCase().includes(words))))
      .sort(ORDERS[byId("item-order").value]);
  };
  const verdict = (score) => {
    if (score[6]) return make("span", { className: "chip", textContent: "skipped" });
    if (score[3] === 0) return make("span", { className: "chip", textContent: "tie" });
    const towards = score[3] > 0;
    const strength = Math.abs(score[4]);
    const shownAs = (value) => value.toLocaleString("en", { maximumSignificantDigits: 2 });
    const times = strength > 20 ? "over a million times as high" : `${shownAs(2 ** strength)} times as high`;
    const apart = data.runs[state.run].ratios ? times : `higher by ${shownAs(strength)}`;
    return make("span", { className: "chip " + (towards ? "towards" : "against"), textContent: `towards ${towards ? "stereotype" : "anti-stereotype"}: score ${apart}` });
  };
  /* The context with its blank drawn as a gap. */
  const contextOf = (text) => {
    const pieces = text[5].split("BLANK");
    const paragraph = make("p", { className: "item-context" }, pieces[0]);
    for (const piece of pieces.slice(1)) paragraph.append(make("span", { className: "gap", textContent: "_____", title: "blank" }), piece);
    return paragraph;
  };
  const scoreText = (score) => {
    if (score === null) return "no score";
    const size = Math.abs(score);
    return size !== 0 && (size < 0.001 || size >= 1e5) ? score.toExponential(2).replace("e-", "e−") : String(Number(score.toPrecision(4)));
  };
  const candidate = (sentence, label, score, best) => {
    const bar = make("span", { className: "candidate-bar", ariaHidden: "true" });
    const fill = make("span", { className: { stereotype: "stereotype", "anti-stereotype": "anti" }[label] || "" });
    fill.style.width = score > 0 && best > 0 ? (100 * score) / best + "%" : "0";
    bar.append(fill);
    return make("li", { className: "candidate" },
      make("span", { className: "candidate-label", textContent: label }),
      make("span", { textContent: sentence }),
      make("span", { className: "candidate-score", textContent: scoreText(score) }), bar);
  };
  const itemCard = ([text, score]) => {
    const best = Math.max(...score.slice(0, 3).map((value) => value ?? 0));
    const card = make("li", { className: "item" },
      make("div", { className: "item-head" }, verdict(score), `${text[2]}, ${text[3]}, ${TASK_TITLES[text[1]].toLowerCase()}`),
      contextOf(text),
      make("ul", { className: "candidates" }, ...LABELS.map((label, index) => candidate(text[6 + index], label, score[index], best))));
    const notes = [text[0], ...text[9].map((name) => name.replaceAll("-", " "))];
    if (score[6]) notes.push("skipped: " + score[6]);
    if (score[7] !== null) notes.push(`log-ratio ${signed(score[7])} bits`);
    card.append(make("p", { className: "item-foot", textContent: notes.join(" · ") }));
    return card;
  };
  const drawItems = () => {
    if (byId("items-area").hidden) return;
    const items = chosenItems();
    const pages = Math.max(1, Math.ceil(items.length / PAGE_SIZE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE_SIZE;
    byId("item-list").replaceChildren(...items.slice(first, first + PAGE_SIZE).map(itemCard));
    byId("item-status").textContent = items.length ? `${items.length.toLocaleString("en")} items` : "No item fits these choices.";
    byId("item-page").textContent = `Page ${state.page + 1} of ${pages}`;
    byId("item-previous").disabled = state.page === 0;
    byId("item-next").disabled = state.page >= pages - 1;
  };
  const restartItems = () => { state.page = 0; drawItems(); };
  const turnPage = (step) => { state.page += step; drawItems(); byId("items").scrollIntoView(); };

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
  fillSelect(byId("task-select"), data.tasks.map((task) => [task, TASK_TITLES[task]]));
  byId("task-select").addEventListener("change", (event) => { state.task = event.target.value; drawPlots(); redraw(); });
  const runSelect = byId("run-select");
  if (runSelect) {
    fillSelect(runSelect, data.runs.map((run, index) => [index, run.label]));
    runSelect.addEventListener("change", (event) => { state.run = Number(event.target.value); redraw(); });
  }
  byId("target-search").addEventListener("input", drawTargets);
  byId("target-bias").addEventListener("change", drawTargets);
  for (const button of byId("target-table").tHead.querySelectorAll("button")) button.addEventListener("click", () => sortTargets(button));
  byId("items-show").addEventListener("click", () => { byId("items-notice").hidden = true; byId("items-area").hidden = false; drawItems(); byId("item-search").focus(); });
  byId("item-search").addEventListener("input", restartItems);
  for (const id of ["item-bias", "item-kind", "item-order"]) byId(id).addEventListener("change", restartItems);
  byId("item-previous").addEventListener("click", () => turnPage(-1));
  byId("item-next").addEventListener("click", () => turnPage(1));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPlots);
  drawPlots();
  redraw();
})();
