"use strict";
// Fills in the sections of the page; a live page does so again at every update.

const KINDS = {
  lines, bars, flow, explorer, scatter, ranks,
  facts: (section, box) => box.append(make("dl", { class: "facts" }, ...section.items.map(([label, value]) =>
    make("div", {}, make("dt", {}, label), make("dd", {}, value))))),
  table: (section, box) => box.append(tableOf(section.columns, section.rows, { opens: section.opens, search: section.rows.length > 8, caption: section.title, best: section.best })),
  code: (section, box) => box.append(make("pre", { tabindex: "0" }, section.text)),
};

function show(page) {
  document.getElementById("summary").textContent = page.summary;
  const main = document.getElementById("sections"), contents = document.getElementById("contents");
  main.replaceChildren();
  contents.replaceChildren();
  page.sections.forEach((section, i) => {
    const id = `part-${i}`, box = make("div");
    contents.append(make("a", { href: `#${id}` }, section.title));
    main.append(make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, section.title),
      ...(section.note ? [make("p", { class: "note" }, section.note)] : []), box));
    KINDS[section.kind](section, box);
  });
}

let page = JSON.parse(document.getElementById("data").textContent);
show(page);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(page));

if (page.live) {
  const state = document.getElementById("live");
  state.hidden = false;
  state.textContent = "live: this page follows the run";
  const news = new EventSource(page.live);
  news.addEventListener("page", (event) => {
    const [x, y] = [scrollX, scrollY], focused = document.activeElement && document.activeElement.tagName === "INPUT";
    page = { ...JSON.parse(event.data), live: page.live };
    if (!focused) show(page); // somebody is typing: wait for the next update
    scrollTo(x, y);
  });
  news.addEventListener("end", () => {
    news.close();
    state.textContent = "the run has ended";
  });
  news.onerror = () => { state.textContent = "the run cannot be reached; this is its last known state"; };
}
