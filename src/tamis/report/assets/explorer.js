"use strict";
// Which feature made which redundant: one feature in the middle, those that decided about it on the
// left, those it displaced on the right. Clicking a feature puts it in the middle.

const NEIGHBOURS = 14;
// Shows a feature that is on the page; set by the explorer of the page, if it has one.
let showFeature = null;

function explorer(section, box) {
  const places = new Map(section.names.map((name, i) => [wellFormed(name), i]).reverse());
  const made = section.names.map(() => []);
  section.because.forEach((causes, i) => causes.forEach((cause) => made[cause].push(i)));
  const field = make("input", { type: "search", placeholder: "search for a feature", "aria-label": "search for a feature", id: "feature-search" });
  const found = make("ul", { class: "found", "aria-label": "features found" });
  const status = make("p", { class: "note", role: "status" });
  const evidence = make("p", { class: "evidence", id: "evidence", tabindex: "-1", "aria-live": "polite" });
  const facts = make("p", { class: "note", id: "feature-facts" });
  const picture = make("div", { id: "neighbours" }), rest = make("div");
  const hubs = section.names.map((_, i) => i).sort((a, b) => section.displaced[b] - section.displaced[a]).slice(0, 12);

  function list() {
    const wanted = field.value.toLowerCase();
    const hits = wanted ? section.names.map((_, i) => i).filter((i) => section.names[i].toLowerCase().includes(wanted)) : hubs;
    found.replaceChildren(...hits.slice(0, 30).map((i) => make("li", {}, featureLink(section.names[i], cut(section.names[i], 60)))));
    status.textContent = !wanted ? (section.displaced.some((n) => n) ? "Features that displaced the most others:" : "The strongest features:")
      : hits.length ? `${count(hits.length)} found${hits.length > 30 ? ", the first 30 shown" : ""}`
      : `Not on this page; run: ${section.elsewhere}`;
  }
  field.addEventListener("input", list);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const exact = places.get(field.value);
    const first = exact !== undefined ? exact : section.names.findIndex((name) => name.toLowerCase().includes(field.value.toLowerCase()));
    if (first >= 0) goTo(section.names[first], field);
  });

  function open(i) {
    evidence.textContent = section.sentences[i];
    facts.replaceChildren(make("b", {}, section.verdicts[i]),
      `, relevance ${number(section.relevance[i])}, displaced ${count(section.displaced[i])}. `,
      make("a", { href: addressOf(section.names[i]) }, "Link to this feature"));
    const causes = section.because[i], gone = [...made[i]].sort((a, b) => section.relevance[b] - section.relevance[a]);
    whenDrawn = (width) => picture.replaceChildren(neighbours(i, causes, gone, width));
    whenDrawn(Math.floor(box.clientWidth));
    const hidden = section.displaced[i] - Math.min(gone.length, NEIGHBOURS);
    const table = gone.length > NEIGHBOURS
      ? [tableBehind(`displaced by ${section.names[i]}`, [column("feature", "feature"), column("verdict", "text"), { ...column("relevance"), bar: true }],
          () => gone.map((k) => [section.names[k], section.verdicts[k], section.relevance[k]]))] : [];
    rest.replaceChildren(...(hidden > 0 ? [make("p", { class: "note" }, `${count(hidden)} more that it displaced are not drawn.`)] : []), ...table);
  }
  let whenDrawn = () => {};

  function neighbours(i, causes, gone, width) {
    const left = causes.slice(0, NEIGHBOURS), right = gone.slice(0, NEIGHBOURS), row = 30;
    if (!left.length && !right.length) return make("div");
    const thin = width < 560, w = thin ? Math.floor((width - 16) / 3) : Math.min(260, Math.floor((width - 120) / 3));
    const height = Math.max(left.length, right.length, 1) * row + 34, middle = (height + 18) / 2;
    const xs = [1, (width - w) / 2, width - w - 1];
    const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Neighbours of ${cut(section.names[i], 100)}` });
    const put = (k, x, y, act) => {
      const paints = colour(section.colours[section.verdicts[k]] || "grey");
      const group = draw("g", {}, draw("rect", { x, y: y - 12, width: w, height: 24, rx: 5, fill: paints, "fill-opacity": 0.22, stroke: paints }),
        draw("text", { x: x + 7, y: y + 4 }, fitted(section.names[k], w - 14)), draw("title", {}, cut(section.sentences[k], 500)));
      return act ? pressable(group, `${cut(section.names[k], 100)}, ${section.verdicts[k]}: show`, () => goTo(section.names[k])) : group;
    };
    const curve = (x0, y0, x1, y1) => draw("path", { d: `M${x0},${y0} C${(x0 + x1) / 2},${y0} ${(x0 + x1) / 2},${y1} ${x1},${y1}`, fill: "none", stroke: colour("line"), "stroke-width": 2 });
    const heading = (x, text) => draw("text", { x, y: 12, class: "soft" }, thin ? cut(text, 14) : text);
    if (left.length) svg.append(heading(xs[0], "decided by"));
    if (right.length) svg.append(heading(xs[2], "displaced"));
    const at = (k, n) => 18 + (height - 18) * ((k + 0.5) / n);
    left.forEach((k, j) => svg.append(curve(xs[0] + w, at(j, left.length), xs[1], middle)));
    right.forEach((k, j) => svg.append(curve(xs[1] + w, middle, xs[2], at(j, right.length))));
    left.forEach((k, j) => svg.append(put(k, xs[0], at(j, left.length), true)));
    right.forEach((k, j) => svg.append(put(k, xs[2], at(j, right.length), true)));
    svg.append(put(i, xs[1], middle, false));
    return svg;
  }

  showFeature = (name) => {
    const i = places.get(wellFormed(name));
    if (i !== undefined) open(i);
    else {
      evidence.textContent = `${cut(name, 300)} is not on this page; run: ${section.elsewhere}`;
      [facts, picture, rest].forEach((part) => part.replaceChildren());
    }
    return { name: i === undefined ? name : section.names[i], box, evidence };
  };
  box.append(field, status, found, evidence, facts, picture, rest, legend(Object.entries(section.colours).filter(([verdict]) => section.verdicts.includes(verdict))));
  list();
  const first = hubs.find((i) => section.verdicts[i] === "kept");
  if (section.names.length) open(first === undefined ? hubs[0] : first);
  else evidence.textContent = "There are no features.";
  whenSized(box, (width) => whenDrawn(width));
}
