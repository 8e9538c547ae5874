// Puts the page together: reads the data, draws each part of a run, and lets chart, bands and map
// follow one another. A page of two runs has a comparison on top and shows one of them below.

function drawSummary(data) {
  document.title = `Highwater: ${data.title}`;
  byId("title").textContent = data.title;
  byId("subtitle").textContent = `${data.plan ? "simulated plan" : `device ${data.device}`}, ${plural(data.operations, "operation")} of the allocator`;
  const verdict = byId("verdict");
  const signs = {fits: ["good", "\u2713"], out_of_memory: ["bad", "\u2717"], unlimited: ["", "\u2022"]};
  const [look, sign] = signs[data.outcome];
  if (look) verdict.classList.add(look);
  verdict.append(element("span", {class: "sign", "aria-hidden": "true"}, sign), data.verdict);
  for (const [name, bytes, note] of data.figures) {
    byId("figures").append(element("div", {}, element("dt", {}, name), element("dd", {class: "value"}, sizeText(bytes)),
                                   element("dd", {class: "note"}, note)));
  }
}

/** Why memory ran out, and what would have helped, each tried by a replay. */
function drawWhy(data) {
  const host = byId("why");
  if (data.evidence && data.evidence.length > 0) {
    host.append(element("h3", {}, "Why"), element("ul", {}, ...data.evidence.map((line) => element("li", {}, line))));
  }
  if (data.trials && data.trials.length > 0) {
    const rows = data.trials.map(({text, serves}) =>
        element("li", {class: serves ? "helps" : "fails"}, element("span", {class: "sign", "aria-hidden": "true"}, serves ? "\u2713" : "\u2717"), text));
    host.append(element("h3", {}, "What would have helped, each tried by a replay"), element("ul", {class: "trials"}, ...rows));
  }
}

function drawDrift(data) {
  const lines = data.drift || [];
  byId("steps").hidden = lines.length === 0;
  byId("drift-list").append(...lines.map((line) => element("li", {}, line)));
}

function drawBars(data) {
  const host = byId("bars");
  const highest = Math.max(1, ...data.bars.map(({bytes}) => bytes));
  for (const {label, bytes, kind, ran_out: ranOut} of data.bars) {
    const fill = element("div", {class: "fill"});
    fill.style.width = `${100 * bytes / highest}%`;
    host.append(element("div", {class: `bar ${kind}`}, element("span", {class: "what"}, label, ranOut ? element("em", {}, " ran out") : ""),
                        element("div", {class: "track", "aria-hidden": "true"}, fill),
                        element("span", {class: "value"}, sizeText(bytes))));
  }
  host.append(element("p", {class: "about"}, data.bars_about));
}

function barsPicture(data) {
  const [labels, wide, values, line] = [190, 560, 90, 28];
  const drawing = new SvgDrawing(labels + wide + values, data.bars.length * line);
  const highest = Math.max(1, ...data.bars.map(({bytes}) => bytes));
  data.bars.forEach(({label, bytes, kind, ran_out: ranOut}, i) => {
    drawing.fillStyle = colour("ink");
    drawing.textAlign = "right";
    drawing.fillText(ranOut ? `${label}, ran out` : label, labels - 10, i * line + 18);
    drawing.fillText(sizeText(bytes), labels + wide + values, i * line + 18);
    drawing.fillStyle = colour(kind === "bound" ? "bound" : kind === "own" ? "reserved" : "allocated");
    drawing.fillRect(labels, i * line + 5, wide * bytes / highest, line - 10);
  });
  return drawing.svg;
}

/** The key moments by name, as a choice of the map and as buttons below the chart. */
function startMoments(data, shown) {
  const select = byId("moment");
  data.moments.forEach((moment, i) => {
    select.append(element("option", {value: i}, `${i + 1}. ${momentName(moment)} (operation ${countText(moment.operation)})`));
    const button = element("button", {type: "button", "data-moment-button": i}, element("b", {}, String(i + 1)), ` ${momentName(moment)} `,
                           element("span", {}, sizeText(moment.usage.reserved)));
    button.addEventListener("click", () => shown(i));
    byId("moments").append(element("li", {}, button));
  });
  const first = (kind) => data.moments.findIndex(({kinds}) => kinds.includes(kind));
  // What was reserved before the file begins says little.
  const early = first("peak_reserved") >= 0 && data.moments[first("peak_reserved")].operation === 0;
  const wanted = first("out_of_memory") >= 0 ? "out_of_memory" : early ? "peak_allocated" : "peak_reserved";
  const start = Math.max(first(wanted), 0);
  select.addEventListener("change", () => shown(Number(select.value)));
  return start;
}

function markMoment(chosen) {
  byId("moment").value = String(chosen);
  for (const button of document.querySelectorAll("[data-moment-button]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.momentButton) === chosen));
  }
}

function momentText(data, i) {
  const {usage, operation, step, phase} = data.moments[i];
  const place = [step !== undefined ? `step ${step}` : "", phase ? `phase ${phase}` : ""].filter(Boolean).join(", ");
  return `After operation ${countText(operation)}${place ? ` (${place})` : ""}: reserved ${sizeText(usage.reserved)}, ` +
      `active ${sizeText(usage.active)}, allocated ${sizeText(usage.allocated)}, unused ${sizeText(usage.reserved - usage.active)} ` +
      `(${percentText(usage.reserved - usage.active, usage.reserved)}).`;
}

function startAxisChoice(axes, chart) {
  byId("axis-choice").hidden = axes.length < 2;
  axes.forEach(({kind}) => byId("axis").append(element("option", {value: kind}, kind)));
  byId("axis").addEventListener("change", () => chart.useAxis(axes[byId("axis").selectedIndex]));
}

/** Draws everything about one run into the empty page. */
function drawRun(data) {
  drawSummary(data);
  drawWhy(data);
  drawBars(data);
  drawDrift(data);
  let chosen = 0;
  let chart = null;
  let bands = null;
  const drawTracks = startTracks(data, (i) => choose(i));
  const segments = startSegments(data);

  function choose(i, announced = true) {
    if (data.moments.length === 0) {
      return;
    }
    chosen = Math.min(Math.max(i, 0), data.moments.length - 1);
    markMoment(chosen);
    byId("moment-text").textContent = momentText(data, chosen);
    segments.show(chosen);
    if (chart) {
      chart.setCursorAt(data.moments[chosen].operation, announced);
      chart.redraw();
    }
  }

  function nearest(operation) {
    const distance = ({operation: at}) => Math.abs(at - operation);
    return data.moments.reduce((best, moment, i) => distance(moment) < distance(data.moments[best]) ? i : best, 0);
  }

  const pictures = {"bars": () => barsPicture(data), "segment-map": segments.picture};
  if (data.operations > 0) {
    const axes = axesOf(data);
    chart = startChart(data, axes, {
      moved: (view) => {
        drawTracks(view, chosen);
        if (bands) bands.follow(view);
      },
      chooseNear: (operation) => choose(nearest(operation)),
      step: (direction) => choose(chosen + direction),
    });
    bands = startBands(data, chart);
    startAxisChoice(axes, chart);
    Object.assign(pictures, {"memory-over-time": chart.picture, "tensors-over-time": bands.picture});
  } else {
    byId("over-time").hidden = true;
    byId("tensors").hidden = true;
  }
  const per = data.curves.operations_per_bucket;
  byId("chart-summary").textContent = per > 1
      ? `Each point stands for ${countText(per)} operations: the line is their highest value, the band reaches down to the lowest.`
      : "Each point is one operation.";
  choose(startMoments(data, (i) => choose(i)), false);
  drawMarksTable(data);
  drawHolders(data);
  drawBlame(data);
  drawSettings(data);
  drawOoms(data);
  drawNotes(data);
  pictures["flame-graph"] = startFlame(data).picture;
  startPictures(byId("run"), data.title, pictures);
  linkSections();
  return () => {
    if (chart) chart.destroy();
    forgetListeners();
  };
}

/** A link to itself beside the heading of every section. */
function linkSections() {
  for (const section of document.querySelectorAll("section[id]")) {
    const heading = section.querySelector("h2");
    if (!section.querySelector("a.anchor")) {
      const link = element("a", {class: "anchor", href: `#${section.id}`, title: "Link to this section"}, "#");
      link.setAttribute("aria-label", `Link to ${heading.textContent}`);
      heading.after(link);
    }
  }
}

function drawLicences() {
  for (const name of ["dygraph", "d3"]) {
    byId(`licence-${name}`).textContent = byId(`text-licence-${name}`).textContent;
  }
}

function main() {
  const root = JSON.parse(byId("report-data").textContent);
  startTheme();
  startResize();
  drawLicences();
  document.body.append(patterns());
  if (root.runs) {
    startComparison(root);
  } else {
    drawRun(root);
  }
  for (const node of document.querySelectorAll("[data-needs=comparison]")) {
    node.hidden = !root.runs;
  }
  document.documentElement.dataset.ready = "true";
  const target = location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  if (target) {
    target.scrollIntoView();  // the browser looked for it before anything was drawn
  }
}

main();
