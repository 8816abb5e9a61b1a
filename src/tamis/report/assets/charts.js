"use strict";
// Curves, bars, scatter plots and critical-difference diagrams.

const column = (label, kind = "number") => ({ label, kind });

function lines(section, box) {
  const labels = Object.keys(section.series), values = Object.values(section.series);
  const names = labels.map((_, i) => section.colours[i] || PALETTE[i % PALETTE.length]);
  const place = make("div", {
    role: "img",
    "aria-label": `Curves of ${labels.join(", ")} over ${section.x_label}; the numbers are in the table below`,
  });
  const readout = make("p", { class: "note readout" }), seen = labels.map((label) => !section.hidden.includes(label));
  const low = Math.min(...section.x), high = Math.max(...section.x);
  let plot = null;
  // Below the curves, so that it never covers one: each name is a button that shows or hides its curve.
  const list = make("ul", { class: "legend" }, ...labels.map((label, i) => make("li", {}, make("button", {
    type: "button", "aria-pressed": String(seen[i]),
    onclick: (event) => {
      seen[i] = !seen[i];
      event.currentTarget.setAttribute("aria-pressed", String(seen[i]));
      plot.setSeries(i + 1, { show: seen[i] });
    },
  }, make("i", { style: `background:${colour(names[i])}`, "aria-hidden": "true" }), label))));
  box.append(place, list, readout);
  whenSized(box, (width) => {
    place.replaceChildren();
    const axis = { stroke: paint("soft"), grid: { stroke: paint("line"), width: 1 }, ticks: { stroke: paint("line") }, labelFont: "13px system-ui, sans-serif", font: "12px system-ui, sans-serif" };
    const show = (_, ticks) => ticks.map((tick) => (tick === null ? "" : number(tick)));
    const path = section.steps ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    plot = new uPlot({
      width, height: Math.max(220, Math.min(340, width * 0.42)),
      legend: { show: false },
      scales: { x: { time: false, ...(section.log_x ? { distr: 3, range: [low, high] } : {}) } },
      bands: section.low.length ? [{ series: [labels.length + 1, labels.length + 2], fill: `${paint(names[0])}33` }] : [],
      axes: [
        { ...axis, label: section.x_label, values: show, ...(section.log_x ? { splits: () => roundPowers(low, high), filter: (_, ticks) => ticks } : {}) },
        { ...axis, label: section.y_label || undefined, size: 62, values: show },
      ],
      hooks: { setCursor: [({ cursor: { idx } }) => {
        readout.textContent = idx === null || idx === undefined ? "" : `${section.x_label} ${number(section.x[idx])}: `
          + labels.map((label, i) => (seen[i] ? `${label} ${number(values[i][idx])}` : "")).filter((words) => words).join(", ");
      }] },
      series: [{}, ...labels.map((_, i) => ({
        stroke: paint(names[i]), width: i === 0 ? 3 : 1.8, dash: i > 3 ? [6, 4] : undefined, show: seen[i],
        paths: path, points: { show: section.points },
      })), ...(section.low.length ? [{ width: 0, points: { show: false } }, { width: 0, points: { show: false } }] : [])],
    }, [section.x, ...values, ...(section.low.length ? [section.high, section.low] : [])], place);
  });
  const behind = section.low.length ? [["low", section.low], ["high", section.high]] : [];
  box.append(tableBehind(section.title, [column(section.x_label), ...labels.map((label) => column(label)), ...behind.map(([label]) => column(label))],
    () => section.x.map((x, i) => [x, ...values.map((series) => series[i]), ...behind.map(([, series]) => series[i])])));
}

// One row of bars for each series, each with its own linear scale, over the same labels.
function bars(section, box) {
  const names = Object.keys(section.series).filter((name) => section.series[name].some((value) => value));
  const paints = Object.fromEntries(Object.keys(section.series).map((name, i) => [name, section.colours[i] || PALETTE[i % PALETTE.length]]));
  const place = make("div");
  box.append(place);
  whenSized(box, (width) => {
    const tall = 70, head = 32, foot = 22, step = width / section.labels.length, height = names.length * (head + tall) + foot;
    const picture = draw("svg", {
      width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${section.title}: bars of ${names.join(", ")}; the numbers are in the table below`,
    });
    names.forEach((name, k) => {
      const values = section.series[name], most = Math.max(...values), floor = (k + 1) * (head + tall);
      const total = values.reduce((sum, value) => sum + value, 0);
      picture.append(draw("text", { x: 0, y: floor - tall - 6 }, draw("tspan", { "font-weight": 600 }, `${name} `),
        draw("tspan", { class: "soft" }, fitted(`${count(total)}; the tallest bar is ${count(most)}`, width - widthOf(`${name} `, 600)))));
      picture.append(draw("line", { x1: 0, x2: width, y1: floor, y2: floor, stroke: colour("line") }));
      values.forEach((value, i) => {
        if (!value) return;
        const high = Math.max((tall * value) / most, 1.5);
        picture.append(draw("rect", { x: i * step + 0.5, width: Math.max(step - 1, 1), y: floor - high, height: high, fill: colour(paints[name]) },
          draw("title", {}, `${section.labels[i]}: ${count(value)} ${name}`)));
      });
    });
    const every = Math.ceil(60 / step);
    section.labels.forEach((label, i) => {
      if (i % every === 0 && i * step + widthOf(label) <= width) picture.append(draw("text", { x: i * step, y: height - 5, class: "soft" }, label));
    });
    place.replaceChildren(picture);
  });
  box.append(tableBehind(section.title, [column("from", "text"), ...names.map((name) => column(name))],
    () => section.labels.map((label, i) => [label, ...names.map((name) => section.series[name][i])])));
}

// Where the label of each dot goes: the position next to it that covers the fewest dots, labels and
// points of a line.
function besideDots(dots, widths, width, floor, line) {
  const steps = line.slice(1).flatMap(([x1, y1], i) => Array.from({ length: 50 }, (_, k) => [line[i][0] + ((x1 - line[i][0]) * k) / 49, line[i][1] + ((y1 - line[i][1]) * k) / 49]));
  const taken = dots.map(({ x, y, r }) => ({ left: x - r, right: x + r, top: y - r, bottom: y + r }));
  return dots.map(({ x, y, r }, i) => {
    const w = widths[i], places = [];
    for (const [dx, dy] of [[r + 3, 4], [-r - 3 - w, 4], [-w / 2, -r - 5], [-w / 2, r + 14], [r, -r - 2], [r, r + 12], [-r - w, -r - 2], [-r - w, r + 12]]) {
      places.push({ left: x + dx, right: x + dx + w, top: y + dy - 12, bottom: y + dy + 3 });
    }
    const meets = (p) => taken.filter((t, k) => k !== i && p.right >= t.left && p.left <= t.right && p.bottom >= t.top && p.top <= t.bottom).length;
    const outside = (p) => (p.left < 2 || p.right > width - 2 || p.top < 14 || p.bottom > floor ? taken.length : 0);
    const crossed = (p) => (steps.some(([a, b]) => a >= p.left && a <= p.right && b >= p.top && b <= p.bottom) ? 0.5 : 0);
    const costs = places.map((p) => meets(p) + outside(p) + crossed(p)), place = places[costs.indexOf(Math.min(...costs))];
    taken.push(place);
    return { x: place.left, y: place.bottom - 3 };
  });
}

function scatter(section, box) {
  const place = make("div");
  box.append(place);
  const best = new Set(section.best);
  whenSized(box, (width) => {
    const height = Math.max(260, Math.min(380, width * 0.5)), left = 56, right = 16, top = 40, bottom = 44;
    const fx = section.log_x ? (x) => Math.log10(Math.max(x, 1e-9)) : (x) => x;
    const xs = section.points.map((p) => fx(p[1])), ys = section.points.map((p) => p[2]), sizes = section.points.map((p) => p[3]);
    const span = (values) => { const lo = Math.min(...values), hi = Math.max(...values), pad = (hi - lo || 1) * 0.08; return [lo - pad, hi + pad]; };
    const [x0, x1] = span(xs), [y0, y1] = span(ys), most = Math.max(...sizes, 1e-9);
    const px = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
    const py = (y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - top - bottom);
    const picture = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${section.y_label} against ${section.x_label}; the numbers are in the table below` });
    roundNumbers(y0, y1, 4).forEach((y) => picture.append(
      draw("line", { x1: left, x2: width - right, y1: py(y), y2: py(y), stroke: colour("line") }),
      draw("text", { x: left - 6, y: py(y) + 4, "text-anchor": "end", class: "soft" }, number(y))));
    let before = -Infinity; // where the last tick's label ended
    (section.log_x ? roundPowers(10 ** x0, 10 ** x1) : roundNumbers(x0, x1, 5)).forEach((x) => {
      const words = number(x), at = px(fx(x)), half = widthOf(words) / 2;
      if (at - half < before + 8) return;
      before = at + half;
      picture.append(draw("line", { x1: at, x2: at, y1: height - bottom, y2: height - bottom + 4, stroke: colour("grey") }),
        draw("text", { x: at, y: height - bottom + 17, "text-anchor": "middle", class: "soft" }, words));
    });
    picture.append(draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, section.x_label),
      draw("text", { x: 4, y: 12 }, section.y_label));
    const front = section.best.map((i) => [px(xs[i]), py(ys[i])]).sort((a, b) => a[0] - b[0]);
    if (front.length > 1) {
      picture.append(draw("polyline", { points: front.map((p) => p.join(",")).join(" "), fill: "none", stroke: colour("green"), "stroke-width": 2, "stroke-dasharray": "5 4" }));
    }
    const dots = section.points.map((_, i) => ({ x: px(xs[i]), y: py(ys[i]), r: 4 + 10 * Math.sqrt(sizes[i] / most) }));
    const words = section.points.map(([name]) => fitted(name, width * 0.45));
    const places = besideDots(dots, words.map((text) => widthOf(text)), width, height - bottom, front);
    section.points.forEach(([name], i) => {
      const r = dots[i].r, chosen = best.has(i);
      picture.append(draw("circle", { cx: px(xs[i]), cy: py(ys[i]), r, fill: colour(chosen ? "green" : "blue"), "fill-opacity": 0.55, stroke: colour(chosen ? "green" : "blue") },
        draw("title", {}, `${name}: ${section.x_label} ${number(section.points[i][1])}, ${section.y_label} ${number(ys[i])}, ${section.size_label} ${number(sizes[i])}`)),
        draw("text", { x: places[i].x, y: places[i].y, class: "over" }, words[i]));
    });
    place.replaceChildren(picture);
  });
  box.append(tableBehind(section.title, [column("", "text"), column(section.x_label), column(section.y_label), column(section.size_label)], () => section.points));
}

function ranks(section, box) {
  const place = make("div"), order = section.names.map((_, i) => i).sort((a, b) => section.ranks[a] - section.ranks[b]);
  box.append(place);
  whenSized(box, (width) => {
    const n = section.names.length, half = Math.ceil(n / 2), row = 20, bar = 12;
    const levels = section.groups.length, axisY = 52, firstRow = axisY + 16 + levels * bar;
    const longest = Math.max(...section.names.map((name) => widthOf(`${name} 0.00`))) + 16;
    const height = firstRow + half * row + 14, side = Math.min(longest, width * 0.36);
    const least = 1, most = Math.max(n, 2);
    const px = (rank) => side + ((rank - least) / (most - least)) * (width - 2 * side);
    const picture = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Critical-difference diagram; average ranks are in the table below" });
    picture.append(draw("line", { x1: px(least), x2: px(most), y1: axisY, y2: axisY, stroke: colour("ink") }));
    for (let rank = least, step = Math.ceil(20 / (px(2) - px(1))); rank <= most; rank += step) {
      picture.append(draw("line", { x1: px(rank), x2: px(rank), y1: axisY - 6, y2: axisY, stroke: colour("ink") }),
        draw("text", { x: px(rank), y: axisY - 10, "text-anchor": "middle", class: "soft" }, rank));
    }
    if (section.critical_difference) {
      const end = px(least + section.critical_difference);
      picture.append(draw("line", { x1: px(least), x2: end, y1: 19, y2: 19, stroke: colour("red"), "stroke-width": 3 }),
        draw("text", { x: px(least), y: 12 }, `critical difference ${number(section.critical_difference)}`));
    }
    order.forEach((i, place) => {
      const onLeft = place < half, x = px(section.ranks[i]), y = firstRow + (onLeft ? place : n - 1 - place) * row;
      const edge = onLeft ? side - 8 : width - side + 8;
      picture.append(draw("polyline", { points: `${x},${axisY} ${x},${y} ${edge},${y}`, fill: "none", stroke: colour("grey") }),
        draw("text", { x: onLeft ? edge - 4 : edge + 4, y: y + 4, "text-anchor": onLeft ? "end" : "start" },
          `${fitted(section.names[i], side - 16 - widthOf(" 0.00"))} ${section.ranks[i].toFixed(2)}`));
    });
    section.groups.forEach((group, level) => {
      const held = group.map((i) => section.ranks[i]), y = axisY + 8 + level * bar;
      picture.append(draw("line", { x1: px(Math.min(...held)) - 3, x2: px(Math.max(...held)) + 3, y1: y, y2: y, stroke: colour("ink"), "stroke-width": 5 },
        draw("title", {}, group.map((i) => section.names[i]).join(", "))));
    });
    place.replaceChildren(picture);
  });
  box.append(tableBehind(section.title, [column("method", "text"), column("average rank")], () => order.map((i) => [section.names[i], section.ranks[i]])));
}
