// The x axis that the pictures over time share: operations, or the time at which they happened
// where the file tells it. Positions on it are called x; operations between two recorded times are
// placed evenly.

/** Steps of 1, 2 or 5 times a power of ten, at least `least` apart. */
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((n) => n * power >= rough * .999) * power;
}

function ticksBetween(from, to, step, label) {
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to; ++i) {
    ticks.push({v: i * step, label: label(i * step)});
  }
  return ticks;
}

/** "1.25 s", "340 ms": seconds in the unit that suits `span`. */
function secondsText(seconds, span) {
  const [unit, factor] = span >= 2 ? ["s", 1] : span >= 2e-3 ? ["ms", 1e3] : ["\u00b5s", 1e6];
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.max(span * factor, 1e-6)))));
  return `${Number((seconds * factor).toFixed(digits))} ${unit}`;
}

function operationsAxis() {
  return {
    kind: "operations",
    label: "operations of the allocator",
    toX: (operation) => operation,
    toOperation: (x) => x,
    ticks: (from, to, pixels) =>
        ticksBetween(from, to, roundStep(Math.max((to - from) / Math.max(2, Math.floor(pixels / 110)), 1)), countText),
  };
}

function timeAxis({operations_per_sample: per, passed_us: passed}, operations) {
  let now = 0;
  const seconds = passed.map((us) => (now += us) / 1e6);
  const last = seconds.length - 1;
  const at = (sample) => Math.min(sample * per, operations);
  const between = (i, share) => seconds[i] + (seconds[Math.min(i + 1, last)] - seconds[i]) * share;
  return {
    kind: "time",
    label: "time since the first entry",
    toX: (operation) => {
      const i = Math.min(Math.floor(operation / per), last);
      const width = at(i + 1) - at(i);
      return between(i, width > 0 ? Math.min((operation - at(i)) / width, 1) : 0);
    },
    toOperation: (x) => {
      let low = 0;
      for (let high = last; low < high;) {
        const middle = (low + high + 1) >> 1;
        if (seconds[middle] <= x) low = middle;
        else high = middle - 1;
      }
      const gap = low < last ? seconds[low + 1] - seconds[low] : 0;
      return at(low) + (gap > 0 ? (at(low + 1) - at(low)) * Math.min((x - seconds[low]) / gap, 1) : 0);
    },
    ticks: (from, to, pixels) => {
      const step = roundStep(Math.max((to - from) / Math.max(2, Math.floor(pixels / 110)), 1e-6));
      return ticksBetween(from, to, step, (x) => secondsText(x, to - from));
    },
  };
}

/** The axes that the run can be drawn on, operations first. */
function axesOf(data) {
  const axes = [operationsAxis()];
  if (data.times && data.times.passed_us.length > 1 && data.operations > 0) {
    const axis = timeAxis(data.times, data.operations);
    if (axis.toX(data.operations) > 0) {
      axes.push(axis);
    }
  }
  return axes;
}
