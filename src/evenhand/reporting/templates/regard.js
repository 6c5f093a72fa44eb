"use strict";
/* Regard: the texts behind the figures, with search. A text is [group, context, label, text, people's label]. */
(() => {
  const { make } = EvenhandPage;
  const runs = EvenhandPage.data.regard.runs;
  const NAMES = { "-1": "negative", 0: "neutral", 1: "positive" };
  const SIDES = { "-1": "towards", 0: "", 1: "against" };
  const PAGE_SIZE = 20;
  const state = { page: 0 };
  const byId = (id) => document.getElementById(`regard-${id}`);
  const chosen = (id) => byId(id)?.value ?? "";
  const run = () => runs[Number(chosen("run"))];

  const chosenTexts = () => {
    const words = chosen("search").trim().toLowerCase();
    const [group, context, label] = ["group", "context", "label"].map(chosen);
    return run().texts.filter((own) =>
      (!group || own[0] === group) && (!context || own[1] === context) && (!label || String(own[2]) === label) &&
      (!words || own[3].toLowerCase().includes(words)));
  };
  const card = ([group, context, label, text, human]) =>
    make("li", { className: "item" },
      make("div", { className: "item-head" }, make("span", { className: `chip ${SIDES[label]}`, textContent: NAMES[label] }), [group, context].filter(Boolean).join(", ")),
      make("p", { className: "item-context", textContent: text }),
      ...(human === null ? [] : [make("p", { className: "item-foot", textContent: `People say: ${NAMES[human]}` })]));
  const drawTexts = () => {
    const texts = chosenTexts();
    const pages = Math.max(1, Math.ceil(texts.length / PAGE_SIZE));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * PAGE_SIZE;
    byId("list").replaceChildren(...texts.slice(first, first + PAGE_SIZE).map(card));
    const here = run().texts.length;
    const partial = here === run().total ? "" : ` This page holds ${here.toLocaleString("en")} of ${run().total.toLocaleString("en")} texts, spread evenly; all are in the run's folder, in scores.parquet.`;
    byId("status").textContent = (texts.length ? `${texts.length.toLocaleString("en")} ${texts.length === 1 ? "text" : "texts"}.` : "No text fits these choices.") + partial;
    byId("page").textContent = `Page ${state.page + 1} of ${pages}`;
    byId("previous").disabled = state.page === 0;
    byId("next").disabled = state.page >= pages - 1;
  };
  const restart = () => { state.page = 0; drawTexts(); };
  const turnPage = (step) => { state.page += step; drawTexts(); byId("texts").scrollIntoView(); };

  byId("show").addEventListener("click", () => { byId("notice").hidden = true; byId("area").hidden = false; drawTexts(); byId("search").focus(); });
  byId("search").addEventListener("input", restart);
  for (const id of ["run", "group", "context", "label"]) byId(id)?.addEventListener("change", restart);
  byId("previous").addEventListener("click", () => turnPage(-1));
  byId("next").addEventListener("click", () => turnPage(1));
})();
