// Numbers and elements: sizes in IEC units as the command line prints them, elements whose text is
// always set as text, since names come from files that nobody vouches for.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** The largest unit in which `bytes` is at least 1, as an index of UNITS. */
function unitOf(bytes) {
  let unit = 0;
  while (unit < UNITS.length - 1 && Math.abs(bytes) >= 1024 ** (unit + 1)) {
    ++unit;
  }
  return unit;
}

/** "2.50 GiB", "512 B". */
function sizeText(bytes) {
  const unit = unitOf(bytes);
  return unit === 0 ? `${bytes} B` : `${(bytes / 1024 ** unit).toFixed(2)} ${UNITS[unit]}`;
}

/** "12,345". */
function countText(n) {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** "0 operations", "1 block". */
function plural(n, word) {
  return `${countText(n)} ${word}${n === 1 ? "" : "s"}`;
}

/** "12.3 %"; of nothing it is "-". */
function percentText(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "-";
}

/** Values for an axis from 0 to `highest` in the unit that suits it: about `count` steps of 1, 2 or
    5 times a power of ten. */
function sizeTicks(highest, count) {
  const unit = 1024 ** unitOf(Math.max(highest, 1));
  const rough = Math.max(highest / unit / count, 1e-9);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * power >= rough) * power;
  const ticks = [];
  for (let i = 0; i * step * unit <= highest * 1.0001; ++i) {
    ticks.push(i * step * unit);
  }
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const label = (bytes) => bytes === 0 ? "0" : `${(bytes / unit).toFixed(digits)} ${UNITS[unitOf(Math.max(highest, 1))]}`;
  return ticks.map((v) => ({v, label: label(v)}));
}

/** A C++ function without what makes its name long; other names as they are. */
function shortName(name) {
  const plain = name.replace(/\(anonymous namespace\)::/g, "");
  return plain.includes("::") ? plain.replace(/\(.*$/, "()").replace(/^(void|bool|at::Tensor\w*) /, "") : plain;
}

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children.map((child) => (typeof child === "object" ? child : String(child))));
  return made;
}

/** The same in SVG. */
function svgElement(tag, attributes = {}, text = null) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  if (text !== null) {
    made.textContent = text;
  }
  return made;
}

/** The text shortened in its middle to `length` characters. */
function clipped(text, length) {
  if (text.length <= length) {
    return text;
  }
  const head = Math.ceil((length - 1) / 2);
  return `${text.slice(0, head)}\u2026${text.slice(text.length - (length - 1 - head))}`;
}

/** The current value of a colour variable of the style sheet. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
