// Two runs in one page: what differs between their peaks, both curves of reserved memory, and the
// choice of the run that the rest of the page shows.

const SIDES = ["A", "B"];

function changeText(bytes) {
  return bytes === 0 ? "=" : `${bytes > 0 ? "+" : "\u2212"}${sizeText(Math.abs(bytes))}`;
}

function changeRow([name, first, second]) {
  return tableRow([name, sizeText(first), sizeText(second), changeText(second - first)], [1, 2, 3]);
}

function changeTable(title, rows, total) {
  const made = rows.map(([name, ...bytes]) => changeRow([siteName(name), ...bytes]));
  const last = total ? changeRow(total) : null;
  return siteTable([title, "#A", "#B", "#Change"], made, last, title);
}

/** [operation, reserved] from the first operation to `end`; a state without a history stays as it is. */
function reservedCurve({curves, operations, peaks}, end) {
  if (operations === 0) {
    return [[0, peaks.reserved], [end, peaks.reserved]];
  }
  let high = 0;
  const points = curves.reserved.high.map((difference, i) => [i * curves.operations_per_bucket, high += difference]);
  return [...points, [operations, high]];
}

function comparisonPicture(runs, width) {
  const [left, top, height] = [78, 46, 230];
  const area = {x: left, y: top, w: width - left - 12, h: height};
  const drawing = new SvgDrawing(width, top + height + 44);
  const end = Math.max(1, ...runs.map(({operations}) => operations));
  const highest = Math.max(1, ...runs.map(({peaks}) => peaks.reserved)) * 1.08;
  const toX = (operation) => area.x + area.w * operation / end;
  const toY = (bytes) => area.y + area.h * (1 - bytes / highest);
  const axis = operationsAxis();
  drawAxes(drawing, area, sizeTicks(highest, 5), toY, axis.ticks(0, end, area.w), toX, axis.label);
  runs.forEach((run, i) => {
    const points = reservedCurve(run, end).map(([x, y]) => [toX(x), toY(y)]);
    drawing.strokeStyle = drawing.fillStyle = colour(i === 0 ? "allocated" : "active");
    drawing.textAlign = "left";
    drawing.lineWidth = 2;
    drawing.setLineDash(i === 0 ? [] : [7, 4]);
    drawing.beginPath();
    stepThrough(drawing, points);
    drawing.stroke();
    drawing.beginPath();
    drawing.moveTo(left, 10 + i * 18);
    drawing.lineTo(left + 34, 10 + i * 18);
    drawing.stroke();
    drawing.fillText(`${SIDES[i]}, reserved: ${clipped(run.title, Math.floor((area.w - 150) / 6.5))}`, left + 42, 14 + i * 18);
  });
  return drawing.svg;
}

function startComparison({runs, comparison}) {
  const host = byId("comparison-chart");
  const blank = byId("run").cloneNode(true);
  const title = `${runs[0].title} and ${runs[1].title}`;
  const draw = () => host.replaceChildren(comparisonPicture(runs, Math.max(300, host.clientWidth - 10)));
  let end = () => {};

  function showRun(chosen) {
    end();
    byId("run").replaceWith(blank.cloneNode(true));
    end = drawRun(runs[chosen]);
    onTheme(draw);
    onResize(draw);
    byId("title").textContent = `A: ${runs[0].title}\u2003B: ${runs[1].title}`;
    document.title = `Highwater: ${title}`;
    for (const button of document.querySelectorAll("[data-run]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.run) === chosen));
    }
  }

  byId("comparison").hidden = false;
  byId("comparison-verdict").textContent = comparison.verdict;
  byId("comparison-figures").append(changeTable("Peaks of the whole run", ["reserved", "active", "allocated", "requested"].map((key) =>
      [key, runs[0].peaks[key], runs[1].peaks[key]])));
  byId("comparison-parts").append(changeTable("Reserved memory at the peak", comparison.parts, comparison.total));
  byId("comparison-sites").append(changeTable("Call sites at the peak, the largest change first", comparison.sites, comparison.total));
  if (comparison.blocks.length > 0) {
    byId("comparison-blocks").append(changeTable("Blocks alive at one of the two peaks of requested bytes, by size and call site",
        comparison.blocks));
  }
  runs.forEach((run, i) => {
    const button = element("button", {type: "button", "data-run": i}, `${SIDES[i]}: ${clipped(run.title, 60)}`);
    button.addEventListener("click", () => showRun(i));
    byId("run-choice").append(button);
  });
  draw();
  startPictures(byId("comparison"), title, {comparison: () => comparisonPicture(runs, 900)});
  showRun(0);
}
