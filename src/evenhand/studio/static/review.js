// Shows an item as it is being edited: context with its blank and target marked, rebuilt sentences, and what is wrong.
// Without this script the same form works, and the server says what is wrong.
"use strict";

const BLANK = "BLANK";

function fold(text) {
  return text.normalize("NFC").toLowerCase();
}

function markOf(kind, text) {
  const mark = document.createElement("mark");
  mark.className = kind;
  mark.textContent = text;
  return mark;
}

// The target is found in any case; the blank is in capitals, "Blank" is a word.
function showMarked(element, text, target) {
  const parts = [BLANK, ...(target ? [target.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")] : [])];
  element.replaceChildren();
  let start = 0;
  for (const match of text.matchAll(new RegExp(parts.join("|"), "giu"))) {
    const isTarget = target && fold(match[0]) === fold(target);
    if (match[0] !== BLANK && !isTarget) continue;
    element.append(text.slice(start, match.index), markOf(match[0] === BLANK ? "blank" : "target", match[0]));
    start = match.index + match[0].length;
  }
  element.append(text.slice(start));
}

function showFilled(element, context, word) {
  const [before, ...rest] = context.split(BLANK);
  element.replaceChildren(before, ...rest.flatMap((text) => [...(word ? [markOf("fill", word)] : []), text]));
}

function remarksOf(form, texts, candidates) {
  const list = form.querySelector("[data-remarks]").dataset;
  const remarks = [];
  const isIntra = form.dataset.task === "intrasentence";
  const hasContext = texts.context !== undefined; // a row of a table has none
  if (isIntra && texts.context.split(BLANK).length !== 2) remarks.push(list.blank);
  if (hasContext && !fold(texts.context).includes(fold(texts.target))) remarks.push(list.target);
  if (new Set(candidates.map(fold)).size < candidates.length) remarks.push(list.equal);
  return remarks;
}

function refresh(form) {
  const inputs = [...form.querySelectorAll("[data-edits]")];
  const texts = Object.fromEntries(inputs.map((input) => [input.dataset.edits, input.value.trim()]));
  const isIntra = form.dataset.task === "intrasentence";
  const candidates = [];
  for (const shown of form.querySelectorAll("[data-shown]")) {
    const field = shown.dataset.shown;
    if (field === "context") showMarked(shown, texts.context, texts.target);
    else if (field === "target") shown.textContent = texts.target;
    else {
      candidates.push(texts[field]);
      if (isIntra) showFilled(shown, texts.context, texts[field]);
      else shown.textContent = texts[field];
    }
  }
  const list = form.querySelector("[data-remarks]");
  list.replaceChildren(
    ...remarksOf(form, texts, candidates).map((remark) => {
      const entry = document.createElement("li");
      entry.textContent = remark;
      return entry;
    }),
  );
}

document.addEventListener("input", (event) => {
  if (event.target.hasAttribute("data-edits")) refresh(event.target.form);
});
