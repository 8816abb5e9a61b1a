"use strict";
// Where features went: bands from stage to stage, at least a few pixels wide so that none is lost.

function flow(section, box) {
  const place = make("div");
  box.append(place);
  const stages = Math.max(...section.nodes.map((node) => node[2])) + 1;
  whenSized(box, (width) => {
    const thin = width < 560, thick = 14, gap = thin ? 34 : 26, tallest = 170;
    const total = section.nodes[0][1] || 1;
    const size = (n) => Math.max(3, (n / total) * tallest);
    const labelled = thin ? width * 0.42 : 230;
    const left = (stage) => (stage * (width - labelled)) / Math.max(stages - 1, 1);
    const heights = section.nodes.map((node) => size(node[1]));
    // Labels stay clear of the bands: above a node that bands leave, else on the right. A later
    // stage begins where its source begins, so that its bands fall.
    const sources = new Set(section.links.map(([a]) => a)), above = 38;
    const room = (i) => (sources.has(i) ? heights[i] : Math.max(heights[i], 34)) + gap - 20;
    const tops = [];
    for (let stage = 0; stage < stages; stage++) {
      const mine = section.nodes.map((_, i) => i).filter((i) => section.nodes[i][2] === stage);
      let y = stage > 1 ? tops[section.links.find(([, b]) => mine.includes(b))[0]] : above;
      mine.forEach((i) => {
        if (sources.has(i) && stage > 0) y += above;
        tops[i] = y;
        y += room(i);
      });
    }
    const height = Math.max(...tops.map((top, i) => top + room(i))) + 6;
    const picture = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": section.links.map(([a, b, n]) => `${section.nodes[a][0]} to ${section.nodes[b][0]}: ${count(n)}`).join("; ") });
    const leaving = section.nodes.map(() => 0);
    section.links.forEach(([a, b, n]) => {
      const h = size(n), x0 = left(section.nodes[a][2]) + thick, x1 = left(section.nodes[b][2]);
      const y0 = tops[a] + Math.min(leaving[a], Math.max(heights[a] - h, 0)), y1 = tops[b], mid = (x0 + x1) / 2;
      leaving[a] += h;
      picture.append(draw("path", {
        d: `M${x0},${y0} C${mid},${y0} ${mid},${y1} ${x1},${y1} L${x1},${y1 + heights[b]} C${mid},${y1 + heights[b]} ${mid},${y0 + h} ${x0},${y0 + h} Z`,
        fill: colour(section.nodes[b][3]), "fill-opacity": 0.3,
      }, draw("title", {}, `${section.nodes[a][0]} → ${section.nodes[b][0]}: ${count(n)}`)));
    });
    section.nodes.forEach(([name, n, stage, paintName], i) => {
      const x = left(stage);
      picture.append(draw("rect", { x, y: tops[i], width: thick, height: heights[i], fill: colour(paintName), rx: 2 }));
      const [tx, ty] = sources.has(i) || stage === 0 ? [x, tops[i] - 24] : [x + thick + 6, tops[i] + Math.min(Math.max(heights[i] / 2, 8), 40) + 1];
      const share = stage === 0 ? "" : ` (${number(Number(((100 * n) / total).toPrecision(2)))}%)`;
      picture.append(draw("text", { x: tx, y: ty }, draw("tspan", { "font-weight": 600 }, fitted(name, width - tx, 600)),
        draw("tspan", { x: tx, dy: 16, class: "soft" }, count(n) + share)));
    });
    place.replaceChildren(picture);
  });
  box.append(tableBehind(section.title, [column("from", "text"), column("to", "text"), column("features", "count")],
    () => section.links.map(([a, b, n]) => [section.nodes[a][0], section.nodes[b][0], n])));
}
