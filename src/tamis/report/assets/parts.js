"use strict";
// Small makers of elements. Text is only ever set as text, so that a name cannot become markup.

const SVG = "http://www.w3.org/2000/svg";
const PALETTE = ["blue", "orange", "green", "purple", "red", "sky", "grey"];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

const colour = (name) => `var(--${name})`;
const paint = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const count = (n) => Number(n).toLocaleString("en");

function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

// --- addresses: report.html#x17 shows feature x17, report.html#kept-features a section ---------

// The feature that the address names, and the ids of the sections of this page.
let openedName = null, sectionIds = new Set();

// Half a character, as in a file name that is not UTF-8, cannot be a part of an address.
const wellFormed = (name) => name.replace(/\p{Surrogate}/gu, "\ufffd");

// A name that is also that of a section, or looks like a longer address, gets the longer address.
function addressOf(name) {
  const plain = name !== "" && !sectionIds.has(name) && !name.startsWith("feature=");
  return `#${plain ? "" : "feature="}${encodeURIComponent(wellFormed(name))}`;
}

// What an address names: a section or a feature, or only a feature if it has the longer form.
function namedIn(hash) {
  const long = hash.startsWith("#feature=");
  const text = hash.slice(long ? "#feature=".length : 1);
  try {
    return { long, name: decodeURIComponent(text) };
  } catch {
    return { long, name: text }; // written by hand, with a plain percent sign
  }
}

function cut(text, most) {
  const letters = Array.from(text);
  return letters.length <= most ? text : letters.slice(0, most - 1).join("") + "…";
}

// As much of a text as fits into a width in pixels, with an ellipsis if it was cut.
const ruler = document.createElement("canvas").getContext("2d");
function widthOf(text, weight = 400) {
  ruler.font = `${weight} 13px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}
function fitted(text, room, weight = 400) {
  if (widthOf(text, weight) <= room) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && widthOf(letters.join("") + "…", weight) > room) letters.pop();
  return letters.join("") + "…";
}

// Round numbers between two others: about a given count, or 1, 2 and 5 times powers of ten.
function roundNumbers(low, high, about) {
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((times) => power * times >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}
function roundPowers(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const times of [1, 2, 5]) {
      const value = times * 10 ** power;
      if (value >= low && value <= high) found.push(Number(value.toPrecision(3)));
    }
  }
  return found;
}

// Something that acts as a button inside a picture: reached with Tab, pressed with Enter or space.
function pressable(group, label, act) {
  group.setAttribute("role", "button");
  group.setAttribute("tabindex", "0");
  group.setAttribute("aria-label", label);
  group.addEventListener("click", act);
  group.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      act();
    }
  });
  return group;
}

// Draw now, and again whenever the width changes.
function whenSized(box, drawInto) {
  let width = 0;
  const again = () => {
    const now = Math.floor(box.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      drawInto(now);
    }
  };
  new ResizeObserver(again).observe(box);
  again();
}

function legend(entries) {
  return make("ul", { class: "legend" }, ...entries.map(([label, name]) =>
    make("li", {}, make("i", { style: `background:${colour(name)}`, "aria-hidden": "true" }), label)));
}
