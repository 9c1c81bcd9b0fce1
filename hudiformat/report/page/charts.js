// Charts: sizes of files, the timeline, and growth.

function picture(width, height, label) {
  return drawn("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, tabindex: "0", role: "application",
    "aria-roledescription": "chart", "aria-label": `${label} Arrow keys go through it.`,
  });
}

function text(x, y, content, attributes = {}) {
  return drawn("text", { x, y, ...attributes }, content);
}

// The lines and numbers of an axis of values from 0 to most.
function valueAxis(svg, { left, right, top, bottom, most, name, whole }) {
  const step = Math.max(niceStep(most || 1, 4), whole ? 1 : 0);
  const highest = Math.max(Math.ceil(most / step), 1) * step;
  const up = (value) => bottom - ((bottom - top) * value) / highest;
  for (let value = 0; value <= highest + step / 2; value += step) {
    const y = Math.round(up(value)) + 0.5;
    svg.append(drawn("line", { x1: left, x2: right, y1: y, y2: y, class: value ? "grid" : "axis" }));
    svg.append(text(left - 6, y + 4, name(value), { class: "label", "text-anchor": "end" }));
  }
  return up;
}

// Two bins for each doubling; marks are { bytes, name, kind }.
function histogram(host, bins, marks) {
  if (!bins.files.length) {
    fill(host, note("The table has no base files."));
    return;
  }
  const many = bins.files.length;
  const most = Math.max(...bins.files);
  const canvas = element("div", { class: "chart" });
  fill(host, canvas);
  whenSized(canvas, (width) => {
    const [left, right, top, bottom, height] = [46, width - 12, 40, 210, 246];
    const lowest = Math.log2(Math.max(bins.edges[0], 1));
    const farthest = Math.max(Math.log2(bins.edges[many]), ...marks.map((one) => Math.log2(Math.max(one.bytes, 1)) + 0.4));
    const across = (bytes) => left + ((right - left) * (Math.log2(Math.max(bytes, 1)) - lowest)) / (farthest - lowest);
    const svg = picture(width, height, `Base files by size: ${counted(bins.files.reduce((a, b) => a + b, 0), "file")}.`);
    const up = valueAxis(svg, { left, right, top, bottom, most, name: count, whole: true });
    const bars = bins.files.map((files, bin) => {
      const x = across(bins.edges[bin]);
      const wide = Math.max(across(bins.edges[bin + 1]) - x - 1.5, 1);
      const y = files ? Math.min(up(files), bottom - 1.5) : bottom;
      const bar = drawn("rect", { x, y, width: wide, height: bottom - y, class: "bar base" });
      svg.append(bar);
      return bar;
    });
    let free = left - 20;
    for (let bytes = 1; Math.log2(bytes) <= farthest; bytes *= [2, 2.5, 2][Math.round(Math.log10(bytes) * 3) % 3]) {
      const x = across(bytes);
      if (x < left - 1 || x < free || x > right - 10) continue;
      svg.append(drawn("line", { x1: x, x2: x, y1: bottom, y2: bottom + 5, class: "axis" }));
      svg.append(text(x, bottom + 20, size(bytes), { class: "label", "text-anchor": "middle" }));
      free = x + 62;
    }
    const shown = marks.filter((one) => across(one.bytes) >= left);
    shown.forEach(({ bytes, name, kind }, row) => {
      const x = across(bytes);
      const y = 12 + 15 * row;
      svg.append(drawn("path", { d: `M${x} ${y}V${bottom}`, class: `limit ${kind}` }));
      const side = x > (left + right) / 2 ? { "text-anchor": "end", dx: -6 } : { dx: 6 };
      svg.append(text(x, y, `${name}: ${size(bytes)}`, { class: "label", ...side, dy: 4 }));
    });
    const middle = (bin) => (across(bins.edges[bin]) + across(bins.edges[bin + 1])) / 2;
    cursor(svg, {
      places: () => many,
      at: (x, y) => (y > bottom + 6 ? -1 : bins.files.findIndex((_, bin) => x >= across(bins.edges[bin]) && x < across(bins.edges[bin + 1]))),
      where: (bin) => [middle(bin), bottom - 40],
      lines: (bin) => [
        `${size(bins.edges[bin])} to ${size(bins.edges[bin + 1])}`,
        counted(bins.files[bin], "base file"),
        size(bins.bytes[bin]),
      ],
      mark: (place) => bars.forEach((bar, bin) => bar.classList.toggle("marked", bin === place)),
    });
    fill(canvas, svg);
  });
}

const LANES = [
  ["writes", ["commit", "deltacommit", "replacecommit", "schemacommit"]],
  ["compaction", ["compaction", "logcompaction"]],
  ["clustering", ["clustering"]],
  ["clean", ["clean"]],
  ["rollback", ["rollback", "restore"]],
  ["savepoint", ["savepoint"]],
  ["indexing", ["indexing"]],
];
const MOST_DRAWN = 400;

function laneOf(event) {
  const service = { compact: "compaction", log_compact: "compaction", cluster: "clustering" }[event.operation];
  const found = LANES.find(([name, actions]) => (service ? name === service : actions.includes(event.action)));
  return found ? found[0] : "writes";
}

// The sign of a status, whose shape differs as its colour does.
function sign(status, x, y) {
  if (status === "failed") return drawn("path", { d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10`, class: "event failed" });
  if (status === "pending") return drawn("circle", { cx: x, cy: y, r: 4.5, class: "event pending" });
  if (status === "rolled back") {
    return drawn("path", { d: `M${x - 4} ${y - 4}h8v8h-8zM${x - 6} ${y + 6}l12 -12`, class: "event gone" });
  }
  return drawn("circle", { cx: x, cy: y, r: 4.5, class: "event completed" });
}

function statusClass(status) {
  return { completed: "good", pending: "waiting", failed: "bad", "rolled back": "gone" }[status];
}

function eventLines(event) {
  const done = event.completed ? `completed ${instant(event.completed)}` : "";
  return [
    `${event.action} ${instant(event.time)}`,
    event.status,
    event.operation,
    done,
    event.seconds === null ? "" : `took ${seconds(event.seconds)}`,
    event.note,
  ].filter(Boolean);
}

function timeline(host, events) {
  const shown = events.slice(-MOST_DRAWN);
  if (!shown.length) {
    fill(host, note("The timeline is empty."));
    return;
  }
  const lanes = LANES.map(([name]) => name).filter((name) => shown.some((event) => laneOf(event) === name));
  const [step, left, top, lane] = [18, 14, 26, 24];
  const scroll = element("div", { class: "scroll" });
  const names = element("ol", { class: "lanes", "aria-hidden": "true" }, lanes.map((name) => element("li", {}, name)));
  const legend = element(
    "ul",
    { class: "legend" },
    ["completed", "pending", "failed", "rolled back"].map((status) =>
      element("li", {}, drawn("svg", { width: 16, height: 16, "aria-hidden": "true" }, sign(status, 8, 8)), ` ${status}`),
    ),
  );
  fill(host, element("div", { class: "timeline" }, names, scroll), legend);
  whenSized(scroll, (room) => {
    const height = top + lane * lanes.length + 8;
    const apart = Math.min(Math.max((room - 2 * left) / Math.max(shown.length, 2), step), 44);
    const width = Math.max(Math.ceil(left * 2 + apart * (shown.length - 1)), room);
    const svg = picture(width, height, `Timeline of ${counted(shown.length, "instant")}.`);
    lanes.forEach((_, row) => {
      const y = top + lane * row + lane / 2;
      svg.append(drawn("line", { x1: 0, x2: width, y1: y, y2: y, class: "grid" }));
    });
    const place = (index) => [left + apart * index, top + lane * lanes.indexOf(laneOf(shown[index])) + lane / 2];
    let free = 0;
    let before = "";
    shown.forEach((event, index) => {
      const [x] = place(index);
      const date = day(event.time);
      if (date !== before && x >= free && x + 70 <= width) {
        svg.append(drawn("line", { x1: x - apart / 2 + 1, x2: x - apart / 2 + 1, y1: 6, y2: height, class: "grid" }));
        svg.append(text(Math.max(x - apart / 2 + 5, 2), 16, date, { class: "label" }));
        free = x + 86;
        before = date;
      }
    });
    const mark = ringAt(svg, 9, place);
    shown.forEach((event, index) => svg.append(sign(event.status, ...place(index))));
    cursor(svg, {
      places: () => shown.length,
      at: (x) => {
        const index = Math.round((x - left) / apart);
        return index >= 0 && index < shown.length ? index : -1;
      },
      where: place,
      lines: (index) => eventLines(shown[index]),
      mark,
    });
    fill(scroll, svg);
    scroll.scrollLeft = width;
  });
}

// A line over commits, with bars if there are any; lines(point) is what is told of a point.
function growthChart(host, { label, times, line, bars, name, lines, whole }) {
  const many = times.length;
  lineChart(host, {
    label,
    about: `over ${counted(many, "commit")}`,
    series: [line],
    bars,
    places: times.map((_, point) => (many === 1 ? 0.5 : point / (many - 1))),
    inset: 8,
    dots: many <= 60,
    ends: [day(times[0]), day(times[many - 1]) === day(times[0]) ? "" : day(times[many - 1])],
    name,
    lines,
    whole,
  });
}
