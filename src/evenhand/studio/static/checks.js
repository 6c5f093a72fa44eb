// Tells what is noticed about an answer while it is written.
"use strict";

let waiting = null;

document.addEventListener("input", (event) => {
  const area = event.target;
  if (!area.dataset || !area.dataset.check) return;
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const data = new URLSearchParams({ csrf: area.form.elements.csrf.value, answer: area.value });
    try {
      const answer = await fetch(area.dataset.check, { method: "POST", body: data });
      if (!answer.ok || !area.isConnected) return;
      const list = document.getElementById(area.getAttribute("aria-describedby"));
      list.replaceChildren(
        ...(await answer.json()).map((sentence) => {
          const line = document.createElement("li");
          line.textContent = sentence;
          return line;
        }),
      );
    } catch {
      // The answer is checked again when it is sent.
    }
  }, 700);
});
