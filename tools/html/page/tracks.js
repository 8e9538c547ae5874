// The strip above the chart, on the same axis: steps, phases, marks, and the key moments as
// numbered pins, with their names where there is room, that choose the segment map.

const LANE = 20;

const MARKS = {
  out_of_memory: {name: "out of memory", symbol: (x, y) => svgElement("path", {class: "mark-oom", d: `M${x - 6},${y - 5}h12l-6,11z`})},
  retry: {name: "retry after releasing the cache", symbol: (x, y) => svgElement("path", {class: "mark-retry", d: `M${x},${y - 5}l5,5l-5,5l-5,-5z`})},
  empty_cache: {name: "empty_cache", symbol: (x, y) => svgElement("circle", {class: "mark-cache", cx: x, cy: y, r: 4})},
};

/** [begin, end, name] of each stretch, the last until `end`. */
function stretches(begins, end, name) {
  return begins.map(([from, value], i) =>
      [from, i + 1 < begins.length ? begins[i + 1][0] : end, name(value)]);
}

/** Positions at least `gap` apart, as near to `wanted` (ascending) as that allows, within bounds. */
function apart(wanted, gap, from, to) {
  const placed = [...wanted];
  for (let i = 0; i < placed.length; ++i) {
    placed[i] = Math.max(placed[i], i > 0 ? placed[i - 1] + gap : from);
  }
  for (let i = placed.length - 1; i >= 0; --i) {
    placed[i] = Math.min(placed[i], i + 1 < placed.length ? placed[i + 1] - gap : to);
  }
  return placed;
}

/** Returns draw(view, chosen), to be called whenever the chart has moved. */
function startTracks(data, choose) {
  const svg = byId("tracks");
  const steps = stretches(data.steps, data.operations, (step) => `step ${step}`);
  const phases = stretches(data.phases, data.operations, (phase) => phase);
  const lanes = [];
  if (steps.length > 0) lanes.push("steps");
  if (phases.length > 0) lanes.push("phases");
  if (data.marks.length > 0) lanes.push("marks");
  lanes.push("moments");
  svg.setAttribute("height", lanes.length * LANE + 8);

  function drawBands(list, y, area, toX) {
    const left = area.x;
    const right = area.x + area.w;
    list.forEach(([from, to, name], i) => {
      const begin = Math.max(toX(from), left);
      const width = Math.min(toX(to), right) - begin;
      if (width < .7) {
        return;
      }
      const group = svgElement("g");
      group.append(svgElement("title", {}, `${name}: operations ${countText(from)} to ${countText(Math.max(from, to - 1))}`));
      group.append(svgElement("rect", {class: i % 2 ? "band odd" : "band", x: begin, y: y + 1, width, height: LANE - 3}));
      const short = name.replace(/^step /, "");
      const text = name.length * 6.3 + 8 <= width ? name : short.length * 6.3 + 6 <= width ? short : "";
      if (text) {
        group.append(svgElement("text", {x: begin + width / 2, y: y + LANE - 6, "text-anchor": "middle"}, text));
      }
      svg.append(group);
    });
  }

  function drawMarks(y, area, toX) {
    for (const [kind, at, bytes] of data.marks) {
      const x = toX(at);
      if (x < area.x - 1 || x > area.x + area.w + 1) {
        continue;
      }
      const symbol = MARKS[kind].symbol(x, y + LANE / 2);
      const what = kind === "empty_cache" ? `released ${sizeText(bytes)}` : `asked for ${sizeText(bytes)}`;
      symbol.append(svgElement("title", {}, `${MARKS[kind].name} at operation ${countText(at)}: ${what}`));
      svg.append(symbol);
    }
  }

  /** A name at the right of its pin, else at its left, else none; returns where it or the pin ends. */
  function nameBeside(pin, name, x, y, taken, next) {
    const width = name.length * 6.1;
    const right = x + 13 + width <= next;
    if (right || x - 13 - width >= taken) {
      pin.append(svgElement("text", {class: right ? "name" : "name before", x: right ? x + 13 : x - 13, y: y + LANE / 2 + 3.8}, name));
    }
    return right ? x + 13 + width : x + 11;
  }

  function drawPins(y, area, toX, chosen) {
    const seen = data.moments.map((moment, i) => ({moment, i, x: toX(moment.operation)}))
        .filter(({x}) => x >= area.x - 1 && x <= area.x + area.w + 1);
    const xs = apart(seen.map(({x}) => x), 21, area.x + 9, area.x + area.w - 8);
    let taken = area.x;
    seen.forEach(({moment, i, x}, k) => {
      const pin = svgElement("g", {class: i === chosen ? "pin chosen" : "pin", role: "button", tabindex: "0",
                                   "data-moment": i, "aria-pressed": String(i === chosen),
                                   "aria-label": `Key moment ${i + 1}: ${momentName(moment)}`});
      pin.append(svgElement("title", {}, `${i + 1}: ${momentName(moment)}`));
      pin.append(svgElement("line", {x1: xs[k], x2: x, y1: y + LANE / 2 + 8, y2: y + LANE + 8}));
      pin.append(svgElement("circle", {cx: xs[k], cy: y + LANE / 2, r: 9}));
      pin.append(svgElement("text", {x: xs[k], y: y + LANE / 2 + 3.8}, String(i + 1)));
      taken = nameBeside(pin, momentName(moment), xs[k], y, taken, k + 1 < xs.length ? xs[k + 1] - 11 : area.x + area.w);
      pin.addEventListener("click", () => choose(i));
      pin.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose(i);
          svg.querySelector(`[data-moment="${i}"]`).focus();
        }
      });
      svg.append(pin);
    });
  }

  return ({area, toPixel}, chosen) => {
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.moment : undefined;
    svg.replaceChildren();
    lanes.forEach((lane, i) => {
      svg.append(svgElement("text", {class: "lane", x: area.x - 8, y: i * LANE + LANE - 6, "text-anchor": "end"}, lane));
    });
    if (steps.length > 0) drawBands(steps, lanes.indexOf("steps") * LANE, area, toPixel);
    if (phases.length > 0) drawBands(phases, lanes.indexOf("phases") * LANE, area, toPixel);
    if (data.marks.length > 0) drawMarks(lanes.indexOf("marks") * LANE, area, toPixel);
    drawPins(lanes.indexOf("moments") * LANE, area, toPixel, chosen);
    if (focused !== undefined) {
      const again = svg.querySelector(`[data-moment="${focused}"]`);
      if (again) again.focus({preventScroll: true});
    }
  };
}
