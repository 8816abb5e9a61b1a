"use strict";
// Fills in the sections of the page; a live page does so again at every update.

const KINDS = {
  lines, bars, flow, explorer, scatter, ranks,
  facts: (section, box) => box.append(
    make("dl", { class: "facts" }, ...section.items.map(([label, value]) => make("div", {}, make("dt", {}, label), make("dd", {}, value)))),
    ...(section.remarks.length ? [make("ul", { class: "remarks" }, ...section.remarks.map((remark) => make("li", {}, remark)))] : [])),
  table: (section, box) => box.append(tableOf(section.columns, section.rows, { search: section.rows.length > 20, caption: section.title, best: section.best })),
  code: (section, box) => box.append(make("pre", { tabindex: "0" }, section.text)),
};

function show(page) {
  document.getElementById("summary").textContent = page.summary;
  const main = document.getElementById("sections"), contents = document.getElementById("contents");
  main.replaceChildren();
  contents.replaceChildren();
  featureTables = [];
  showFeature = null;
  sectionIds = new Set();
  const ids = page.sections.map((section) => {
    const plain = section.title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "part";
    let id = plain;
    for (let k = 2; sectionIds.has(id) || document.getElementById(id); k++) id = `${plain}-${k}`;
    sectionIds.add(id);
    return id;
  });
  page.sections.forEach((section, i) => {
    const id = ids[i], box = make("div");
    contents.append(make("a", { href: `#${encodeURIComponent(id)}` }, section.title));
    main.append(make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, section.title),
      ...(section.note ? [make("p", { class: "note" }, section.note)] : []), box));
    KINDS[section.kind](section, box);
  });
}

// Open the feature that the address names, as in report.html#x17, or go to its section.
function follow({ look = true, focus = look } = {}) {
  if (location.hash.length < 2) return;
  const { long, name } = namedIn(location.hash);
  if (!long && sectionIds.has(name)) {
    if (look) document.getElementById(name).scrollIntoView();
    return;
  }
  const shown = showFeature && showFeature(name);
  openedName = shown ? shown.name : name;
  const listed = [];  // the first table that has it comes into view
  for (const mark of featureTables) listed.push(mark(openedName, look && !shown && !listed.includes(true)));
  if (shown && look) {
    shown.box.closest("section").scrollIntoView();
    if (focus) shown.evidence.focus({ preventScroll: true });
  } else if (look && !listed.includes(true) && featureTables.length) {
    document.getElementById("summary").textContent = `${cut(name, 300)} is not on this page. ${page.summary}`;
  }
}

// Change the address, and show what it names; the focus stays in a search field.
function goTo(name, field = null) {
  const address = addressOf(name);
  if (location.hash !== address) history.pushState(null, "", address);
  follow({ look: true, focus: field === null });
}

let page = JSON.parse(document.getElementById("data").textContent);
show(page);
follow();
addEventListener("hashchange", () => follow());
addEventListener("click", (event) => { // the same link again is no change of the address
  const link = event.target.closest && event.target.closest("a[href^='#']");
  if (link && link.getAttribute("href") === location.hash) follow();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { show(page); follow({ look: false }); });

if (page.live) {
  const state = document.getElementById("live");
  state.hidden = false;
  state.textContent = "live: this page follows the run";
  const news = new EventSource(page.live);
  news.addEventListener("page", (event) => {
    const [x, y] = [scrollX, scrollY], focused = document.activeElement;
    page = { ...JSON.parse(event.data), live: page.live };
    if (focused && focused.tagName === "INPUT") return; // somebody is typing: wait for the next update
    show(page);
    follow({ look: false });
    scrollTo(x, y);
    const again = focused && focused.id && document.getElementById(focused.id);
    if (again) again.focus({ preventScroll: true });
  });
  news.addEventListener("progress", (event) => stages(JSON.parse(event.data)));
  news.addEventListener("end", () => {
    news.close();
    stages([]);
    state.textContent = "the run has ended";
  });
  news.onerror = () => { state.textContent = "the run cannot be reached; this is its last known state"; };
}

// One bar for each stage of the run: what it does, how far it is, and how long it will take.
function stages(list) {
  document.getElementById("progress").replaceChildren(...list.map(({ what, done, total, words }) => {
    const bar = make("progress", { "aria-label": what, ...(total ? { max: total, value: Math.min(done, total) } : {}) });
    return make("div", {}, make("span", {}, what), bar, make("span", { class: "note" }, words));
  }));
}
