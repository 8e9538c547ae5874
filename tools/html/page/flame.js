// Flame graphs (d3's partition layout): bytes by call stack, outermost frame on top, so that a page
// reads from the program down to the library; or the other way round, from who allocates to its
// callers. Frames of PyTorch itself are left out where the
// program's own are there, and its machinery everywhere; a box brings them back.

const FRAME_HEIGHT = 19;

/** [frame, value, children, joined] as objects; what ends in a node becomes a child without
    frame, which is not drawn. */
function flameTree(entry, frames) {
  const [frame, value, children = [], joined = 0] = entry;
  const node = {frame, value, joined, children: children.map((child) => flameTree(child, frames))};
  node.library = frame >= 0 && isLibrary(frames[frame]);
  node.machinery = node.library && isMachinery(frames[frame]);
  return node;
}

/** Modules of a generated trace by the parts of their path, all layers as one: "h.0.mlp" becomes
    h > * > mlp. Frames that this needs are added to `frames`. */
function withModulePaths(tree, frames) {
  const numbers = new Map();
  const frameOf = (part) => {
    if (!numbers.has(part)) {
      numbers.set(part, frames.push([part, "module"]) - 1);
    }
    return numbers.get(part);
  };
  const expand = (node) => {
    const children = node.children.map(expand);
    const [label, origin] = node.frame >= 0 ? frames[node.frame] : ["", ""];
    if (origin !== "module") {
      return {...node, children};
    }
    const parts = label.split(".").map((part) => (/^\d+$/.test(part) ? "*" : part));
    return parts.reduceRight((inner, part) =>
        [{...node, frame: frameOf(part), children: inner}], children)[0];
  };
  return expand(tree);
}

/** PyTorch itself, and what lies below it. Frames of generated traces are names, no code. */
function isLibrary([, origin, code]) {
  return !["operator", "autograd", "module"].includes(origin) &&
      ["torch", "standard", "native"].includes(code);
}

/** What every stack of C++ passes through: the unwinder, dispatch, allocation, threads. */
const MACHINERY = new RegExp("^(torch::(unwind|CapturedTraceback|cuda::)|c10::|at::(detail|native::empty)|at::\\w+ at::detail|" +
    "execute_native_thread|pthread_|__xmknodat|clone|start_thread|.*(::redispatch\\(|wrap_kernel_functor|thread_init|thread_main|Node::operator))");

function isMachinery([label]) {
  return MACHINERY.test(label.replace(/^(void|bool) /, ""));
}

function hasOwn(node) {
  return (node.frame >= 0 && !node.library) || node.children.some(hasOwn);
}

/** The tree without the library's frames, below and above the program's own. */
function withoutLibrary(node, below = false) {
  const children = [];
  const collect = (child) => {
    if (child.library && (below || child.machinery || hasOwn(child))) {
      child.children.forEach(collect);
    } else if (!(below && child.frame < 0)) {
      children.push(withoutLibrary(child, below || (child.frame >= 0 && !child.library)));
    }
  };
  node.children.forEach(collect);
  return {...node, children};
}

/** Children with the same frame as one, largest first. */
function merged(node) {
  const alike = new Map();
  for (const child of node.children) {
    const key = `${child.frame} ${child.joined > 0}`;
    const known = alike.get(key);
    if (known) {
      known.value += child.value;
      known.joined += child.joined;
      known.children.push(...child.children);
    } else {
      alike.set(key, {...child, children: [...child.children]});
    }
  }
  const children = [...alike.values()].map(merged).sort((a, b) => b.value - a.value);
  return {...node, children};
}

/** Who allocates on top, its callers below. */
function inverted(root) {
  const top = {...root, children: []};
  const add = (path, value) => path.reduce((at, node) => {
    let child = at.children.find(({frame, joined}) => frame === node.frame && joined > 0 === node.joined > 0);
    if (!child) {
      child = {...node, value: 0, children: []};
      at.children.push(child);
    }
    child.value += value;
    return child;
  }, top);
  const walk = (node, callers) => {
    const path = [node, ...callers];
    const own = node.value - node.children.reduce((sum, child) => sum + child.value, 0);
    if (own > 0) add(path, own);
    node.children.forEach((child) => walk(child, path));
  };
  root.children.forEach((child) => walk(child, []));
  return top;
}

/** What d3 sums up: leaves only, so what ends in a node is a leaf of its own. */
function withOwnLeaves(node) {
  const children = node.children.map(withOwnLeaves);
  const own = node.value - node.children.reduce((sum, child) => sum + child.value, 0);
  if (children.length > 0 && own > 0) {
    children.push({own: true, value: own, children: null});
  }
  return {...node, total: node.value, children: children.length > 0 ? children : null};
}

function startFlame(data) {
  const host = byId("flame-graph");
  const choice = byId("flame-choice");
  const find = byId("flame-find");
  const library = byId("flame-library");
  const order = byId("flame-order");
  const info = byId("flame-info");
  let flame = null;
  let root = null;
  let zoomed = null;
  let current = null;

  for (const {id, title} of data.flames) {
    choice.append(element("option", {value: id}, title));
  }

  function nameOf(node) {
    if (node === root || node.root) return `all, ${sizeText(root.total)}`;
    if (node.joined > 0) return `${plural(node.joined, "smaller frame")}`;
    if (node.frame < 0) return "(no stack recorded)";
    const [label, origin] = flame.frames[node.frame];
    const file = origin.replace(/^.*\//, "");
    return /:\d+$/.test(file) ? `${label}  ${file}` : shortName(label);
  }

  function originOf(node) {
    return node.frame >= 0 && !node.root ? flame.frames[node.frame][1] : "";
  }

  function describe(node) {
    const origin = originOf(node);
    const name = node.frame >= 0 && !node.root ? flame.frames[node.frame][0] : nameOf(node);
    info.textContent = `${name}${origin.includes("/") ? ` (${origin})` : ""}: ${sizeText(node.total)}, ` +
        `${percentText(node.total, root.total)} of all`;
  }

  function load() {
    flame = data.flames.find(({id}) => id === choice.value);
    flame.tree = flame.tree || withModulePaths(flameTree(flame.root, flame.frames), flame.frames);
    const {tree} = flame;
    const shown = merged(library.checked ? tree : withoutLibrary(tree));
    root = withOwnLeaves(order.value === "callers" ? merged(inverted(shown)) : shown);
    root.root = true;
    zoomed = root;
    current = root;
    d3.layout.partition().sort((a, b) => (a.own ? 1 : 0) - (b.own ? 1 : 0) || b.value - a.value)
        .value((node) => node.value).size([1, 1]).nodes(root);
    const common = flame.common.map((frame) => (frame < 0 ? "?" : flame.frames[frame][0]));
    byId("flame-about").textContent = flame.note +
        (common.length > 0 ? ` All stacks begin with ${clipped(common.join(" > "), 160)}.` : "");
    draw();
  }

  function isFound(node) {
    const text = find.value.trim().toLowerCase();
    return text !== "" && `${nameOf(node)} ${originOf(node)}`.toLowerCase().includes(text);
  }

  /** Of the outermost frames that are found, so that nothing counts twice. */
  function bytesFound(node) {
    if (!node.own && isFound(node)) return node.total;
    return (node.children || []).reduce((sum, child) => sum + bytesFound(child), 0);
  }

  /** The nodes on the way to `zoomed` and all below it that are wide enough to be seen. */
  function visible(pixels) {
    const nodes = [];
    for (let node = zoomed.parent; node; node = node.parent) {
      nodes.unshift(node);
    }
    const add = (node) => {
      if (node.own || node.dx / zoomed.dx * pixels < 1.5) return;
      nodes.push(node);
      (node.children || []).forEach(add);
    };
    add(zoomed);
    return nodes;
  }

  function draw() {
    const pixels = host.getBoundingClientRect().width || 800;
    host.replaceChildren();
    info.textContent = "Point at a frame to see its bytes; choose it to widen it.";
    if (root.total === 0) {
      host.append(element("p", {class: "empty"}, "Nothing to show."));
      return;
    }
    const nodes = visible(pixels);
    const depth = Math.max(...nodes.map((node) => node.depth)) + 1;
    const svg = svgElement("svg", {height: depth * FRAME_HEIGHT + 2, role: "tree", "aria-label": `Flame graph: ${flame.title}`});
    for (const node of nodes) {
      const above = node.depth < zoomed.depth;
      const x = above ? 0 : (node.x - zoomed.x) / zoomed.dx * pixels;
      const width = above ? pixels : node.dx / zoomed.dx * pixels;
      const hit = isFound(node);
      const shade = hit ? "flame-found" : node.root ? "band" : `flame-${1 + Math.abs(node.frame * 7 + node.depth) % 3}`;
      const group = svgElement("g", {class: "frame", role: "treeitem", tabindex: node === current ? "0" : "-1",
                                     "aria-level": node.depth + 1,
                                     "aria-label": `${nameOf(node)}, ${sizeText(node.total)}, ${percentText(node.total, root.total)}`});
      const y = node.depth * FRAME_HEIGHT;
      group.append(svgElement("rect", {x, y, width: Math.max(width, .5), height: FRAME_HEIGHT - 1, rx: 2,
                                       style: `fill: var(--${shade})${hit ? "; stroke: var(--ink)" : ""}`}));
      const letters = Math.floor((width - 8) / 6.8);
      if (letters >= 4) {
        const name = nameOf(node);
        group.append(svgElement("text", {x: x + 5, y: y + FRAME_HEIGHT - 6},
                                name.length <= letters ? name : `${name.slice(0, letters - 1)}\u2026`));
      }
      group.append(svgElement("title", {}, `${nameOf(node)}: ${sizeText(node.total)}, ${percentText(node.total, root.total)}`));
      group.addEventListener("click", () => zoomTo(node));
      group.addEventListener("mouseenter", () => describe(node));
      group.addEventListener("focus", () => makeCurrent(node));
      group.addEventListener("keydown", (event) => onKey(event, node));
      node.group = group;
      svg.append(group);
    }
    host.append(svg);
    if (find.value.trim() !== "") {
      const hits = nodes.filter(isFound).length;
      const bytes = bytesFound(root);
      info.textContent = hits > 0 ? `${plural(hits, "frame")} found, ${sizeText(bytes)}, ${percentText(bytes, root.total)} of all` : "not found";
    }
  }

  function makeCurrent(node) {
    if (current.group) {
      current.group.classList.remove("current");
      current.group.setAttribute("tabindex", "-1");
    }
    current = node;
    node.group.classList.add("current");
    node.group.setAttribute("tabindex", "0");
    describe(node);
  }

  function zoomTo(node) {
    zoomed = node;
    current = node;
    draw();
    node.group.focus({preventScroll: true});
  }

  function onKey(event, node) {
    const isDrawn = (other) => other && other.group && other.group.isConnected;
    const siblings = node.parent ? node.parent.children.filter(isDrawn) : [node];
    const at = siblings.indexOf(node);
    const go = (other) => { if (isDrawn(other)) other.group.focus(); };
    const moves = {
      ArrowUp: () => go(node.parent), ArrowDown: () => go((node.children || []).find(isDrawn)),
      ArrowLeft: () => go(siblings[at - 1]), ArrowRight: () => go(siblings[at + 1]),
      Home: () => go(root),
      Enter: () => zoomTo(node), " ": () => zoomTo(node), Escape: () => zoomTo(root),
    };
    if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]();
    }
  }

  choice.addEventListener("change", load);
  order.addEventListener("change", load);
  library.addEventListener("change", load);
  find.addEventListener("input", draw);
  byId("flame-reset").addEventListener("click", () => {
    zoomed = current = root;
    draw();
  });
  onResize(draw);
  load();
  return {picture: () => {
    const svg = host.querySelector("svg");
    const drawing = new SvgDrawing(host.clientWidth, svg ? svg.getBoundingClientRect().height : FRAME_HEIGHT);
    if (svg) drawing.place(svg, 0, 0);
    return drawing.svg;
  }};
}
