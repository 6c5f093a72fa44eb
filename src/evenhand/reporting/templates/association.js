"use strict";
/* Context association tests: the plots of a task, target terms, and the items themselves. */
(() => {
  const { make, plots, draw, csvMakers } = EvenhandPage;
  const data = EvenhandPage.data.association;
  const TASK_TITLES = Object.fromEntries(data.tasks);
  const LABELS = ["stereotype", "anti-stereotype", "unrelated"];
  const PAGE_SIZE = 20;
  const state = { task: data.tasks[0][0], run: 0, column: 8, descending: true, page: 0 };
  const byId = (id) => document.getElementById(id);

  const fillSelect = (select, options) => {
    const chosen = select.value;
    select.replaceChildren(...options.map(([value, text]) => make("option", { value, textContent: text })));
    if (options.some(([value]) => String(value) === chosen)) select.value = chosen;
  };
  const shown = (value, digits = 1) => (value === null ? "–" : value.toFixed(digits));
  const signed = (value, digits = 2) => (value === null ? "–" : (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(digits));

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
    const held = all.length < terms ? ` This page holds the ${all.length.toLocaleString("en")} of ${terms.toLocaleString("en")} terms that pull most. All are in the run's folder, in estimates.json.` : "";
    byId("target-status").textContent = `${rows.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} terms${held && "."}${held}`;
    byId("target-table").tBodies[0].replaceChildren(...rows.map(([term, bias, n, ss, low, high, lms, icat, pull, reason]) =>
      make("tr", {},
        make("th", { scope: "row", textContent: term }),
        make("td", { textContent: bias }),
        make("td", {}, make("span", { className: "value", textContent: shown(ss) }), " ",
          make("span", { className: "interval", textContent: low === null ? "no interval: " + reason : `${shown(low)} to ${shown(high)}` }), ss === null ? "" : bar(ss, low, high, reason)),
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
  /* Scores are what SS counts. The log-ratio is of something else, so it stands apart and says of what. */
  const aboutScores = (text, score) => {
    const method = data.runs[state.run].scoring[text[1]];
    const about = [method ? `The score of a candidate: ${method}.` : "The scores are as the file gives them."];
    if (score[7] !== null) {
      const more = score[7] > 0 ? "more" : "less";
      about.push(`Taken as a whole, the stereotypical candidate is ${signed(Math.abs(score[7])).replace("+", "")} bits ${more} probable than the anti-stereotypical one (the log-ratio). ` +
        "Each further token lowers the probability of a whole candidate, so candidates of different length can differ there and not in the score, or the other way round. SS does not use it.");
    }
    return make("details", { className: "item-why" }, make("summary", { textContent: "What the scores are" }), make("p", { textContent: about.join(" ") }));
  };
  const itemCard = ([text, score]) => {
    const best = Math.max(...score.slice(0, 3).map((value) => value ?? 0));
    const card = make("li", { className: "item" },
      make("div", { className: "item-head" }, verdict(score), `${text[2]}, ${text[3]}, ${TASK_TITLES[text[1]].toLowerCase()}`),
      contextOf(text),
      make("ul", { className: "candidates" }, ...LABELS.map((label, index) => candidate(text[6 + index], label, score[index], best))));
    const notes = [text[0], ...text[9].map((name) => name.replaceAll("-", " "))];
    if (score[6]) notes.push("skipped: " + score[6]);
    card.append(make("p", { className: "item-foot", textContent: notes.join(" · ") }));
    if (!score[6]) card.append(aboutScores(text, score));
    return card;
  };
  const drawItems = () => {
    if (byId("items-area").hidden) return;
    const items = chosenItems();
    const pages = Math.max(1, Math.ceil(items.length / PAGE_SIZE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE_SIZE;
    byId("item-list").replaceChildren(...items.slice(first, first + PAGE_SIZE).map(itemCard));
    const { texts: key } = data.runs[state.run];
    const [here, all] = [data.texts[key].length, data.totals[key]].map((count) => count.toLocaleString("en"));
    const partial = here === all ? "" : `This page holds ${here} of ${all} items: those that lean most to either side, the closest calls and the first. All are in the run's folder, in items.csv and scores.parquet.`;
    const status = items.length ? `${items.length.toLocaleString("en")} items` : "No item fits these choices.";
    byId("item-status").textContent = partial ? `${status.replace(/\.$/, "")}. ${partial}` : status;
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
  byId("items-show").addEventListener("click", () => { byId("items-notice").hidden = true; byId("items-area").hidden = false; drawItems(); byId("item-search").focus(); });
  byId("item-search").addEventListener("input", restartItems);
  for (const id of ["item-bias", "item-kind", "item-order"]) byId(id).addEventListener("change", restartItems);
  byId("item-previous").addEventListener("click", () => turnPage(-1));
  byId("item-next").addEventListener("click", () => turnPage(1));
  const quoted = (value) => (value === null ? "" : `"${String(value).replaceAll('"', '""')}"`);
  csvMakers.set("items", () => [
    ["run", "item", "task", "bias_type", "target", "context", "stereotype", "anti_stereotype", "unrelated", "stereotype_score", "anti_stereotype_score", "unrelated_score", "log_ratio_bits", "skipped"],
    ...data.runs.flatMap((run) => data.texts[run.texts].map((text, index) => {
      const score = run.items[index];
      return [run.label, text[0], text[1], text[2], text[3], text[5], text[6], text[7], text[8], score[0], score[1], score[2], score[7], score[6]];
    })),
  ].map((row) => row.map(quoted).join(",")).join("\n") + "\n");
  setPlots();
  redraw();
})();
