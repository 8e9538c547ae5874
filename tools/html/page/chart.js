// Lines over time (dygraphs): each line is the highest value of its stretch of operations, the band
// below it reaches down to the lowest, so that nothing is lost however many operations a point
// stands for. The cursor, zoom and pan answer to mouse, buttons and keys alike.

const LINES = [
  {key: "reserved", label: "reserved", dash: null, width: 2, meaning: "taken from the device"},
  {key: "active", label: "active", dash: [2, 3], width: 1.6, meaning: "allocated, or freed and waiting for other streams"},
  {key: "allocated", label: "allocated", dash: null, width: 2.4, meaning: "in blocks handed out and not yet freed"},
  {key: "requested", label: "requested", dash: [7, 4], width: 1.2, meaning: "what the program asked for, before rounding"},
];

/** The rows that dygraphs draws: [x, [low, high, high] per line]. */
function chartRows(data, axis) {
  const per = data.curves.operations_per_bucket;
  const columns = LINES.map(({key}) => {
    let high = 0;
    return data.curves[key].high.map((difference, i) => {
      high += difference;
      return [high - data.curves[key].low[i], high, high];
    });
  });
  const rows = columns[0].map((_, i) => [axis.toX(i * per), ...columns.map((column) => column[i])]);
  if (rows.length > 0) {  // the last stretch is as wide as the others
    rows.push([axis.toX(Math.max(data.operations, rows.length)), ...rows[rows.length - 1].slice(1)]);
  }
  return rows;
}

function highestOf(rows, line) {
  return rows.reduce((highest, row) => Math.max(highest, row[line + 1][2]), 0);
}

/** Whether a line would lie on that of allocated bytes, from which it cannot be told apart. */
function isHidden(rows, line) {
  const allocated = LINES.findIndex(({key}) => key === "allocated");
  const least = highestOf(rows, 0) / 300;
  return ["active", "requested"].includes(LINES[line].key) &&
      rows.every((row) => Math.abs(row[line + 1][2] - row[allocated + 1][2]) < least);
}

/** Lines across the chart: what cannot be undercut, what cannot be exceeded. */
function levelsOf(data) {
  const levels = [];
  if (data.available !== null) {
    levels.push({label: "limit", bytes: data.available, dash: [10, 4], paint: "bad",
                 meaning: "what the allocator could take"});
  }
  for (const bound of data.bounds) {
    levels.push({...bound, dash: bound.key === "live" ? [1, 3] : [8, 3, 2, 3], paint: "bound"});
  }
  return levels;
}

/** Draws the lines; `actions.chooseNear(operation)` is called when the chart is clicked,
    `actions.moved(view)` whenever what is shown may have changed. */
function startChart(data, axes, actions) {
  const host = byId("chart");
  let axis = axes[0];
  let rows = chartRows(data, axis);
  const levels = levelsOf(data);
  let end = rows[rows.length - 1][0];
  const per = data.curves.operations_per_bucket;
  const top = highestOf(rows, 0);
  const shown = levels.filter(({bytes}) => bytes <= Math.max(top, 1) * 1.7);
  const highest = Math.max(top, 1, ...shown.map(({bytes}) => bytes)) * 1.08;
  let cursor = Math.max(0, rows.length - 2);

  function colours() {
    return {
      colors: LINES.map(({key}) => colour(key)),
      axisLineColor: colour("quiet"),
      gridLineColor: colour("rule"),
      rangeSelectorPlotStrokeColor: colour("reserved"),
      rangeSelectorPlotFillColor: colour("quiet"),
      rangeSelectorPlotFillGradientColor: colour("band"),
      rangeSelectorBackgroundStrokeColor: colour("rule"),
      rangeSelectorForegroundStrokeColor: colour("quiet"),
    };
  }

  function drawLevels(context, area, graph) {
    context.save();
    for (const level of shown) {
      const y = Math.round(graph.toDomYCoord(level.bytes)) + .5;
      context.strokeStyle = colour(level.paint);
      context.lineWidth = 1.5;
      context.setLineDash(level.dash);
      context.beginPath();
      context.moveTo(area.x, y);
      context.lineTo(area.x + area.w, y);
      context.stroke();
    }
    context.restore();
  }

  /** Levels less than two pixels apart share a name. */
  function levelNames(graph) {
    const names = [];
    for (const level of [...shown].sort((a, b) => b.bytes - a.bytes)) {
      const y = graph.toDomYCoord(level.bytes);
      const last = names[names.length - 1];
      if (last && Math.abs(last.y - y) < 2) {
        last.text = `${level.label}, ${last.text}`;
      } else {
        names.push({y, paint: level.paint, text: `${level.label} ${sizeText(level.bytes)}`});
      }
    }
    return names;
  }

  /** The span in pixels that the curve of reserved covers in a tenth of the range at one side. */
  function covered(graph, from, to) {
    const ys = rows.filter(([x]) => x >= from && x <= to).map((row) => graph.toDomYCoord(row[1][1]));
    return ys.length > 0 ? [Math.min(...ys) - 4, Math.max(...ys) + 4] : [-9, -9];
  }

  /** Above or below its line, at the left or at the right: where neither another name nor the
      curve of reserved is in the way; with a rim in the colour of the ground in any case. */
  function drawLevelNames(context, area, graph) {
    const [from, to] = graph.xAxisRange();
    const curve = {left: covered(graph, from, from + (to - from) * .17),
                   right: covered(graph, to - (to - from) * .17, to)};
    const placed = [];
    context.save();
    context.font = "12px system-ui, sans-serif";
    context.lineJoin = "round";
    const names = levelNames(graph);
    for (const {y, paint, text} of names) {
      const places = [];
      for (const side of ["left", "right"]) {
        for (const base of [y - 5, y + 14]) {
          const inside = base - 10 >= area.y && base + 3 <= area.y + area.h;
          const crowded = placed.some((other) => other.side === side && Math.abs(other.base - base) < 14);
          const crossed = base + 3 > curve[side][0] && base - 10 < curve[side][1];
          const struck = names.some((other) => other.y !== y && other.y > base - 12 && other.y < base + 4);
          places.push({side, base, cost: (inside ? 0 : 100) + (crowded ? 50 : 0) + (crossed ? 5 : 0) + (struck ? 5 : 0) + (base > y ? 1 : 0)});
        }
      }
      const best = places.reduce((a, b) => b.cost < a.cost ? b : a);
      placed.push(best);
      const x = best.side === "left" ? area.x + 8 : area.x + area.w - 8;
      context.textAlign = best.side;
      context.strokeStyle = colour("ground");
      context.lineWidth = 4;
      context.strokeText(text, x, best.base);
      context.fillStyle = colour(paint);
      context.fillText(text, x, best.base);
    }
    context.restore();
  }

  /** What is shown: where, from which x to which, and on which axis. */
  function viewOf(graph) {
    const area = graph.getArea();
    const [from, to] = graph.xAxisRange();
    return {area, axis, from, to, toPixel: (operation) => area.x + area.w * (axis.toX(operation) - from) / Math.max(to - from, 1e-12)};
  }

  const line = element("div", {class: "cursor-line", "aria-hidden": "true"});

  function placeCursor(graph) {
    const area = graph.getArea();
    const x = graph.toDomXCoord(rows[cursor][0]);
    const inside = x >= area.x - 1 && x <= area.x + area.w + 1;
    line.style.cssText = `position:absolute;pointer-events:none;width:0;border-left:1.5px solid ${colour("focus")};` +
        `left:${x}px;top:${area.y}px;height:${area.h}px;display:${inside ? "block" : "none"}`;
  }

  const xTicks = (from, to, pixels) => axis.ticks(from, to, pixels);

  const yTicks = (from, to, pixels) =>
      sizeTicks(to, Math.max(2, Math.floor(pixels / 45))).filter(({v}) => v >= from);

  const graph = new Dygraph(host, rows, {
    labels: ["operation", ...LINES.map(({label}) => label)],
    customBars: true,
    stepPlot: true,
    fillAlpha: .22,
    legend: "never",
    showLabelsOnHighlight: false,
    highlightCircleSize: 0,
    showRangeSelector: true,
    rangeSelectorHeight: 34,
    rangeSelectorPlotLineWidth: 1,
    rangeSelectorAlpha: .55,
    visibility: LINES.map((_, i) => !isHidden(rows, i)),
    xlabel: axis.label,
    xLabelHeight: 18,
    dateWindow: [0, end],
    valueRange: [0, highest],
    animatedZooms: false,
    interactionModel: {...Dygraph.defaultInteractionModel, dblclick: () => reset()},
    axes: {
      x: {ticker: xTicks, drawGrid: false},
      y: {ticker: yTicks, axisLabelWidth: 72},
    },
    series: Object.fromEntries(LINES.map(({label, dash, width, key}) => [
      label, {strokePattern: dash, strokeWidth: width, showInRangeSelector: key === "reserved"}])),
    underlayCallback: drawLevels,
    drawCallback: (drawn) => {
      drawLevelNames(drawn.canvas_.getContext("2d"), drawn.getArea(), drawn);
      if (line.isConnected) {
        placeCursor(drawn);
      }
      [host.dataset.from, host.dataset.to] = drawn.xAxisRange().map((x) => Math.round(axis.toOperation(x)));
      actions.moved(viewOf(drawn));
    },
    highlightCallback: (event, x, points, row) => setCursor(row),
    clickCallback: (event, x) => actions.chooseNear(axis.toOperation(x)),
    ...colours(),
  });
  host.append(line);
  for (const picture of host.querySelectorAll("canvas, img")) {
    picture.setAttribute("aria-hidden", "true");
  }

  const cells = drawLegend(data, rows, levels, graph);
  placeCursor(graph);

  function setCursor(row, announced = false) {
    cursor = Math.min(Math.max(row, 0), rows.length - 1);
    const from = Math.min(cursor * per, data.operations);
    const until = Math.min(from + per, data.operations) - 1;
    host.dataset.cursor = from;
    const values = LINES.map((_, i) => sizeText(rows[cursor][i + 1][2]));
    values.forEach((text, i) => { cells[i].textContent = text; });
    const place = per > 1 && until > from ? `operations ${countText(from)} to ${countText(until)}`
                                          : `operation ${countText(Math.min(from, Math.max(data.operations - 1, 0)))}`;
    const where = axes.length > 1 ? `${place}, ${secondsText(axes[1].toX(from), axes[1].toX(data.operations))}` : place;
    byId("cursor-heading").textContent = `At ${where}`;
    if (announced) {
      byId("cursor-live").textContent =
          `${where}: ${LINES.map(({label}, i) => `${label} ${values[i]}`).join(", ")}`;
    }
    placeCursor(graph);
  }

  function show(from, to) {
    const width = Math.min(Math.max(to - from, end * Math.min(1, 6 / rows.length)), end);
    const begin = Math.min(Math.max(from, 0), end - width);
    graph.updateOptions({dateWindow: [begin, begin + width]});
  }

  function pan(share) {
    const [from, to] = graph.xAxisRange();
    show(from + share * (to - from), to + share * (to - from));
  }

  /** Around the cursor if it can be seen, else around the middle. */
  function zoom(factor) {
    const [from, to] = graph.xAxisRange();
    const x = rows[cursor][0];
    const centre = x >= from && x <= to ? x : (from + to) / 2;
    show(centre - (centre - from) * factor, centre + (to - centre) * factor);
  }

  function reset() {
    graph.updateOptions({dateWindow: [0, end], valueRange: [0, highest]});
  }

  /** The same operations on another axis. */
  function useAxis(chosen) {
    const [from, to] = graph.xAxisRange().map((x) => chosen.toX(axis.toOperation(x)));
    axis = chosen;
    rows = chartRows(data, axis);
    end = rows[rows.length - 1][0];
    const isWhole = to - from >= end * .999 || to <= from;
    graph.updateOptions({file: rows, xlabel: axis.label, dateWindow: isWhole ? [0, end] : [from, to]});
    placeCursor(graph);
  }

  /** Moves the cursor by pixels' worth of rows, and the shown range with it. */
  function moveCursor(direction) {
    const [from, to] = graph.xAxisRange().map((x) => axis.toOperation(x));
    setCursor(cursor + direction * Math.max(1, Math.round((to - from) / per / 200)), true);
    reveal(rows[cursor][0]);
  }

  function reveal(x) {
    const [from, to] = graph.xAxisRange();
    if (x < from || x > to) {
      show(x - (to - from) / 2, x + (to - from) / 2);
    }
  }

  function setCursorAt(operation, announced) {
    setCursor(Math.floor(operation / per), announced);
    reveal(rows[cursor][0]);
  }

  const commands = {
    left: () => pan(-.25), right: () => pan(.25), in: () => zoom(.5), out: () => zoom(2), reset,
  };
  for (const button of document.querySelectorAll("[data-chart]")) {
    button.addEventListener("click", commands[button.dataset.chart]);
  }
  const keys = {
    "ArrowLeft": () => moveCursor(-1), "ArrowRight": () => moveCursor(1),
    "Shift+ArrowLeft": commands.left, "Shift+ArrowRight": commands.right,
    "+": commands.in, "=": commands.in, "-": commands.out, "0": reset,
    "Home": () => { setCursor(0, true); reveal(0); },
    "End": () => { setCursor(rows.length - 1, true); reveal(end); },
    "[": () => actions.step(-1), "]": () => actions.step(1),
    "Enter": () => actions.chooseNear(cursor * per),
  };
  host.addEventListener("keydown", (event) => {
    const arrow = event.shiftKey && event.key.startsWith("Arrow");
    const command = keys[arrow ? `Shift+${event.key}` : event.key];
    if (command && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      command();
    }
  });
  onTheme(() => { graph.updateOptions(colours()); });
  setCursor(cursor);
  return {setCursorAt, useAxis, commands, destroy: () => graph.destroy(), redraw: () => actions.moved(viewOf(graph)),
          picture: () => chartPicture(graph, rows, {xTicks, yTicks, drawLevels, drawLevelNames, axis})};
}

/** A short piece of a line, as it is drawn in the chart. */
function lineSample({dash, width}, paint) {
  const svg = svgElement("svg", {width: 34, height: 10, "aria-hidden": "true"});
  svg.append(svgElement("line", {x1: 0, x2: 34, y1: 5, y2: 5, "stroke-width": (width || 1.5) + .5,
                                 "stroke-dasharray": (dash || []).join(" "),
                                 style: `stroke: var(--${paint})`}));
  return svg;
}

/** The table of lines; returns the cells that show the values at the cursor. */
function drawLegend(data, rows, levels, graph) {
  const body = byId("legend");
  const cells = LINES.map((line, i) => {
    const hidden = isHidden(rows, i);
    const box = element("input", {type: "checkbox", ...(hidden ? {} : {checked: ""}), "aria-label": `show ${line.label}`});
    box.addEventListener("change", () => graph.setVisibility(i, box.checked));
    const cell = element("td", {class: "number"});
    body.append(element("tr", {},
        element("td", {}, element("label", {}, box, lineSample(line, line.key), line.label)),
        cell, element("td", {class: "number"}, sizeText(data.peaks[line.key])),
        element("td", {}, hidden ? `${line.meaning} (lies on allocated: hidden)` : line.meaning)));
    return cell;
  });
  for (const level of levels) {
    const name = element("label", {}, element("span", {class: "spacer"}), lineSample(level, level.paint), level.label);
    body.append(element("tr", {}, element("td", {}, name), element("td", {class: "number"}, ""),
                        element("td", {class: "number"}, sizeText(level.bytes)),
                        element("td", {}, level.meaning)));
  }
  return cells;
}
