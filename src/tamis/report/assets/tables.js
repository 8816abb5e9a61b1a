"use strict";
// Tables that sort and search; only the rows that can be seen at once are made.

const ROWS_AT_ONCE = 200;

function cellOf(value, column, opens) {
  const isNumber = column.kind === "count" || column.kind === "number";
  const cell = make("td", isNumber && typeof value === "number" ? { class: "n" } : {});
  if (opens) {
    cell.append(make("button", { class: "open", type: "button", onclick: () => openFeature(value) }, value));
  } else if (typeof value === "number" && typeof column.digits === "number") {
    cell.append(value.toLocaleString("en", { minimumFractionDigits: column.digits, maximumFractionDigits: column.digits }));
  } else if (typeof value === "number") cell.append(number(value));
  else cell.append(value === null || value === undefined ? "–" : String(value));
  return cell;
}

function tableOf(columns, rows, { opens = null, search = false, caption = "", best = "" } = {}) {
  let shown = rows, limit = ROWS_AT_ONCE, sorted = null, rising = true;
  const body = make("tbody"), more = make("button", { type: "button", onclick: () => { limit *= 10; fill(); } });
  const heads = columns.map((column, place) => {
    const head = make("th", { scope: "col" });
    if (column.kind === "count" || column.kind === "number") head.className = "n";
    if (column.label && rows.length > 1) {
      head.append(make("button", { type: "button", onclick: () => sortBy(place) }, column.label));
    } else head.append(column.label);
    return head;
  });
  function fill() {
    body.replaceChildren(...shown.slice(0, limit).map((row) => {
      const cells = row.map((value, i) => cellOf(value, columns[i], opens === i));
      if (best === "highest") {
        const most = Math.max(...row.filter((value) => typeof value === "number"));
        row.forEach((value, i) => { if (value === most) cells[i].classList.add("best"); });
      }
      return make("tr", {}, ...cells);
    }));
    more.hidden = shown.length <= limit;
    more.textContent = `show more (${count(shown.length - limit)} left)`;
  }
  function sortBy(place) {
    rising = sorted === place ? !rising : true;
    sorted = place;
    const sign = rising ? 1 : -1;
    shown = [...shown].sort((a, b) => {
      const [x, y] = [a[place], b[place]];
      if (typeof x === "number" && typeof y === "number") return sign * (x - y);
      return sign * String(x).localeCompare(String(y), "en", { numeric: true });
    });
    heads.forEach((head, i) => {
      if (i === place) head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    fill();
  }
  const box = make("div");
  if (search) {
    const status = make("span", { role: "status", class: "note" });
    const field = make("input", {
      type: "search", placeholder: "search", "aria-label": `search in ${caption}`,
      oninput: () => {
        const wanted = field.value.toLowerCase();
        shown = rows.filter((row) => row.some((value) => String(value).toLowerCase().includes(wanted)));
        status.textContent = wanted ? ` ${count(shown.length)} found` : "";
        limit = ROWS_AT_ONCE;
        fill();
      },
    });
    box.append(field, status);
  }
  const table = make("table", {}, make("caption", { hidden: "" }, caption), make("thead", {}, make("tr", {}, ...heads)), body);
  box.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table), more);
  fill();
  return box;
}

// The numbers behind a picture, created when the reader opens them.
function tableBehind(title, columns, rowsOf) {
  const details = make("details", {}, make("summary", {}, "the numbers"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) {
      details.append(tableOf(columns, rowsOf(), { caption: title }));
    }
  });
  return details;
}
