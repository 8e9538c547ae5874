// The segment map: a row per segment, its blocks to scale; segments that look alike share a row. States differ by pattern: filled =
// active, hatched = waiting for other streams, empty = free, half filled = several narrow blocks,
// as high as their used share.

const CELL_NAMES = ["free", "active", "pending", "several blocks"];
const CELL_CLASSES = ["free", "active", "pending", "mixed"];

const MOMENT_NAMES = {
  peak_reserved: "peak reserved",
  peak_allocated: "peak allocated",
  most_fragmented: "most fragmented",
  out_of_memory: "out of memory",
  step_end: "end of step",
  end: "end",
};

/** "peak reserved and most unused". */
function momentName(moment) {
  const names = moment.kinds.map((kind) => kind === "step_end" && moment.step !== undefined
      ? `end of step ${moment.step}` : MOMENT_NAMES[kind]);
  return names.length < 3 ? names.join(" and ")
                          : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** Of one of the segments that share a row. */
function sizeOf(row) {
  return row.size / row.segments;
}

function rowKind(row) {
  const parts = [row.pool];
  if (row.expandable) parts.push("expandable");
  if (row.stream !== 0) parts.push(`stream ${row.stream}`);
  if (row.owner) parts.push(`pool ${row.owner}`);
  return parts.join(", ");
}

function patterns() {
  const svg = svgElement("svg", {width: 0, height: 0, style: "position:absolute", "aria-hidden": "true"});
  const defs = svgElement("defs");
  const hatch = svgElement("pattern", {id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"});
  hatch.append(svgElement("rect", {width: 6, height: 6, style: "fill: var(--block-free)"}),
               svgElement("rect", {width: 3, height: 6, style: "fill: var(--block-pending)"}));
  defs.append(hatch);
  svg.append(defs);
  return svg;
}

/** The rectangles of one cell, `width` pixels wide. */
function cellShapes(cell, x, width, height) {
  const [kind, size, used] = cell;
  const rect = svgElement("rect", {class: `cell ${CELL_CLASSES[kind]}`, x, y: 0, width, height});
  if (kind === 2) {
    rect.setAttribute("fill", "url(#hatch)");
  } else if (kind === 3) {
    rect.setAttribute("style", "fill: var(--block-free)");
    const part = height * used / size;
    return [rect, svgElement("rect", {class: "cell-used", x, y: height - part, width, height: part})];
  }
  return [rect];
}

function drawMapLegend() {
  const list = byId("map-legend");
  const sample = (cell) => {
    const svg = svgElement("svg", {width: 30, height: 14, "aria-hidden": "true"});
    svg.append(...cellShapes(cell, 0, 30, 14), svgElement("rect", {class: "edge", x: .5, y: .5, width: 29, height: 13, fill: "none", stroke: "currentColor", "stroke-width": .6}));
    return svg;
  };
  list.append(element("li", {}, sample([1, 1, 1]), "active"),
              element("li", {}, sample([2, 1, 1]), "freed, waiting for other streams"),
              element("li", {}, sample([0, 1]), "free"),
              element("li", {}, sample([3, 10, 6]), "several narrow blocks: as high as their used share"));
}

/** Returns show(moment number). */
function startSegments(data) {
  const host = byId("rows");
  const info = byId("block-info");
  const order = byId("map-order");
  const width = byId("map-width");
  let current = 0;
  let picked = null;

  drawMapLegend();

  function describeRow(row) {
    const what = row.segments > 1 ? `${countText(row.segments)} ${row.pool} segments alike, one of them at ${row.address}`
                                  : `${row.pool} segment at ${row.address}`;
    const size = row.segments > 1 ? `${sizeText(sizeOf(row))} each, ${sizeText(row.size)} together` : sizeText(row.size);
    return `${what}${row.expandable ? " (expandable)" : ""}, ${size}, stream ${row.stream}` +
        `${row.owner ? `, private pool ${row.owner}` : ""}: ${sizeText(row.active)} active, ` +
        `${row.pending > 0 ? `${sizeText(row.pending)} pending, ` : ""}${sizeText(row.free)} free` +
        `${row.free > 0 ? `, largest free block ${sizeText(row.largest_free)}` : ""}.`;
  }

  function describeCell(row, i) {
    const [kind, size, used, site, blocks] = row.cells[i];
    const offset = row.cells.slice(0, i).reduce((sum, cell) => sum + cell[1], 0);
    const where = ` at +${sizeText(offset)} of ${row.segments > 1 ? `each of ${countText(row.segments)} segments` : row.address}`;
    if (blocks > 1) {
      return `${plural(blocks, "block")}, ${sizeText(size)} together${where}: ${sizeText(used || 0)} in use.`;
    }
    if (kind === 0) {
      return `Free block of ${sizeText(size)}${where}.`;
    }
    const from = site >= 0 ? ` ${row.segments > 1 ? `In ${row.address} allocated` : "Allocated"} by ${data.sites[site]}.` : "";
    return `${kind === 1 ? "Active" : "Pending"} block of ${sizeText(size)} (asked for ${sizeText(used)})${where}.${from}`;
  }

  function pick(line, row, i) {
    if (picked) {
      picked.classList.remove("picked");
    }
    picked = null;
    if (i === null) {
      info.textContent = describeRow(row);
      return;
    }
    picked = line.querySelectorAll(".cell")[i];
    picked.classList.add("picked");
    line.dataset.cell = i;
    info.textContent = describeCell(row, i);
  }

  function cellAt(line, row, pixel) {
    const pixels = line.querySelector(".edge").getBoundingClientRect();
    let rest = (pixel - pixels.left) / Math.max(pixels.width, 1) * sizeOf(row);
    for (let i = 0; i < row.cells.length; ++i) {
      rest -= row.cells[i][1];
      if (rest < 0) {
        return i;
      }
    }
    return row.cells.length - 1;
  }

  function drawRow(row, pixels, largest) {
    const share = width.value === "full" ? 1 : sizeOf(row) / largest;
    const wide = Math.max(2, pixels * share);
    const line = element("div", {class: row.expandable ? "row expandable" : "row", tabindex: "-1", role: "option", "aria-selected": "false",
                                 "aria-label": describeRow(row)});
    line.append(element("span", {class: "label"},
        element("span", {class: "times"}, row.segments > 1 ? `${countText(row.segments)} \u00d7` : ""),
        element("span", {class: "size"}, sizeText(sizeOf(row))),
        element("span", {class: "kind", title: `${row.address} ${rowKind(row)}`}, rowKind(row)),
        element("span", {class: "share", title: "share in use"}, percentText(row.size - row.free, row.size))));
    const svg = svgElement("svg", {"aria-hidden": "true"});
    let x = 0;
    for (const cell of row.cells) {
      const cellWidth = wide * cell[1] / sizeOf(row);
      svg.append(...cellShapes(cell, x, cellWidth, 20));
      x += cellWidth;
    }
    svg.append(svgElement("rect", {class: "edge", x: 0, y: 0, width: wide, height: 20}));
    line.append(svg);
    svg.addEventListener("mousemove", (event) => pick(line, row, cellAt(line, row, event.clientX)));
    line.addEventListener("focus", () => pick(line, row, null));
    line.addEventListener("keydown", (event) => onKey(event, line, row));
    return line;
  }

  function onKey(event, line, row) {
    const lines = [...host.querySelectorAll(".row")];
    const at = lines.indexOf(line);
    const cell = line.dataset.cell === undefined ? -1 : Number(line.dataset.cell);
    const toRow = (i) => {
      const next = lines[Math.min(Math.max(i, 0), lines.length - 1)];
      line.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    };
    const moves = {
      ArrowDown: () => toRow(at + 1), ArrowUp: () => toRow(at - 1),
      Home: () => toRow(0), End: () => toRow(lines.length - 1),
      ArrowRight: () => pick(line, row, Math.min(cell + 1, row.cells.length - 1)),
      ArrowLeft: () => pick(line, row, Math.max(cell - 1, 0)),
    };
    if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]();
    }
  }

  const orders = {
    address: () => 0,
    size: (a, b) => sizeOf(b) - sizeOf(a),
    free: (a, b) => b.free / b.segments - a.free / a.segments || sizeOf(b) - sizeOf(a),
  };

  function drawRests(rests) {
    const total = rests.reduce((sum, rest) => sum + rest.segments, 0);
    const table = element("table");
    table.append(tableHead(["Segments without a row of their own", "#Segments", "#Reserved", "#Active", "#Pending", "#Free"]));
    const body = element("tbody");
    for (const rest of rests) {
      body.append(tableRow([rowKind(rest), countText(rest.segments), sizeText(rest.size), sizeText(rest.active),
                            sizeText(rest.pending), sizeText(rest.free)], [1, 2, 3, 4, 5]));
    }
    table.append(body);
    return total > 0 ? element("div", {class: "rests scroll"}, table) : "";
  }

  function draw() {
    const {map} = data.moments[current] || {map: {rows: [], rests: []}};  // a state without a history
    const rows = [...map.rows].sort(orders[order.value]);
    const largest = Math.max(1, ...rows.map(sizeOf));
    picked = null;
    info.textContent = "Point at a block to see its size and who asked for it.";
    host.replaceChildren();
    const probe = element("div", {class: "row"}, element("span", {class: "label"}), element("div"));
    host.append(probe);
    const pixels = probe.lastChild.getBoundingClientRect().width || 600;
    probe.remove();
    for (const row of rows) {
      host.append(drawRow(row, pixels, largest));
    }
    if (rows.length > 0) {
      host.firstChild.tabIndex = 0;
    } else {
      host.append(data.moments.length > 0 ? "Nothing is reserved at this moment." : "The file has no history, so there is no moment to show.");
    }
    byId("rests").replaceChildren(drawRests(map.rests));
  }

  for (const select of [order, width]) {
    select.addEventListener("change", draw);
  }
  onResize(draw);
  return {
    show: (moment) => {
      current = moment;
      draw();
    },
    picture: () => mapPicture([...host.querySelectorAll(".row")]),
  };
}

/** The rows as the page shows them, with their labels. */
function mapPicture(lines) {
  const labels = 190;
  const line = 24;
  const wide = Math.max(100, ...lines.map((row) => row.querySelector("svg").getBoundingClientRect().width));
  const drawing = new SvgDrawing(labels + wide, Math.max(lines.length, 1) * line);
  lines.forEach((row, i) => {
    const words = [...row.querySelectorAll(".label > span")].map((span) => span.textContent);
    drawing.fillStyle = colour("ink");
    drawing.textAlign = "right";
    drawing.fillText(`${words[0]} ${words[1]}`.trim(), 95, i * line + 15);
    drawing.textAlign = "left";
    drawing.fillStyle = colour("quiet");
    drawing.fillText(clipped(words[2], 13), 103, i * line + 15);
    drawing.place(row.querySelector("svg"), labels, i * line);
  });
  return drawing.svg;
}
