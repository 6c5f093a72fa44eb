"use strict";
/* A page of items: they lie in it packed, and are unpacked once a reader wants to see them. */
(() => {
  const { data } = EvenhandPage;
  const { browse, fillSelect, restore } = EvenhandItems;
  const byId = (id) => document.getElementById(id);
  const SEARCH = "#search=";
  let items = [];

  const unpack = async () => {
    const bytes = Uint8Array.from(atob(byId("packed-items").textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const rows = JSON.parse(await new Response(stream).text());
    for (const [text] of rows) restore(text);
    return rows;
  };
  const open = async () => {
    if (items.length) return;
    byId("item-status").textContent = "Unpacking the items.";
    try {
      items = await unpack();
    } catch {
      byId("items-area").hidden = true;
      byId("item-unreadable").hidden = false;
      return;
    }
    fillSelect(byId("item-bias"), [["", "all"], ...[...new Set(items.map(([text]) => text[2]))].sort().map((name) => [name, name])]);
  };
  fillSelect(byId("task-select"), data.tasks);
  const restart = browse({
    items: () => items.slice(),
    run: () => data.run,
    task: () => byId("task-select").value,
    taskTitles: Object.fromEntries(data.tasks),
    note: () => "",
    open,
  });
  byId("task-select").addEventListener("change", restart);

  /* What is searched for goes along to the other pages. */
  const links = [...document.querySelectorAll("[data-item-page]")];
  const carry = () => { for (const link of links) link.hash = byId("item-search").value ? SEARCH + encodeURIComponent(byId("item-search").value) : ""; };
  byId("item-search").addEventListener("input", carry);
  if (location.hash.startsWith(SEARCH)) {
    try { byId("item-search").value = decodeURIComponent(location.hash.slice(SEARCH.length)); } catch { /* not ours */ }
    carry();
  }
})();
