// The sections of the page, each from its part of the facts.

function copied(command) {
  const code = element("code", { tabindex: "0" }, command);
  const press = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(command);
      press.textContent = "Copied";
      say("Copied");
    } catch {
      getSelection().selectAllChildren(code);
      press.textContent = "Selected";
      say("The command is selected");
    }
  });
  press.setAttribute("aria-label", "Copy the command");
  return element("div", { class: "command" }, code, press);
}

function showAdvice(facts) {
  const [first, ...others] = facts.advice;
  byId("next").classList.add(first.severity ? "due" : "fine");
  byId("headline").textContent = first.headline;
  fill(byId("command"), first.command ? copied(first.command) : null);
  const items = others.map((one) => element("li", {}, one.headline, ...(one.command ? [copied(one.command)] : [])));
  fill(byId("more-advice"), items.length ? element("details", {}, element("summary", {}, `Then: ${counted(items.length, "other thing")} to do`), element("ol", {}, items)) : null);
}

function showProblems(problems) {
  if (!problems.length) return;
  const items = problems.map((one) => element("li", {}, one));
  add(byId("problems"), [element("div", { class: "problems", role: "alert" }, element("strong", {}, "Parts of the table could not be read, and this report leaves them out:"), element("ul", {}, items))]);
}

function pair(name, value, more) {
  return element("div", {}, element("dt", {}, name), element("dd", {}, value, more ? element("small", {}, more) : null));
}

function showTop(facts) {
  const { identity, layout } = facts;
  const { totals } = layout;
  const kinds = { COPY_ON_WRITE: "Copy-on-write", MERGE_ON_READ: "Merge-on-read" };
  document.title = `${identity.name} – Hudi table`;
  byId("kind").textContent = `${kinds[identity.table_type] || identity.table_type} table, version ${identity.version}`;
  byId("name").textContent = identity.name;
  byId("path").textContent = identity.path;
  const last = facts.last_commit;
  fill(
    byId("tiles"),
    pair("Size", size(totals.base_bytes + totals.log_bytes), `${size(layout.stored_bytes)} stored, with older versions`),
    pair("Partitions", count(layout.partition_count)),
    pair("File groups", count(totals.file_groups), `${count(layout.groups_with_logs)} with log files`),
    pair("Base files", count(totals.base_files), `${size(totals.base_bytes)}, ${count(totals.small_base_files)} small`),
    pair("Log files", count(totals.log_files), totals.log_files ? size(totals.log_bytes) : "none"),
    pair("Last commit", last ? instant(last.time) : "none", last ? last.operation || last.action : ""),
  );
  byId("made").textContent = `Made at ${facts.made_at}, in the table's time zone, by ${facts.made_by}.`;
}

function showIdentity(facts) {
  const { identity } = facts;
  const names = (list) => (list.length ? list.join(", ") : "none");
  fill(
    byId("identity"),
    pair("Record key", names(identity.record_key)),
    pair("Ordering fields", names(identity.ordering)),
    pair("Partition fields", names(identity.partition_by)),
    pair("Merge mode", identity.merge_mode),
    pair("Base files", identity.base_file_format),
    pair("Index of writes", identity.index_type),
    pair("Metadata table", names(identity.indexes)),
    pair("Time zone of instants", identity.timeline_zone),
    pair("Size that files aim at", size(facts.limits.target)),
    pair("Small files are below", facts.limits.small > 0 ? size(facts.limits.small) : "turned off"),
  );
}

function showContents() {
  const links = [...document.querySelectorAll("main > section[id] > h2")].slice(1).map((heading) =>
    element("a", { href: `#${heading.parentElement.id}` }, heading.textContent),
  );
  fill(byId("contents"), links);
}

function showLayout(facts) {
  const { layout } = facts;
  const { partitions, groups, totals } = layout;
  const host = byId("partitions");
  if (!totals.file_groups) {
    fill(byId("treemap"), note("The table has no files yet."));
    return null;
  }
  const starts = [0];
  partitions.shown.forEach((shown, p) => starts.push(starts[p] + shown));
  const map = treemap(byId("treemap"), layout, (zoom) => (zoom < 0 ? listPartitions() : listGroups(zoom)));

  function listPartitions() {
    fill(host);
    const open = (p) => {
      map.open(p);
      map.canvas.focus();
      map.canvas.scrollIntoView({ block: "nearest" });
    };
    list(host, {
      caption: "Partitions",
      rows: partitions.paths.length,
      sorted: 1,
      descending: true,
      search: (p) => partitions.paths[p],
      open: layout.partition_count > 1 ? open : null,
      openTitle: "Show this partition alone",
      columns: [
        { title: "Partition", code: true, value: (p) => partitions.paths[p], text: (p) => partitionName(partitions.paths[p]) },
        { title: "Bytes", number: true, value: (p) => partitions.base_bytes[p] + partitions.log_bytes[p], text: (p) => size(partitions.base_bytes[p] + partitions.log_bytes[p]) },
        { title: "File groups", number: true, value: (p) => partitions.groups[p], text: (p) => count(partitions.groups[p]) },
        { title: "Base", number: true, value: (p) => partitions.base_bytes[p], text: (p) => size(partitions.base_bytes[p]) },
        { title: "Small files", number: true, value: (p) => partitions.small[p], text: (p) => count(partitions.small[p]) },
        { title: "Logs", number: true, value: (p) => partitions.log_bytes[p], text: (p) => size(partitions.log_bytes[p]) },
        { title: "Log files", number: true, value: (p) => partitions.log_files[p], text: (p) => count(partitions.log_files[p]) },
      ],
    });
    if (partitions.left_off) add(host, [note(`The list leaves out the ${counted(partitions.left_off, "smallest partition")}.`)]);
  }

  function listGroups(p) {
    fill(host);
    const first = starts[p];
    list(host, {
      caption: `File groups of ${partitionName(partitions.paths[p])}`,
      rows: partitions.shown[p],
      sorted: 1,
      descending: true,
      search: (row) => groups.file_ids[first + row],
      columns: [
        { title: "File group", code: true, long: true, value: (row) => groups.file_ids[first + row] },
        { title: "Bytes", number: true, value: (row) => groups.base_bytes[first + row] + groups.log_bytes[first + row], text: (row) => size(groups.base_bytes[first + row] + groups.log_bytes[first + row]) },
        { title: "Base", number: true, value: (row) => groups.base_bytes[first + row], text: (row) => (groups.base_bytes[first + row] ? size(groups.base_bytes[first + row]) : "–") },
        { title: "Logs", number: true, value: (row) => groups.log_bytes[first + row], text: (row) => (groups.log_files[first + row] ? size(groups.log_bytes[first + row]) : "–") },
        { title: "Log files", number: true, value: (row) => groups.log_files[first + row], text: (row) => count(groups.log_files[first + row]) },
        { title: "Slice of", code: true, value: (row) => groups.instants[groups.instant[first + row]], text: (row) => instant(groups.instants[groups.instant[first + row]]) },
      ],
    });
    const left = partitions.groups[p] - partitions.shown[p];
    if (left) add(host, [note(`The list leaves out the ${counted(left, "smallest file group")} of the partition.`)]);
  }

  if (layout.partition_count > 1) listPartitions();
  else listGroups(0);
  return map;
}

function showSizes(facts) {
  const { totals } = facts.layout;
  const { target, small } = facts.limits;
  const average = totals.base_files ? ` The average is ${size(totals.base_bytes / totals.base_files)}.` : "";
  byId("sizes-lead").textContent = totals.base_files
    ? `${count(totals.small_base_files)} of ${counted(totals.base_files, "base file")} are below the small-file limit, so inserts may fill them up.${average}`
    : "";
  const marks = [{ bytes: target, name: "target size", kind: "target" }];
  if (small > 0) marks.unshift({ bytes: small, name: "small-file limit", kind: "small" });
  histogram(byId("histogram"), facts.layout.histogram, marks);
}

function showTimeline(facts) {
  const { events } = facts;
  const many = (status) => events.filter((event) => event.status === status).length;
  const parts = ["completed", "pending", "failed", "rolled back"].map((status) => [many(status), status]).filter(([number]) => number);
  const older = facts.events_left_off ? ` ${counted(facts.events_left_off, "older instant")} are left out.` : "";
  byId("timeline-lead").textContent = `${counted(events.length, "instant")} on the active timeline: ${parts.map(([number, status]) => `${count(number)} ${status}`).join(", ")}.${older}`;
  const host = byId("events");
  const chart = element("div");
  fill(host, chart);
  timeline(chart, events);
  if (!events.length) return;
  list(host, {
    caption: "Instants",
    rows: events.length,
    sorted: 0,
    descending: true,
    search: (row) => eventLines(events[row]).join(" "),
    columns: [
      { title: "Instant", code: true, value: (row) => events[row].time },
      { title: "Action", short: true, value: (row) => events[row].action },
      { title: "Operation", short: true, value: (row) => events[row].operation },
      { title: "Status", value: (row) => events[row].status, state: (row) => statusClass(events[row].status) },
      { title: "Completed", code: true, value: (row) => events[row].completed, text: (row) => (events[row].completed && instant(events[row].completed)) },
      { title: "Took", number: true, value: (row) => (events[row].seconds === null ? -1 : events[row].seconds), text: (row) => seconds(events[row].seconds) },
      { title: "Note", long: true, value: (row) => events[row].note },
    ],
  });
}

function showGrowth(facts) {
  const { growth } = facts;
  const host = byId("grown");
  const many = growth.times.length;
  if (!many) {
    fill(host, note("No commit has written anything yet."));
    return;
  }
  fill(host);
  const since = growth.is_whole ? "" : " Earlier commits are archived: rows count from the first commit shown, and the size before it is taken from the files that are still there.";
  byId("growth-lead").textContent = `From the statistics of ${counted(many, "commit")}.${since}`;
  const when = (point) => `${instant(growth.times[point])} ${growth.operations[point]}`;
  growthChart(host, {
    label: "Bytes that a query reads, and bytes written by each commit",
    times: growth.times,
    line: growth.total,
    bars: growth.written,
    name: size,
    lines: (point) => [when(point), `${size(growth.total[point])} in the table`, `${size(growth.written[point])} written`],
  });
  const changes = (point) => `${count(growth.inserted[point])} inserted, ${count(growth.updated[point])} updated, ${count(growth.deleted[point])} deleted`;
  const hasRows = [growth.inserted, growth.updated, growth.deleted, growth.rows].some((numbers) => numbers.some((one) => one !== 0));
  if (hasRows) {
    growthChart(host, {
      label: growth.is_whole ? "Rows" : "Rows, since the first commit shown",
      times: growth.times,
      line: growth.rows,
      name: count,
      whole: true,
      lines: (point) => [when(point), counted(growth.rows[point], "row"), changes(point)],
    });
  } else {
    add(host, [note("The commits do not say how many rows they wrote.")]);
  }
  list(host, {
    caption: "Growth, commit by commit",
    rows: many,
    sorted: 0,
    descending: true,
    columns: [
      { title: "Commit", code: true, value: (row) => growth.times[row] },
      { title: "Operation", short: true, value: (row) => growth.operations[row] },
      { title: "Written", number: true, value: (row) => growth.written[row], text: (row) => size(growth.written[row]) },
      { title: "In the table", number: true, value: (row) => growth.total[row], text: (row) => size(growth.total[row]) },
      { title: "Inserted", number: true, value: (row) => growth.inserted[row], text: (row) => count(growth.inserted[row]) },
      { title: "Updated", number: true, value: (row) => growth.updated[row], text: (row) => count(growth.updated[row]) },
      { title: "Deleted", number: true, value: (row) => growth.deleted[row], text: (row) => count(growth.deleted[row]) },
      { title: "Rows", number: true, value: (row) => growth.rows[row], text: (row) => count(growth.rows[row]) },
    ],
  });
}

function showBlocks(facts) {
  const slices = facts.blocks;
  const host = byId("log-blocks");
  if (!slices.length) {
    fill(host, note("The table has no log files."));
    return;
  }
  const more = facts.blocks_left_off ? ` ${counted(facts.blocks_left_off, "other slice")} with log files are not shown.` : "";
  byId("blocks-lead").textContent = `The blocks of the ${slices.length === 1 ? "file slice" : `${counted(slices.length, "file slice")}`} with the most bytes of log files, by their headers.${more}`;
  const options = slices.map((one, place) => {
    const where = one.partition ? `${one.partition}, ` : "";
    return element("option", { value: place }, `${where}${one.file_id}: ${size(one.log_bytes)} of logs`);
  });
  const select = element("select", { id: "slice" }, options);
  const shown = element("div");
  select.addEventListener("change", () => showSlice(Number(select.value)));
  fill(host, element("label", { class: "chooser", for: "slice" }, "File slice ", select), shown);

  function showSlice(place) {
    const one = slices[place];
    fill(shown);
    if (one.problem) add(shown, [note(one.problem)]);
    const sums = new Map();
    one.blocks.forEach((block) => sums.set(block.type, [(sums.get(block.type) || [0, 0])[0] + 1, (sums.get(block.type) || [0, 0])[1] + block.size]));
    const kinds = [...sums].map(([type, [number, bytes]]) => `${count(number)} ${type} (${size(bytes)})`);
    const base = one.base_bytes ? `a base file of ${size(one.base_bytes)}` : "no base file";
    add(shown, [element("p", {}, `Slice of ${instant(one.instant)}: ${base}, ${counted(one.files.length, "log file")} of ${size(one.log_bytes)}. Blocks: ${kinds.join(", ") || "none"}.`)]);
    if (!one.blocks.length) return;
    list(shown, {
      caption: "Log blocks, in merge order",
      rows: one.blocks.length,
      columns: [
        { title: "Block", number: true, value: (row) => row, text: (row) => count(row) },
        { title: "Type", short: true, value: (row) => one.blocks[row].type, state: (row) => (one.blocks[row].type === "CORRUPT" ? "bad" : null) },
        { title: "Size", number: true, value: (row) => one.blocks[row].size, text: (row) => size(one.blocks[row].size) },
        { title: "Instant", code: true, value: (row) => one.blocks[row].instant },
        { title: "Offset", number: true, value: (row) => one.blocks[row].offset, text: (row) => count(one.blocks[row].offset) },
        { title: "Note", long: true, value: (row) => one.blocks[row].note },
        { title: "Log file", code: true, long: true, value: (row) => one.files[one.blocks[row].file] },
      ],
    });
    if (one.more) add(shown, [note(`These are the first ${counted(one.blocks.length, "block")}; there are more.`)]);
  }
  showSlice(0);
}

function showOutlook(facts) {
  const host = byId("outlook");
  const names = { compaction: "Compaction", clustering: "Clustering" };
  const cards = facts.prospects.map((one) => {
    const title = element("h3", {}, `The next ${one.service}`);
    if (!one.groups_before) return element("div", { class: "card" }, title, note(one.why_not));
    const change = (name, before, after) => element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "number" }, before), element("td", { class: "number" }, after));
    const most = Math.max(one.bytes_before, one.bytes_after, 1);
    const bar = (bytes, kind) => drawn("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn("rect", { width: (100 * bytes) / most, height: 8, class: `bar ${kind}` }));
    const table = element(
      "table",
      {},
      element("caption", { class: "unseen" }, `${names[one.service]}: before and after`),
      element("thead", {}, element("tr", {}, element("td"), element("th", { scope: "col", class: "number" }, "now"), element("th", { scope: "col", class: "number" }, "after"))),
      element("tbody", {}, change("File groups", count(one.groups_before), count(one.groups_after)), change("Files", count(one.files_before), count(one.files_after)), change("Bytes", size(one.bytes_before), `about ${size(one.bytes_after)}`)),
    );
    return element("div", { class: "card" }, title, table, bar(one.bytes_before, "base"), bar(one.bytes_after, "after"));
  });
  fill(host, element("div", { class: "cards" }, cards), element("h3", {}, "What is due"));
  list(host, {
    caption: "Services",
    rows: facts.services.length,
    columns: [
      { title: "Service", short: true, value: (row) => facts.services[row].service },
      { title: "Due", value: (row) => (facts.services[row].error ? "unknown" : facts.services[row].is_due ? "due" : "not due"), state: (row) => (facts.services[row].error ? "bad" : facts.services[row].is_due ? "waiting" : "good") },
      { title: "Why", long: true, value: (row) => facts.services[row].why },
    ],
  });
}

function showFindings(facts) {
  const host = byId("found");
  const found = facts.findings;
  if (!found) {
    fill(host, note("The files of the table were not verified for this report."));
    return;
  }
  const kinds = Object.entries(found.counts);
  if (!kinds.length) {
    fill(host, element("p", {}, element("span", { class: "state good" }, "nothing is wrong"), " All files of the newest slices can be read."));
    return;
  }
  const total = kinds.reduce((sum, [, number]) => sum + number, 0);
  const more = total > found.first.length ? ` The first ${count(found.first.length)} are listed.` : "";
  fill(host, element("p", {}, `${kinds.map(([kind, number]) => `${count(number)} ${kind.toLowerCase()}`).join(", ")}.${more}`));
  const grave = (kind) => (kind === "uncommitted" || kind === "orphan" || kind === "leftover" ? "waiting" : "bad");
  list(host, {
    caption: "Findings",
    rows: found.first.length,
    search: (row) => `${found.first[row].kind} ${found.first[row].path} ${found.first[row].message}`,
    columns: [
      { title: "Kind", value: (row) => found.first[row].kind, state: (row) => grave(found.first[row].kind) },
      { title: "Path", code: true, long: true, value: (row) => found.first[row].path },
      { title: "What", long: true, value: (row) => found.first[row].message },
      { title: "Instants", code: true, value: (row) => found.first[row].instants.join(", ") },
    ],
  });
}
