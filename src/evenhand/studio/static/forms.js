// Keys for buttons, saving without a reload, and the seconds that a text was on the screen. Without this script the
// same forms work as plain forms.
"use strict";

let seconds = 0;
let since = document.hidden ? null : performance.now();

function look(visible) {
  if (since !== null) seconds += (performance.now() - since) / 1000;
  since = visible ? performance.now() : null;
}

document.addEventListener("visibilitychange", () => look(!document.hidden));

function startAgain() {
  seconds = 0;
  since = document.hidden ? null : performance.now();
  const target = [...document.querySelectorAll("[data-focus]")].pop();
  if (target) {
    if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
    target.focus();
  }
}

let sending = false;

async function send(form, button) {
  if (sending) return;
  sending = true;
  look(!document.hidden);
  const clock = form.querySelector("[data-seconds]");
  if (clock) clock.value = seconds.toFixed(1);
  const data = new FormData(form);
  if (button && button.name) data.set(button.name, button.value);
  const status = form.querySelector("[data-status]");
  try {
    const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(data) });
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = next.querySelector("main");
    const isSameForm = fresh && fresh.querySelector("form[data-replace]") !== null;
    if (!fresh || (!answer.ok && !isSameForm)) {
      // What was written stays, and the reason stands below it. A form that comes back has what was written.
      const reason = answer.status < 500 && next.querySelector("main .lede");
      if (status) status.textContent = reason ? `${form.dataset.refused} ${reason.textContent}` : form.dataset.unsaved;
      return;
    }
    document.querySelector("main").replaceWith(document.importNode(fresh, true));
    document.title = next.title;
    if (answer.redirected) history.replaceState(null, "", answer.url);
    window.scrollTo(0, 0);
    startAgain();
  } catch {
    if (status) status.textContent = form.dataset.unsaved;
  } finally {
    sending = false;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.hasAttribute("data-replace")) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
  const goer = event.target.closest("[data-goes]");
  if (goer) {
    const field = document.getElementById(goer.dataset.goes);
    const folded = field.closest("details");
    if (folded) folded.open = true;
    field.focus();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const at = event.target;
  if (at.matches("textarea, input:not([type=checkbox], [type=radio]), select")) {
    if (event.key === "Escape") document.querySelector("[data-focus]")?.focus();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  const button = [...document.querySelectorAll("button[data-key]")].find(
    (candidate) => candidate.dataset.key === event.key.toLowerCase() && !candidate.disabled,
  );
  if (button) {
    event.preventDefault();
    button.click();
  }
});

startAgain();
