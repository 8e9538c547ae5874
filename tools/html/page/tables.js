// Tables and lists: sites, settings, counts, marks, the accounts of running out of memory.

/** A head; "#Name" is a column of numbers. */
function tableHead(columns) {
  const cells = columns.map((name) => name.startsWith("#")
      ? element("th", {scope: "col", class: "number"}, name.slice(1))
      : element("th", {scope: "col"}, name));
  return element("thead", {}, element("tr", {}, ...cells));
}

/** A row; `numbers` says which columns are numbers. Elements are taken as they are. */
function tableRow(values, numbers = []) {
  return element("tr", {}, ...values.map((value, i) =>
      element("td", numbers.includes(i) ? {class: "number"} : {}, value)));
}

function meter(part, whole) {
  const bar = element("i");
  bar.style.width = `${whole > 0 ? Math.max(0, Math.min(100, 100 * part / whole)) : 0}%`;
  return element("span", {class: "meter", "aria-hidden": "true"}, bar);
}

/** A site for people; all of it on demand. */
function siteName(name) {
  return element("span", {class: "site-name", title: name}, shortName(name));
}

function siteTable(columns, rows, rest, caption) {
  const table = element("table", {"aria-label": caption});
  table.append(tableHead(columns));
  const body = element("tbody");
  rows.forEach((row) => body.append(row));
  table.append(body);
  if (rest) {
    table.append(element("tfoot", {}, rest));
  }
  return element("div", {class: "scroll"}, table);
}

function drawHolders(data) {
  const {rows, rest} = data.holders;
  const total = rows.reduce((sum, row) => sum + row[1], 0) + rest[1];
  const moment = data.moments.find(({kinds}) => kinds.includes("peak_allocated"));
  if (!moment) {
    byId("holders-about").textContent = data.operations > 0 ? "Nothing was allocated."
        : "The file has no history; highwater info lists who holds what in its state.";
    return;
  }
  byId("holders-about").textContent = `Allocated blocks by call site at operation ${countText(moment.operation)}, ` +
      `where allocated was highest: ${sizeText(total)}.`;
  const row = ([site, bytes, blocks]) => {
    const made = tableRow([siteName(data.sites[site]), meter(bytes, rows[0][1]), sizeText(bytes), percentText(bytes, total), countText(blocks)], [2, 3, 4]);
    made.children[0].className = "site";
    made.children[1].className = "share";
    return made;
  };
  const last = rest[0] > 0 ? tableRow([plural(rest[0], "more site"), "", sizeText(rest[1]), percentText(rest[1], total), countText(rest[2])], [2, 3, 4]) : null;
  byId("holders-table").append(siteTable(["Site", "", "#Bytes", "#Share", "#Blocks"], rows.map(row), last, "Allocated bytes by site"));
}

function drawBlame(data) {
  const {rows, rest, average, pinned, unused, when} = data.blame;
  const about = byId("blame-about");
  if (average === 0 && pinned === 0) {
    about.textContent = "No free memory was held back by blocks in use.";
    return;
  }
  about.textContent = "A segment (or page of an expandable segment) with a block in use cannot be given back: its free bytes are " +
      `pinned by those blocks, in equal shares. On average over the run ${sizeText(average)} were pinned; ${when} ` +
      `${sizeText(pinned)}, and ${sizeText(unused)} lay in whole free pieces, which empty_cache returns.`;
  const row = ([site, mean, at, active, blocks]) => {
    const made = tableRow([siteName(data.sites[site]), meter(mean, rows[0][1]), sizeText(mean), sizeText(at), sizeText(active), countText(blocks)], [2, 3, 4, 5]);
    made.children[0].className = "site";
    made.children[1].className = "share";
    return made;
  };
  const last = rest[0] > 0 ? tableRow([plural(rest[0], "more site"), "", sizeText(rest[1]), sizeText(rest[2]), sizeText(rest[3]), countText(rest[4])], [2, 3, 4, 5]) : null;
  byId("blame-table").append(siteTable(["Site of the blocks in use", "", "#Pinned, on average", `#Pinned ${when}`, "#Its active bytes then", "#Pinning blocks then"],
                                       rows.filter(([, mean, at]) => mean > 0 || at > 0).map(row), last, "Pinned bytes by site"));
}

function drawSettings(data) {
  const table = element("table", {"aria-label": "Settings"});
  table.append(tableHead(["Setting", "Value", "Default"]));
  const body = element("tbody");
  for (const [name, value, usual, changed] of data.settings) {
    const row = tableRow([name, changed ? element("strong", {}, `${value} (changed)`) : value, usual]);
    row.className = changed ? "changed" : "";
    body.append(row);
  }
  body.append(tableRow(["PyTorch modelled", data.torch, ""]));
  table.append(body);
  const conf = data.conf === "" ? "default settings" : `PYTORCH_CUDA_ALLOC_CONF=${data.conf}`;
  byId("settings-table").append(table, element("p", {class: "about"}, conf));

  const counts = element("table", {"aria-label": "Counts"});
  counts.append(tableHead(["Count", "#Value"]));
  const rows = element("tbody");
  data.counts.forEach(([name, n]) => rows.append(tableRow([name, countText(n)], [1])));
  counts.append(rows);
  byId("counts-table").append(counts);
}

function drawMarksTable(data) {
  const counts = data.mark_counts;
  const total = counts.out_of_memory + counts.retry + counts.empty_cache;
  if (total === 0) {
    byId("marks-details").hidden = true;
    return;
  }
  byId("marks-summary").textContent = `${counts.out_of_memory} out of memory, ${plural(counts.retry, "retry").replace("retrys", "retries")}, ` +
      `${counts.empty_cache} empty_cache`;
  const rows = data.marks.map(([kind, at, bytes]) => tableRow([MARKS[kind].name, countText(at), kind === "empty_cache" ? "released" : "asked for", sizeText(bytes)], [1, 3]));
  const left = total - data.marks.length;
  byId("marks-table").append(siteTable(["Mark", "#Operation", "", "#Bytes"], rows,
                                       left > 0 ? tableRow([`${countText(left)} more`, "", "", ""]) : null, "Marks"));
}

function drawOoms(data) {
  const host = byId("ooms-list");
  for (const node of document.querySelectorAll("[data-needs=ooms]")) {
    node.hidden = data.ooms.length === 0;
  }
  for (const oom of data.ooms) {
    const facts = [["asked for", oom.requested_bytes], ["needed from the device", oom.segment_bytes],
                   ["free on the device", oom.device_free_bytes], ["memory limit", oom.allowed_bytes],
                   ["reserved", oom.reserved_bytes], ["allocated", oom.allocated_bytes],
                   ["largest free block", oom.largest_free_block_bytes],
                   ["largest usable here", oom.largest_usable_free_block_bytes]];
    const figures = element("dl", {class: "figures"});
    for (const [name, bytes] of facts.filter(([, value]) => value !== null)) {
      figures.append(element("div", {}, element("dt", {}, name), element("dd", {}, sizeText(bytes))));
    }
    const rows = oom.pools.map((pool) => tableRow([
      `${pool.pool}${pool.owner[0] || pool.owner[1] ? `, private pool ${pool.owner.join(",")}` : ""}`, pool.stream,
      sizeText(pool.reserved_bytes), sizeText(pool.allocated_bytes), sizeText(pool.pending_free_bytes),
      sizeText(pool.free_bytes), sizeText(pool.largest_free_block_bytes)], [2, 3, 4, 5, 6]));
    host.append(element("div", {class: "account"}, element("h3", {}, `At operation ${countText(oom.operation)}`), figures,
        siteTable(["Pool", "Stream", "#Reserved", "#Allocated", "#Pending", "#Free", "#Largest free block"], rows, null, "Pools")));
  }
  const more = data.mark_counts.out_of_memory - data.ooms.length;
  if (more > 0) {
    host.append(element("p", {class: "about"}, `${countText(more)} more are not listed.`));
  }
}

function drawNotes(data) {
  byId("notes-list").append(...data.notes.map((note) => element("li", {}, note)));
  byId("trust").textContent = data.trust;
}
