// Puts the page together: reads the data, draws each part, and lets chart and map follow one
// another through the chosen key moment.

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
  if (!data.bars) {
    return;
  }
  const host = byId("bars");
  const highest = Math.max(1, ...data.bars.map(({bytes}) => bytes));
  host.append(element("h3", {}, "What settings could win"));
  for (const {label, bytes, kind, ran_out: ranOut} of data.bars) {
    const fill = element("div", {class: "fill"});
    fill.style.width = `${100 * bytes / highest}%`;
    host.append(element("div", {class: `bar ${kind}`}, element("span", {class: "what"}, label, ranOut ? element("em", {}, " ran out") : ""),
                        element("div", {class: "track", "aria-hidden": "true"}, fill),
                        element("span", {class: "value"}, sizeText(bytes))));
  }
  host.append(element("p", {class: "about"}, data.bars_about));
}

function startMoments(data, shown) {
  const select = byId("moment");
  data.moments.forEach((moment, i) => {
    select.append(element("option", {value: i}, `${i + 1}. ${momentName(moment)} (operation ${countText(moment.operation)})`));
  });
  const first = (kind) => data.moments.findIndex(({kinds}) => kinds.includes(kind));
  // What was reserved before the file begins says little.
  const early = first("peak_reserved") >= 0 && data.moments[first("peak_reserved")].operation === 0;
  const wanted = first("out_of_memory") >= 0 ? "out_of_memory" : early ? "peak_allocated" : "peak_reserved";
  const start = Math.max(first(wanted), 0);
  select.value = String(start);
  select.addEventListener("change", () => shown(Number(select.value)));
  return start;
}

function momentText(data, i) {
  const {usage, operation, step, phase} = data.moments[i];
  const place = [step !== undefined ? `step ${step}` : "", phase ? `phase ${phase}` : ""].filter(Boolean).join(", ");
  return `After operation ${countText(operation)}${place ? ` (${place})` : ""}: reserved ${sizeText(usage.reserved)}, ` +
      `active ${sizeText(usage.active)}, allocated ${sizeText(usage.allocated)}, unused ${sizeText(usage.reserved - usage.active)} ` +
      `(${percentText(usage.reserved - usage.active, usage.reserved)}).`;
}

function main() {
  const data = JSON.parse(byId("report-data").textContent);
  startTheme();
  drawSummary(data);
  drawWhy(data);
  drawBars(data);
  drawDrift(data);
  let chosen = 0;
  let chart = null;
  let last = null;
  const drawTracks = startTracks(data, (i) => choose(i));
  const showSegments = startSegments(data);

  function choose(i, announced = true) {
    if (data.moments.length === 0) {
      return;
    }
    chosen = Math.min(Math.max(i, 0), data.moments.length - 1);
    byId("moment").value = String(chosen);
    byId("moment-text").textContent = momentText(data, chosen);
    showSegments(chosen);
    if (chart) {
      chart.setCursorAt(data.moments[chosen].operation, announced);
      chart.redraw();
    }
  }

  function nearest(operation) {
    const distance = ({operation: at}) => Math.abs(at - operation);
    return data.moments.reduce((best, moment, i) => distance(moment) < distance(data.moments[best]) ? i : best, 0);
  }

  if (data.operations > 0) {
    chart = startChart(data, {
      moved: (area, range) => {
        last = [area, range];
        drawTracks(area, range, chosen);
      },
      chooseNear: (operation) => choose(nearest(operation)),
      step: (direction) => choose(chosen + direction),
    });
  } else {
    byId("over-time").hidden = true;
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
  startFlame(data);
  document.documentElement.dataset.ready = "true";
}

main();
