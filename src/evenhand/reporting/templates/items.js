"use strict";
/* Items of context association tests: cards that a reader searches, filters, orders and turns the pages of. */
const EvenhandItems = (() => {
  const { make } = EvenhandPage;
  const LABELS = ["stereotype", "anti-stereotype", "unrelated"];
  const PAGE_SIZE = 20;
  const byId = (id) => document.getElementById(id);
  const signed = (value, digits = 2) => (value === null ? "–" : (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(digits));
  const counted = (count) => count.toLocaleString("en");
  const fillSelect = (select, options) => {
    const chosen = select.value;
    select.replaceChildren(...options.map(([value, text]) => make("option", { value, textContent: text })));
    if (options.some(([value]) => String(value) === chosen)) select.value = chosen;
  };

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

  /* A candidate that only fills the blank arrives as its fill alone. */
  const restore = (text) => {
    for (let place = 6; place < 9; place += 1) {
      if (Array.isArray(text[place])) text[place] = text[5].replace("BLANK", () => text[place][0]);
    }
    return text;
  };

  const verdict = (run, score) => {
    if (score[6]) return make("span", { className: "chip", textContent: "skipped" });
    if (score[3] === 0) return make("span", { className: "chip", textContent: "tie" });
    const towards = score[3] > 0;
    const strength = Math.abs(score[4]);
    const shownAs = (value) => value.toLocaleString("en", { maximumSignificantDigits: 2 });
    const times = strength > 20 ? "over a million times as high" : `${shownAs(2 ** strength)} times as high`;
    const apart = run.ratios ? times : `higher by ${shownAs(strength)}`;
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
  const aboutScores = (run, text, score) => {
    const method = run.scoring[text[1]];
    const about = [method ? `The score of a candidate: ${method}.` : "The scores are as the file gives them."];
    if (score[7] !== null) {
      const more = score[7] > 0 ? "more" : "less";
      about.push(`Taken as a whole, the stereotypical candidate is ${signed(Math.abs(score[7])).replace("+", "")} bits ${more} probable than the anti-stereotypical one (the log-ratio). ` +
        "Each further token lowers the probability of a whole candidate, so candidates of different length can differ there and not in the score, or the other way round. SS does not use it.");
    }
    return make("details", { className: "item-why" }, make("summary", { textContent: "What the scores are" }), make("p", { textContent: about.join(" ") }));
  };
  const itemCard = (run, taskTitles, [text, score]) => {
    const best = Math.max(...score.slice(0, 3).map((value) => value ?? 0));
    const card = make("li", { className: "item" },
      make("div", { className: "item-head" }, verdict(run, score), `${text[2]}, ${text[3]}, ${taskTitles[text[1]].toLowerCase()}`),
      contextOf(text),
      make("ul", { className: "candidates" }, ...LABELS.map((label, index) => candidate(text[6 + index], label, score[index], best))));
    const notes = [text[0], ...text[9].map((name) => name.replaceAll("-", " "))];
    if (score[6]) notes.push("skipped: " + score[6]);
    card.append(make("p", { className: "item-foot", textContent: notes.join(" · ") }));
    if (!score[6]) card.append(aboutScores(run, text, score));
    return card;
  };

  /* Rows of a table: the run's label, the text and the score of an item. */
  const quoted = (value) => (value === null ? "" : `"${String(value).replaceAll('"', '""')}"`);
  const csv = (rows) => [
    ["run", "item", "task", "bias_type", "target", "context", "stereotype", "anti_stereotype", "unrelated", "stereotype_score", "anti_stereotype_score", "unrelated_score", "log_ratio_bits", "skipped"],
    ...rows.map(([label, text, score]) => [label, text[0], text[1], text[2], text[3], text[5], text[6], text[7], text[8], score[0], score[1], score[2], score[7], score[6]]),
  ].map((row) => row.map(quoted).join(",")).join("\n") + "\n";

  /* Let a reader look through items, behind the notice. A source has
     items: pairs of text and score; run: whether scores have ratios, and what they are; task: which one is chosen;
     taskTitles; note: what is not among the items; open: what happens before the first card is drawn. */
  const browse = (source) => {
    let page = 0;
    const chosen = () => {
      const words = byId("item-search").value.trim().toLowerCase();
      const bias = byId("item-bias").value;
      const kind = KINDS[byId("item-kind").value];
      const task = source.task();
      return source.items()
        .filter(([text, score]) =>
          (task === "overall" || text[1] === task) && (!bias || text[2] === bias) && kind(text, score) &&
          (!words || [text[0], ...text.slice(3, 9)].some((part) => part.toLowerCase().includes(words))))
        .sort(ORDERS[byId("item-order").value]);
    };
    const draw = () => {
      if (byId("items-area").hidden) return;
      const items = chosen();
      const pages = Math.max(1, Math.ceil(items.length / PAGE_SIZE));
      page = Math.min(page, pages - 1);
      const first = page * PAGE_SIZE;
      byId("item-list").replaceChildren(...items.slice(first, first + PAGE_SIZE).map((item) => itemCard(source.run(), source.taskTitles, item)));
      const note = source.note();
      const status = items.length ? `${counted(items.length)} items` : "No item fits these choices.";
      byId("item-status").textContent = note ? `${status.replace(/\.$/, "")}. ${note}` : status;
      byId("item-page").textContent = `Page ${counted(page + 1)} of ${counted(pages)}`;
      byId("item-previous").disabled = page === 0;
      byId("item-next").disabled = page >= pages - 1;
    };
    const restart = () => { page = 0; draw(); };
    const turn = (step) => { page += step; draw(); byId("items").scrollIntoView(); };
    const unfold = async () => {
      byId("items-notice").hidden = true;
      byId("items-area").hidden = false;
      if (source.open) await source.open();
      draw();
      byId("item-search").focus();
    };
    byId("items-show").addEventListener("click", unfold);
    byId("item-search").addEventListener("input", restart);
    for (const id of ["item-bias", "item-kind", "item-order"]) byId(id).addEventListener("change", restart);
    byId("item-previous").addEventListener("click", () => turn(-1));
    byId("item-next").addEventListener("click", () => turn(1));
    return restart;
  };
  return { browse, counted, csv, fillSelect, restore, signed };
})();
