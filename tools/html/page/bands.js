// Tensors over time: every block as a band on a canvas, older ones below, on the axis and the range
// of the chart above; or the same as areas by category or call site. A column is the state of the
// run at the highest moment of some operations, so what is drawn adds up to the allocated bytes.

const HUES = 12;
const STACK_SHOWN = 60;

/** What lives longest at the bottom. */
const CATEGORY_ORDER = ["parameter", "optimizer_state", "buffer", "gradient", "input", "weight_copy", "activation",
                        "temporary", "workspace", "communication", "unknown"];

/** The first column whose moment is not before `operation`. */
function columnFrom(moments, operation) {
  let low = 0;
  for (let high = moments.length; low < high;) {
    const middle = (low + high) >> 1;
    if (moments[middle] < operation) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The layers of the picture from below, one per block or sum, in columns [first, last). */
function blockLayers({blocks, sums, bytes_per_unit: unit}, moments) {
  let begin = 0;
  const layers = blocks.map(([size, site, stack, category, passed, life]) => {
    begin += passed;
    const last = life < 0 ? moments.length : columnFrom(moments, begin + life);
    return {size: size * unit, first: columnFrom(moments, begin), last, site, stack, category, begin, life};
  });
  for (const sum of sums) {
    let now = 0;
    layers.push({...sum, first: 0, last: moments.length, heights: sum.changes.map((change) => (now += change * unit))});
  }
  return layers;
}

/** The blocks' layers summed by `keyOf`, those beyond the largest as one. */
function areasOf(layers, columns, keyOf, most) {
  const areas = new Map();
  const into = (key) => {
    if (!areas.has(key)) {
      areas.set(key, {key, heights: new Float64Array(columns), first: 0, last: columns, total: 0});
    }
    return areas.get(key);
  };
  for (const layer of layers) {
    const area = into(keyOf(layer));
    for (let c = layer.first; c < layer.last; ++c) {
      const height = layer.heights ? layer.heights[c] : layer.size;
      area.heights[c] += height;
      area.total += height;
    }
  }
  const sorted = [...areas.values()].sort((a, b) => b.total - a.total);
  const kept = sorted.slice(0, most);
  const rest = sorted.slice(most);
  if (rest.length > 0) {
    const others = {key: "others", count: rest.length, heights: new Float64Array(columns), first: 0, last: columns, total: 0};
    for (const area of rest) {
      area.heights.forEach((height, c) => { others.heights[c] += height; });
      others.total += area.total;
    }
    kept.push(others);
  }
  return kept;
}

/** What a pool takes from the device, as a layer from the first column to the last. */
function poolArea(name, changes, hue) {
  let now = 0;
  const heights = changes.map((change) => (now += change));
  return {name, hue, heights, first: 0, last: heights.length, total: heights.reduce((a, b) => a + b, 0)};
}

const heightIn = (layer, column) => (layer.heights ? layer.heights[column] : layer.size);

/** Draws and answers questions about the picture; `chart` is asked to zoom and pan. */
function startBands(data, chart) {
  const {bands} = data;
  const host = byId("bands");
  const choice = byId("bands-view");
  const canvas = host.querySelector("canvas");
  const over = host.querySelectorAll("canvas")[1];
  const columns = bands.moments.length;
  const per = bands.operations_per_column;
  let sum = 0;
  const moments = bands.moments.map((passed) => (sum += passed));
  const blocks = blockLayers(bands, moments);
  let layers = [];
  let totals = [];  // by column
  let slots = [];
  let view = null;
  let chosen = null;  // {layer, column}

  const siteName = (site) => (site >= 0 ? shortName(data.sites[site]) : "unknown");
  const categoryName = (category) => bands.categories[category].replace(/_/g, " ");

  function nameOf(layer) {
    if (layer.name) return layer.name;
    return layer.sites > 1 ? `${countText(layer.sites)} call sites` : siteName(layer.site);
  }

  // By category, else by call site; where these are not known, blocks of one size share a colour.
  const sizes = new Map();
  const hasSites = new Set(blocks.map(({site}) => site)).size > 3;
  function hueOf({site, size, category}) {
    if (bands.has_categories) return category;
    if (hasSites) return 1 + Math.max(site, 0) % (HUES - 1);
    if (!sizes.has(size)) sizes.set(size, 1 + sizes.size % (HUES - 1));
    return sizes.get(size);
  }

  const views = {
    block: () => blocks.map((layer, i) => ({...layer, hue: hueOf(layer), shade: i % 3})),
    category: () => areasOf(blocks, columns, ({category}) => category, HUES)
        .map((area) => ({...area, hue: area.key, name: categoryName(area.key)}))
        .sort((a, b) => CATEGORY_ORDER.indexOf(bands.categories[a.key]) - CATEGORY_ORDER.indexOf(bands.categories[b.key])),
    site: () => areasOf(blocks, columns, ({site, sites}) => (sites > 1 ? -2 : site), HUES - 1)
        .map((area, i) => ({...area, hue: i, name: area.key === "others" ? `${countText(area.count)} more call sites` : area.key === -2 ? "small blocks of other call sites" : siteName(area.key)})),
    pool: () => bands.pools.map(({name, changes}, i) => poolArea(name, changes, i)),
  };

  if (bands.has_categories) {
    choice.append(element("option", {value: "category"}, "categories"));
  }
  choice.append(element("option", {value: "site"}, "call sites"));
  if (bands.pools.length > 0) {
    choice.append(element("option", {value: "pool"}, "pools (reserved)"));
  }

  // Geometry

  let highest = 1;
  const top = 8;
  const height = () => host.clientHeight - top - 40;
  const toY = (bytes) => top + height() * (1 - bytes / highest);

  /** The pixel at which column `c` begins; the one after the last ends the run. */
  function edge(c) {
    return Math.min(Math.max(view.toPixel(Math.min(c * per, data.operations)), view.area.x), view.area.x + view.area.w);
  }

  /** [first, last) of the columns that can be seen. */
  function shown() {
    const first = Math.floor(view.axis.toOperation(view.from) / per);
    const last = Math.ceil(view.axis.toOperation(view.to) / per);
    return [Math.max(0, Math.min(first, columns - 1)), Math.min(columns, Math.max(last, first + 1))];
  }

  /** What is drawn from pixel `x` on: of columns narrower than a pixel the highest, so that no peak
      fades. */
  function slotsShown() {
    const [first, last] = shown();
    const slots = [];
    for (let column = first; column < last; ++column) {
      const x = edge(column);
      const slot = slots[slots.length - 1];
      if (!slot || x - slot.x >= 1) {
        slots.push({x, column});
      } else if (totals[column] > totals[slot.column]) {
        slot.column = column;
      }
    }
    return slots;
  }

  /** Calls draw(layer, i, outline) from below, with the outline of the visible part as
      [x, low, high] at every change and at the end. */
  function eachLayer(draw) {
    const base = new Float64Array(slots.length);
    const slotColumns = slots.map(({column}) => column);
    const end = edge(shown()[1]);
    layers.forEach((layer, i) => {
      const to = columnFrom(slotColumns, layer.last);
      const outline = [];
      for (let s = columnFrom(slotColumns, layer.first); s < to; ++s) {
        const low = base[s];
        const high = low + heightIn(layer, slots[s].column);
        base[s] = high;
        const before = outline[outline.length - 1];
        if (!before || before[1] !== low || before[2] !== high) {
          outline.push([slots[s].x, low, high]);
        }
      }
      if (outline.length > 0) {
        const [, low, high] = outline[outline.length - 1];
        outline.push([to < slots.length ? slots[to].x : end, low, high]);
        draw(layer, i, outline);
      }
    });
  }

  function trace(context, outline) {
    context.beginPath();
    stepThrough(context, outline.map(([x, , high]) => [x, toY(high)]));
    stepBack(context, outline.map(([x, low]) => [x, toY(low)]));
    context.closePath();
  }

  /** Along the top of a layer, but not up and down the sides of its peaks, which would fade. */
  function separate(context, outline) {
    context.beginPath();
    for (let i = 0; i + 1 < outline.length; ++i) {
      context.moveTo(outline[i][0], toY(outline[i][2]));
      context.lineTo(outline[i + 1][0], toY(outline[i][2]));
    }
    context.stroke();
  }

  // Drawing

  function paint(context) {
    const hues = Array.from({length: HUES}, (_, i) => colour(`hue-${i}`));
    const ground = colour("ground");
    const area = {x: view.area.x, y: top, w: view.area.w, h: height()};
    drawAxes(context, area, sizeTicks(highest, Math.max(2, Math.floor(area.h / 45))), toY,
             view.axis.ticks(view.from, view.to, area.w), (x) => view.area.x + view.area.w * (x - view.from) / (view.to - view.from), view.axis.label);
    const names = [];
    eachLayer((layer, i, outline) => {
      trace(context, outline);
      context.fillStyle = hues[layer.hue % HUES];
      context.globalAlpha = layer.shade === undefined ? .9 : [1, .84, .7][layer.shade];
      context.fill();
      context.globalAlpha = 1;
      const pixels = (outline[0][2] - outline[0][1]) / highest * area.h;
      if (layer.shade === undefined || pixels > 5) {
        context.strokeStyle = ground;
        context.lineWidth = .6;
        separate(context, outline);
      }
      if (layer.shade === undefined) {
        names.push([layer, outline]);
      }
    });
    names.forEach(([layer, outline]) => drawName(context, layer, outline));
  }

  /** Where in an outline `width` pixels have most room between low and high. */
  function roomiest(outline, width) {
    let best = {room: 0};
    for (let i = 0; i + 1 < outline.length; ++i) {
      let top = 0;
      let bottom = Infinity;
      for (let j = i; j + 1 < outline.length && bottom - top > best.room; ++j) {
        top = Math.max(top, toY(outline[j][2]));
        bottom = Math.min(bottom, toY(outline[j][1]));
        if (outline[j + 1][0] - outline[i][0] >= width) {
          best = bottom - top > best.room ? {room: bottom - top, x: outline[i][0] + width / 2, y: (top + bottom) / 2} : best;
          break;
        }
      }
    }
    return best;
  }

  /** The name of an area, where it is wide and high enough to hold it. */
  function drawName(context, layer, outline) {
    const text = clipped(nameOf(layer), 44);
    const {room, x, y} = roomiest(outline, text.length * 6.4 + 12);
    if (room >= 15) {
      context.font = "12px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillStyle = colour("on-hue");
      context.fillText(text, x, y + 4);
    }
  }

  function sized(layerCanvas) {
    const ratio = window.devicePixelRatio || 1;
    layerCanvas.width = Math.max(1, Math.round(host.clientWidth * ratio));
    layerCanvas.height = Math.max(1, Math.round(host.clientHeight * ratio));
    const context = layerCanvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  function draw() {
    if (!view) return;
    slots = slotsShown();
    paint(sized(canvas));
    drawChosen();
  }

  function drawChosen() {
    const context = sized(over);
    if (!chosen) return;
    const column = (edge(chosen.column) + edge(chosen.column + 1)) / 2;
    eachLayer((layer, i, outline) => {
      if (i === chosen.layer) {
        trace(context, outline);
        context.strokeStyle = colour("focus");
        context.lineWidth = 2;
        context.stroke();
      }
    });
    context.setLineDash([3, 3]);
    context.lineWidth = 1;
    context.strokeStyle = colour("focus");
    context.beginPath();
    context.moveTo(column, top);
    context.lineTo(column, top + height());
    context.stroke();
  }

  // What is where

  function columnAt(pixel) {
    return slots.reduce((best, slot) => slot.x <= pixel ? slot : best, slots[0]).column;
  }

  /** The layers of a column from below, with where they begin. */
  function stackAt(column) {
    const stack = [];
    let low = 0;
    layers.forEach((layer, i) => {
      if (column >= layer.first && column < layer.last && heightIn(layer, column) > 0) {
        stack.push({i, low});
        low += heightIn(layer, column);
      }
    });
    return stack;
  }

  function layerAt(column, bytes) {
    const stack = stackAt(column);
    const above = stack.findIndex(({low}) => low > bytes);
    const at = above < 0 ? stack.length - 1 : Math.max(above - 1, 0);
    return stack[at] ? stack[at].i : null;
  }

  function describe(layer, column) {
    const when = `at operation ${countText(moments[column])}`;
    const bytes = heightIn(layer, column);
    if (layer.size !== undefined) {
      const life = layer.life < 0 ? "never freed" : `freed after ${plural(layer.life, "operation")}`;
      const kind = bands.has_categories ? `, ${categoryName(layer.category)}` : "";
      return `${sizeText(bytes)}${kind}, by ${data.sites[layer.site] || "an unknown call site"}: allocated at operation ${countText(layer.begin)}, ${life}.`;
    }
    const what = layer.blocks ? `${plural(layer.blocks, "block")} over the run, too small to draw one by one` : "";
    return `${nameOf(layer)}: ${sizeText(bytes)} ${when}${what ? ` (${what})` : ""}.`;
  }

  function stackOf(layer) {
    const frames = [];
    for (let node = layer.stack; node >= 0; node = bands.stacks[node][1]) {
      frames.push(bands.frames[bands.stacks[node][0]]);
    }
    return frames;
  }

  /** From the first frame that is not of the allocation itself. */
  function stackLines(frames) {
    const own = frames.findIndex((frame) => !isMachinery(frame));
    const skipped = own > 1 ? own : 0;
    const lines = skipped > 0 ? [element("li", {class: "library"}, `${countText(skipped)} frames of the allocation itself`)] : [];
    frames.slice(skipped, skipped + STACK_SHOWN).forEach(([label, origin], i) => lines.push(
        element("li", {value: skipped + i + 1, ...(isLibrary([label, origin]) ? {class: "library"} : {})},
                element("span", {}, label || "?"), " ", element("span", {class: "origin"}, origin === "??" ? "" : origin))));
    return lines;
  }

  function showStack(layer) {
    const list = byId("band-stack");
    const isBlock = layer !== null && layer.size !== undefined;
    const frames = isBlock ? stackOf(layer) : [];
    list.replaceChildren(...stackLines(frames));
    list.hidden = frames.length === 0;
    byId("band-stack-about").textContent = !isBlock ? ""
        : frames.length > 0 ? "Call stack of the allocation, innermost frame first:" : "No call stack of it is in this page.";
  }

  function choose(column, layer) {
    if (layer === null) return;
    chosen = {column, layer};
    host.dataset.chosen = `${column} ${layer}`;
    byId("band-info").textContent = describe(layers[layer], column);
    showStack(layers[layer]);
    drawChosen();
  }

  function clear() {
    chosen = null;
    delete host.dataset.chosen;
    byId("band-info").textContent = "Point at a band to see what it is; choose it for its call stack.";
    showStack(null);
    if (view) drawChosen();
  }

  function placeOf(event) {
    const box = host.getBoundingClientRect();
    const column = columnAt(event.clientX - box.left);
    return [column, layerAt(column, (1 - (event.clientY - box.top - top) / height()) * highest)];
  }

  host.addEventListener("mousemove", (event) => {
    const [column, layer] = placeOf(event);
    if (layer !== null && !chosen) {
      byId("band-info").textContent = describe(layers[layer], column);
    }
  });
  host.addEventListener("click", (event) => choose(...placeOf(event)));

  // Keys

  function across(direction) {
    const [first, last] = shown();
    const step = Math.max(1, Math.round((last - first) / 200));
    const from = chosen ? chosen.column + direction * step : Math.floor((first + last) / 2);
    const column = Math.min(Math.max(from, 0), columns - 1);
    const stack = stackAt(column);
    const same = chosen && stack.some(({i}) => i === chosen.layer);
    const level = chosen ? stackAt(chosen.column).findIndex(({i}) => i === chosen.layer) : -1;
    const at = level < 0 ? highestOfBlocks(stack, column) : stack[Math.min(level, stack.length - 1)];
    choose(column, same ? chosen.layer : at ? at.i : null);
  }

  /** Where the keyboard begins. */
  function highestOfBlocks(stack, column) {
    const height = ({i}) => (layers[i].blocks ? 0 : heightIn(layers[i], column));
    return stack.reduce((best, entry) => !best || height(entry) > height(best) ? entry : best, null);
  }

  function upwards(direction) {
    if (!chosen) {
      across(0);
      return;
    }
    const stack = stackAt(chosen.column);
    const at = stack.findIndex(({i}) => i === chosen.layer) + direction;
    choose(chosen.column, stack[Math.min(Math.max(at, 0), stack.length - 1)].i);
  }

  const keys = {
    "ArrowLeft": () => across(-1), "ArrowRight": () => across(1), "ArrowUp": () => upwards(1), "ArrowDown": () => upwards(-1),
    "Shift+ArrowLeft": chart.commands.left, "Shift+ArrowRight": chart.commands.right,
    "+": chart.commands.in, "=": chart.commands.in, "-": chart.commands.out, "0": chart.commands.reset, "Escape": clear,
  };
  host.addEventListener("keydown", (event) => {
    const command = keys[event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key];
    if (command && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      command();
    }
  });

  // The whole

  function drawLegend() {
    const areas = layers.filter(({shade}) => shade === undefined);
    const list = choice.value === "block" && bands.has_categories ? views.category() : areas;
    byId("bands-legend").replaceChildren(...(choice.value === "block" && !bands.has_categories ? [] : [...list].reverse()).map((area) => {
      const sample = svgElement("svg", {width: 14, height: 14, "aria-hidden": "true"});
      sample.append(svgElement("rect", {width: 14, height: 14, style: `fill: var(--hue-${area.hue % HUES})`}));
      const most = area.heights.reduce((a, b) => Math.max(a, b), 0);
      return element("li", {}, sample, element("span", {}, nameOf(area)), element("span", {class: "most"}, `at most ${sizeText(most)}`));
    }));
  }

  function about() {
    const kept = bands.blocks.length;
    const parts = [per > 1 ? `Each column is the state at the highest moment of ${countText(per)} operations.` : "Each column is one operation."];
    if (bands.summed > 0) {
      parts.push(`${plural(kept, "block")} have a band each; ${countText(bands.summed)} that are lower than a pixel, or fill least, are summed by call site on top.`);
    }
    if (bands.unseen > 0) {
      parts.push(`${plural(bands.unseen, "block")} that live at none of these moments are not drawn.`);
    }
    if (bands.stacks_left_out > 0) {
      parts.push(`${plural(bands.stacks_left_out, "call stack")} had no room in this page.`);
    }
    byId("bands-about").textContent = parts.join(" ");
  }

  function load() {
    layers = views[choice.value]();
    totals = new Float64Array(columns);
    for (const layer of layers) {
      for (let c = layer.first; c < layer.last; ++c) totals[c] += heightIn(layer, c);
    }
    highest = Math.max(1, totals.reduce((a, b) => Math.max(a, b), 0)) * 1.04;
    drawLegend();
    clear();
    draw();
  }

  choice.addEventListener("change", load);
  onTheme(draw);
  about();
  load();
  return {
    follow: (shownNow) => {
      view = shownNow;
      draw();
    },
    picture: () => {
      const drawing = new SvgDrawing(host.clientWidth, host.clientHeight);
      paint(drawing);
      return drawing.svg;
    },
  };
}
