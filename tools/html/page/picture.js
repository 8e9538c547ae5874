// Pictures as files, for a slide or a paper: every picture is made as SVG without styles from
// outside; PNG is that SVG painted at twice its size.

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

function shortNumber(value) {
  return String(Math.round(value * 100) / 100);
}

/** What the pictures use of a canvas context, written as SVG. */
class SvgDrawing {
  constructor(width, height) {
    this.svg = svgElement("svg", {xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`,
                                  "font-family": FONT, "font-size": 12});
    this.state = {fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, dash: [], textAlign: "left", font: "12px", globalAlpha: 1};
    this.saved = [];
    this.path = [];
    for (const name of ["fillStyle", "strokeStyle", "lineWidth", "textAlign", "font", "globalAlpha", "lineJoin"]) {
      Object.defineProperty(this, name, {get: () => this.state[name], set: (value) => { this.state[name] = value; }});
    }
  }

  save() { this.saved.push({...this.state}); }
  restore() { this.state = this.saved.pop(); }
  setLineDash(dash) { this.state.dash = dash; }
  beginPath() { this.path = []; }

  moveTo(x, y) {
    this.at = [shortNumber(x), shortNumber(y)];
    this.path.push(`M${this.at.join(",")}`);
  }

  lineTo(x, y) {
    const [left, top] = this.at;
    this.at = [shortNumber(x), shortNumber(y)];
    this.path.push(this.at[1] === top ? `H${this.at[0]}` : this.at[0] === left ? `V${this.at[1]}` : `L${this.at.join(",")}`);
  }

  closePath() { this.path.push("Z"); }

  add(tag, attributes, text = null) {
    if (this.state.globalAlpha < 1) {
      attributes.opacity = this.state.globalAlpha;
    }
    this.svg.append(svgElement(tag, attributes, text));
  }

  outline() {
    const attributes = {fill: "none", stroke: this.state.strokeStyle, "stroke-width": this.state.lineWidth};
    if (this.state.dash.length > 0) {
      attributes["stroke-dasharray"] = this.state.dash.join(" ");
    }
    return attributes;
  }

  fill() { this.add("path", {d: this.path.join(""), fill: this.state.fillStyle}); }
  stroke() { this.add("path", {d: this.path.join(""), ...this.outline()}); }
  fillRect(x, y, width, height) { this.add("rect", {x: shortNumber(x), y: shortNumber(y), width: shortNumber(width), height: shortNumber(height), fill: this.state.fillStyle}); }

  words(text, x, y, attributes) {
    const anchor = {left: "start", center: "middle", right: "end"}[this.state.textAlign];
    this.add("text", {x: shortNumber(x), y: shortNumber(y), "text-anchor": anchor, "font-size": parseFloat(this.state.font), ...attributes}, text);
  }

  fillText(text, x, y) { this.words(text, x, y, {fill: this.state.fillStyle}); }
  strokeText(text, x, y) { this.words(text, x, y, this.outline()); }

  /** Puts a copy of an SVG of the page at (x, y). */
  place(svg, x, y) {
    const group = svgElement("g", {transform: `translate(${shortNumber(x)} ${shortNumber(y)})`});
    group.append(...standalone(svg).childNodes);
    this.svg.append(group);
  }
}

const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "text-anchor", "opacity"];

/** A copy that looks the same without the page's styles. */
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const originals = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of STYLES) {
      node.setAttribute(name, style.getPropertyValue(name));
    }
    for (const name of ["style", "class", "role", "tabindex"]) {
      node.removeAttribute(name);
    }
  });
  return copy;
}

/** The lines as the chart shows them, with their tracks. `graph` says where things are. */
function chartPicture(graph, rows, {xTicks, yTicks, drawLevels, drawLevelNames, axis}) {
  const area = graph.getArea();
  const top = byId("tracks").getBoundingClientRect().height;
  const host = byId("chart").getBoundingClientRect();
  const drawing = new SvgDrawing(host.width, top + area.y + area.h + 44);
  const inner = new SvgDrawing(host.width, area.y + area.h + 44);
  const [from, to] = graph.xAxisRange();
  drawAxes(inner, area, yTicks(0, graph.yAxisRange()[1], area.h), (v) => graph.toDomYCoord(v),
           xTicks(from, to, area.w), (v) => graph.toDomXCoord(v), axis.label);
  drawLevels(inner, area, graph);
  const near = rows.filter(([x], i) => (rows[i + 1] || [x])[0] >= from && (rows[i - 1] || [x])[0] <= to);
  const toX = (x) => Math.min(Math.max(graph.toDomXCoord(x), area.x), area.x + area.w);
  LINES.forEach((line, i) => {
    if (graph.visibility()[i]) {
      drawLine(inner, thinned(near.map((row) => [toX(row[0]), ...row[i + 1].map((v) => graph.toDomYCoord(v))])), line);
    }
  });
  drawLevelNames(inner, area, graph);
  drawing.place(byId("tracks"), 0, 0);
  const group = svgElement("g", {transform: `translate(0 ${top})`});
  group.append(...inner.svg.childNodes);
  drawing.svg.append(group);
  return drawing.svg;
}

/** Points, [x, low, high] in pixels, of which no two are less than half a pixel apart. */
function thinned(points) {
  const kept = [];
  for (const [x, low, high] of points) {
    const last = kept[kept.length - 1];
    if (last && x - last[0] < .5) {
      last[1] = Math.max(last[1], low);
      last[2] = Math.min(last[2], high);
    } else {
      kept.push([x, low, high]);
    }
  }
  return kept;
}

function drawLine(context, points, {key, dash, width}) {
  context.fillStyle = context.strokeStyle = colour(key);
  context.globalAlpha = .22;
  context.beginPath();
  stepThrough(context, points.map(([x, , high]) => [x, high]));
  stepBack(context, points.map(([x, low]) => [x, low]));
  context.closePath();
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = width;
  context.setLineDash(dash || []);
  context.beginPath();
  stepThrough(context, points.map(([x, , high]) => [x, high]));
  context.stroke();
}

/** A line that holds each y until the next x. */
function stepThrough(context, points) {
  points.forEach(([x, y], i) => {
    if (i === 0) {
      context.moveTo(x, y);
    } else {
      if (y !== points[i - 1][1]) context.lineTo(x, points[i - 1][1]);
      if (y !== points[i - 1][1] || i + 1 === points.length) context.lineTo(x, y);
    }
  });
}

/** The same from the right to the left, going on from where the path is. */
function stepBack(context, points) {
  for (let i = points.length - 1; i >= 0; --i) {
    const [x, y] = points[i];
    const right = points[i + 1];
    if (right && right[1] !== y) {
      context.lineTo(right[0], right[1]);
      context.lineTo(right[0], y);
    }
    if (!right || i === 0) context.lineTo(x, y);
  }
}

/** Names of values at the left and below, and a line across for each value. */
function drawAxes(context, area, yTicks, toY, xTicks, toX, label) {
  context.lineWidth = 1;
  context.setLineDash([]);
  context.font = "12px system-ui, sans-serif";
  context.strokeStyle = colour("rule");
  context.fillStyle = colour("quiet");
  context.textAlign = "right";
  for (const {v, label: text} of yTicks) {
    const y = Math.round(toY(v)) + .5;
    context.beginPath();
    context.moveTo(area.x, y);
    context.lineTo(area.x + area.w, y);
    context.stroke();
    context.fillText(text, area.x - 8, y + 4);
  }
  context.textAlign = "center";
  for (const {v, label: text} of xTicks) {
    context.fillText(text, toX(v), area.y + area.h + 16);
  }
  context.fillText(label, area.x + area.w / 2, area.y + area.h + 34);
}

/** A word that can be part of a file's name. */
function fileWord(text) {
  const plain = text.replace(/\.(pickle|pkl|hwt|trace)(\.(gz|xz|zst))?(?!\w)/g, "").replace(/[^\w.-]+/g, "-");
  return plain.slice(0, 60).replace(/^[-.]+|[-.]+$/g, "") || "run";
}

function offer(blob, name) {
  const link = element("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Painted on the colour of the page, with a margin. */
function framed(svg) {
  const margin = 12;
  const width = Math.ceil(Number(svg.getAttribute("width"))) + 2 * margin;
  const height = Math.ceil(Number(svg.getAttribute("height"))) + 2 * margin;
  const frame = svgElement("svg", {xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT, "font-size": 12});
  const group = svgElement("g", {transform: `translate(${margin} ${margin})`});
  const hatches = patterns().firstChild.cloneNode(true);
  for (const node of hatches.querySelectorAll("[style]")) {
    node.setAttribute("fill", colour(node.getAttribute("style").match(/--([\w-]+)/)[1]));
    node.removeAttribute("style");
  }
  group.append(...svg.childNodes);
  frame.append(hatches, svgElement("rect", {width, height, fill: colour("ground")}), group);
  return frame;
}

function saveSvg(svg, name) {
  offer(new Blob([new XMLSerializer().serializeToString(svg)], {type: "image/svg+xml"}), `${name}.svg`);
}

function savePng(svg, name) {
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = element("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => offer(blob, `${name}.png`), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
}

/** Adds the buttons of every picture below `part`: `makers` give an SVG by the name in
    data-picture. */
function startPictures(part, title, makers) {
  for (const host of part.querySelectorAll("[data-picture]")) {
    const name = host.dataset.picture;
    for (const [kind, save] of [["PNG", savePng], ["SVG", saveSvg]]) {
      const button = element("button", {type: "button", class: "save", "data-save": `${name}.${kind.toLowerCase()}`,
                                        "aria-label": `Save this picture as ${kind}`, title: `Save this picture as ${kind}`}, kind);
      button.addEventListener("click", () => save(framed(makers[name]()), `${fileWord(title)}-${name}`));
      host.append(button);
    }
  }
}
