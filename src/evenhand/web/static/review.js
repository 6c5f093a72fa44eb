// Shows an item as it is being edited: context with its blank and target marked, rebuilt sentences, and what is wrong.
// Without this script the same form works, and the server says what is wrong.
"use strict";

const BLANK = "BLANK";

function fold(text) {
  return text.normalize("NFC").toLowerCase();
}

function showMarked(element, text, target) {
  const parts = [BLANK, ...(target ? [target.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")] : [])];
  element.replaceChildren();
  let start = 0;
  for (const match of text.matchAll(new RegExp(parts.join("|"), "giu"))) {
    element.append(text.slice(start, match.index));
    const mark = document.createElement("mark");
    mark.className = match[0] === BLANK ? "blank" : "target";
    mark.textContent = match[0];
    element.append(mark);
    start = match.index + match[0].length;
  }
  element.append(text.slice(start));
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
      shown.textContent = isIntra ? texts.context.replaceAll(BLANK, texts[field]) : texts[field];
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
