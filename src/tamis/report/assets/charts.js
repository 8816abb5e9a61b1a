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
  box.append(place);
  whenSized(box, (width) => {
    place.replaceChildren();
    const axis = { stroke: paint("soft"), grid: { stroke: paint("line"), width: 1 }, ticks: { stroke: paint("line") } };
    const show = (plot, ticks) => ticks.map((tick) => (tick === null ? "" : number(tick)));
    const path = section.steps ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    new uPlot({
      width, height: Math.max(220, Math.min(340, width * 0.42)),
      scales: { x: { time: false } },
      axes: [
        { ...axis, label: section.x_label, values: show },
        { ...axis, label: section.y_label || undefined, size: 62, values: show },
      ],
      series: [
        { label: section.x_label, value: (plot, value) => number(value) },
        ...labels.map((label, i) => ({
          label, stroke: paint(names[i]), width: i === 0 ? 3 : 1.8, dash: i > 3 ? [6, 4] : undefined,
          paths: path, points: { show: false }, value: (plot, value) => number(value),
        })),
      ],
    }, [section.x, ...values], place);
  });
  box.append(tableBehind(section.title, [column(section.x_label), ...labels.map((label) => column(label))],
    () => section.x.map((x, i) => [x, ...values.map((series) => series[i])])));
}

function bars(section, box) {
  const names = Object.keys(section.series);
  const paints = names.map((_, i) => section.colours[i] || PALETTE[i % PALETTE.length]);
  const place = make("div");
  box.append(place, legend(names.map((name, i) => [name, paints[i]])));
  const scale = section.root_scale ? Math.sqrt : (x) => x;
  const totals = section.labels.map((_, i) => names.reduce((sum, name) => sum + section.series[name][i], 0));
  whenSized(box, (width) => {
    const height = 200, left = 4, bottom = 24, step = (width - left) / section.labels.length;
    const top = Math.max(...totals.map(scale), 1e-9);
    const picture = draw("svg", {
      width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${section.title}: bars of ${names.join(", ")}; the numbers are in the table below`,
    });
    section.labels.forEach((label, i) => {
      let under = 0;
      names.forEach((name, k) => {
        const value = section.series[name][i];
        if (!value) return;
        const low = (height - bottom) * (1 - scale(under) / top);
        under += value;
        const high = (height - bottom) * (1 - scale(under) / top);
        picture.append(draw("rect", {
          x: left + i * step + 0.5, width: Math.max(step - 1, 1), y: Math.min(high, low - 1.5),
          height: Math.max(low - high, 1.5), fill: colour(paints[k]),
        }, draw("title", {}, `${label}: ${count(value)} ${name}`)));
      });
      const every = Math.ceil(60 / step);
      if (i % every === 0) {
        picture.append(draw("text", { x: left + i * step, y: height - 6, class: "soft" }, label));
      }
    });
    place.replaceChildren(picture);
  });
  box.append(tableBehind(section.title, [column("from", "text"), ...names.map((name) => column(name))],
    () => section.labels.map((label, i) => [label, ...names.map((name) => section.series[name][i])])));
}

function scatter(section, box) {
  const place = make("div");
  box.append(place);
  const best = new Set(section.best);
  whenSized(box, (width) => {
    const height = Math.max(260, Math.min(380, width * 0.5)), left = 56, right = 16, top = 18, bottom = 44;
    const fx = section.log_x ? (x) => Math.log10(Math.max(x, 1e-9)) : (x) => x;
    const xs = section.points.map((p) => fx(p[1])), ys = section.points.map((p) => p[2]), sizes = section.points.map((p) => p[3]);
    const span = (values) => { const lo = Math.min(...values), hi = Math.max(...values), pad = (hi - lo || 1) * 0.08; return [lo - pad, hi + pad]; };
    const [x0, x1] = span(xs), [y0, y1] = span(ys), most = Math.max(...sizes, 1e-9);
    const px = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
    const py = (y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - top - bottom);
    const picture = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${section.y_label} against ${section.x_label}; the numbers are in the table below` });
    for (let i = 0; i <= 4; i++) {
      const y = y0 + ((y1 - y0) * i) / 4, x = x0 + ((x1 - x0) * i) / 4;
      picture.append(draw("line", { x1: left, x2: width - right, y1: py(y), y2: py(y), stroke: colour("line") }),
        draw("text", { x: left - 6, y: py(y) + 4, "text-anchor": "end", class: "soft" }, number(Number(y.toPrecision(3)))),
        draw("text", { x: px(x), y: height - bottom + 16, "text-anchor": "middle", class: "soft" }, number(Number((section.log_x ? 10 ** x : x).toPrecision(2)))));
    }
    picture.append(draw("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, section.x_label),
      draw("text", { x: 4, y: 12 }, section.y_label));
    const front = section.best.map((i) => [px(xs[i]), py(ys[i])]).sort((a, b) => a[0] - b[0]);
    if (front.length > 1) {
      picture.append(draw("polyline", { points: front.map((p) => p.join(",")).join(" "), fill: "none", stroke: colour("green"), "stroke-width": 2, "stroke-dasharray": "5 4" }));
    }
    section.points.forEach(([name], i) => {
      const r = 4 + 10 * Math.sqrt(sizes[i] / most), chosen = best.has(i), onRight = px(xs[i]) > width * 0.7;
      picture.append(draw("circle", { cx: px(xs[i]), cy: py(ys[i]), r, fill: colour(chosen ? "green" : "blue"), "fill-opacity": 0.55, stroke: colour(chosen ? "green" : "blue") },
        draw("title", {}, `${name}: ${section.x_label} ${number(section.points[i][1])}, ${section.y_label} ${number(ys[i])}, ${section.size_label} ${number(sizes[i])}`)),
        draw("text", { x: px(xs[i]) + (onRight ? -r - 3 : r + 3), y: py(ys[i]) + 4, "text-anchor": onRight ? "end" : "start" }, cut(name, 24)));
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
    const height = firstRow + half * row + 14, side = Math.min(190, width * 0.3);
    const least = 1, most = Math.max(n, 2);
    const px = (rank) => side + ((rank - least) / (most - least)) * (width - 2 * side);
    const picture = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Critical-difference diagram; average ranks are in the table below" });
    picture.append(draw("line", { x1: px(least), x2: px(most), y1: axisY, y2: axisY, stroke: colour("ink") }));
    for (let rank = least; rank <= most; rank++) {
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
          `${cut(section.names[i], Math.max(8, Math.floor(side / 9)))} ${section.ranks[i].toFixed(2)}`));
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
