"use strict";
// Tables that sort and search; only the rows that can be seen at once are made.

const ROWS_AT_ONCE = 200;
// What the reader did to each table, by its title: a live page makes its tables again and again.
const tableStates = new Map();
// The tables of this page that list features, as functions that mark the row of a feature.
let featureTables = [];

// A name as a link to the feature on this page, which can be copied and sent.
function featureLink(name, label = name) {
  return make("a", { class: "open", href: addressOf(name), title: cut(name, 300) }, label);
}

function cellOf(value, column, isHead, most) {
  const isNumber = column.kind === "count" || column.kind === "number";
  const cell = make(isHead ? "th" : "td", { ...(isHead ? { scope: "row" } : {}), ...(isNumber && typeof value === "number" ? { class: "n" } : {}) });
  if (typeof value === "number") {
    const digits = { minimumFractionDigits: column.digits, maximumFractionDigits: column.digits };
    cell.append(typeof column.digits === "number" ? value.toLocaleString("en", digits) : number(value));
    if (column.bar && most > 0) cell.append(make("i", { class: "bar", style: `width:${(100 * Math.abs(value)) / most}%`, "aria-hidden": "true" }));
  } else if (value === null || value === undefined) cell.append("–");
  else cell.append(column.kind === "feature" ? featureLink(value) : make("span", { class: "long" }, value));
  return cell;
}

function tableOf(columns, rows, { search = false, caption = "", best = "" } = {}) {
  const state = tableStates.get(caption) || { wanted: "", limit: ROWS_AT_ONCE, sorted: null, rising: true };
  tableStates.set(caption, state);
  const names = columns.findIndex((column) => column.kind === "feature");
  const mosts = columns.map((column, i) => (column.bar ? Math.max(...rows.map((row) => Math.abs(row[i]) || 0)) : 0));
  let shown = rows;
  const body = make("tbody"), more = make("button", { type: "button", onclick: () => { state.limit *= 10; fill(); } });
  const heads = columns.map((column, place) => {
    const head = make("th", { scope: "col" });
    if (column.kind === "count" || column.kind === "number") head.className = "n";
    if (column.label && rows.length > 1) {
      head.append(make("button", { type: "button", onclick: () => { state.rising = state.sorted === place ? !state.rising : true; state.sorted = place; arrange(); } }, column.label));
    } else head.append(column.label);
    return head;
  });
  function fill() {
    if (!shown.length) {
      body.replaceChildren(make("tr", {}, make("td", { colspan: columns.length, class: "note" }, "none")));
      more.hidden = true;
      cue.refresh();
      return;
    }
    body.replaceChildren(...shown.slice(0, state.limit).map((row) => {
      const cells = row.map((value, i) => cellOf(value, columns[i], i === 0, mosts[i]));
      if (best === "highest") {
        const most = Math.max(...row.filter((value) => typeof value === "number"));
        row.forEach((value, i) => { if (value === most) cells[i].classList.add("best"); });
      }
      const line = make("tr", {}, ...cells);
      if (names >= 0 && row[names] === openedName) line.setAttribute("aria-current", "true");
      return line;
    }));
    more.hidden = shown.length <= state.limit;
    more.textContent = `show more (${count(shown.length - state.limit)} left)`;
    cue.refresh();
  }
  // Apply the search and the order that the reader chose.
  function arrange() {
    const wanted = state.wanted.toLowerCase(), place = state.sorted, sign = state.rising ? 1 : -1;
    shown = wanted ? rows.filter((row) => row.some((value) => String(value).toLowerCase().includes(wanted))) : rows;
    if (place !== null) {
      shown = [...shown].sort((a, b) => {
        const [x, y] = [a[place], b[place]];
        if (typeof x === "number" && typeof y === "number") return sign * (x - y);
        return sign * String(x).localeCompare(String(y), "en", { numeric: true });
      });
    }
    heads.forEach((head, i) => {
      if (i === place) head.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    status.textContent = wanted ? ` ${count(shown.length)} found` : "";
    fill();
  }
  const box = make("div"), status = make("span", { role: "status", class: "note" });
  if (search) {
    const field = make("input", {
      type: "search", placeholder: "search", "aria-label": `search in ${caption}`, value: state.wanted,
      oninput: () => { state.wanted = field.value; state.limit = ROWS_AT_ONCE; arrange(); },
    });
    box.append(field, status);
  }
  const table = make("table", {}, make("caption", { class: "unseen" }, caption), make("thead", {}, make("tr", {}, ...heads)), body);
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table), cue = scrollCue(scroll);
  box.append(cue.box, more);
  arrange();
  if (names >= 0) {
    featureTables.push((name, look) => {
      const place = shown.findIndex((row) => row[names] === name);
      if (look && place >= state.limit) state.limit = place + 1;
      fill();
      const line = body.querySelector("tr[aria-current]");
      if (look && line) line.scrollIntoView({ block: "center" });
      return place >= 0;
    });
  }
  return box;
}

// A shade at each side where more of a table can be scrolled into view, and a line that says so.
function scrollCue(scroll) {
  const words = make("p", { class: "note cue", "aria-hidden": "true" });
  const shaded = make("div", { class: "shaded" }, scroll), box = make("div", {}, shaded, words);
  const refresh = () => {
    const below = scroll.scrollHeight - scroll.clientHeight - scroll.scrollTop > 2;
    const right = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft > 2;
    shaded.classList.toggle("below", below);
    shaded.classList.toggle("right", right);
    words.textContent = [...(below ? ["more rows below"] : []), ...(right ? ["more columns on the right"] : [])].join(", ");
  };
  scroll.addEventListener("scroll", refresh, { passive: true });
  new ResizeObserver(refresh).observe(scroll);
  return { box, refresh };
}

// The numbers behind a picture, created when the reader opens them.
const unfolded = new Set();
function tableBehind(title, columns, rowsOf) {
  const details = make("details", {}, make("summary", {}, "the numbers"));
  const fill = () => {
    if (details.open) unfolded.add(title);
    else unfolded.delete(title);
    if (details.open && details.children.length === 1) {
      details.append(tableOf(columns, rowsOf(), { caption: `${title}: the numbers` }));
    }
  };
  details.addEventListener("toggle", fill);
  details.open = unfolded.has(title);
  return details;
}
