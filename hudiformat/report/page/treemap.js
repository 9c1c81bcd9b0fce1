// The treemap: partitions, and in each its file groups, by bytes.  One partition can fill the picture.

const STRIP = 18; // the height of a partition's name, in pixels
const LEAST_LABEL = 54; // the width of a cell that has a name

// The rectangles of sizes[from..to), which descend, in a box: x, y, width and height of each, one after the other.
// Bruls, Huizing, van Wijk: Squarified treemaps.
function squarified(sizes, from, to, box) {
  const rects = new Float64Array(4 * (to - from));
  let [x, y, w, h] = box;
  let total = 0;
  for (let i = from; i < to; i += 1) total += sizes[i];
  const scale = total > 0 ? (w * h) / total : 0;
  let i = from;
  while (i < to) {
    const side = Math.min(w, h);
    const largest = sizes[i] * scale;
    if (!(side > 0) || !(largest > 0)) break;
    let row = 0;
    let best = Infinity;
    let end = i;
    while (end < to) {
      const area = sizes[end] * scale;
      const next = row + area;
      const worst = Math.max((side * side * largest) / (next * next), (next * next) / (side * side * area));
      if (worst > best) break;
      best = worst;
      row = next;
      end += 1;
    }
    const thick = row / side;
    let along = 0;
    for (let k = i; k < end; k += 1) {
      const long = (sizes[k] * scale) / thick;
      rects.set(w >= h ? [x, y + along, thick, long] : [x + along, y, long, thick], 4 * (k - from));
      along += long;
    }
    if (w >= h) {
      x += thick;
      w -= thick;
    } else {
      y += thick;
      h -= thick;
    }
    i = end;
  }
  return rects;
}

function treemap(host, layout, whenZoomed) {
  const { partitions, groups } = layout;
  const many = partitions.paths.length;
  const starts = new Int32Array(many + 1);
  for (let p = 0; p < many; p += 1) starts[p + 1] = starts[p] + partitions.shown[p];
  const sizeOf = (p) => partitions.base_bytes[p] + partitions.log_bytes[p];
  const groupSizes = Float64Array.from(groups.base_bytes, (bytes, g) => bytes + groups.log_bytes[g]);
  const total = layout.totals.base_bytes + layout.totals.log_bytes;

  const single = layout.partition_count === 1;
  let zoom = single ? 0 : -1;
  let at = -1; // the cell that is marked
  let cells = []; // { rect, kind: partition | group | others, index, bytes }
  let width = 0;
  let height = 0;

  const help =
    "Arrow keys go from one area to the next, Enter opens a partition, Escape leaves it. The table below has the same numbers.";
  const canvas = element("canvas", {
    tabindex: "0",
    role: "application",
    "aria-roledescription": "treemap",
    "aria-describedby": "treemap-help",
  });
  const paper = canvas.getContext("2d");
  const buffer = document.createElement("canvas");
  const out = button("All partitions", () => open(-1), { class: "out" });
  const trail = element("p", { class: "trail" });
  const frame = element("div", { class: "frame" }, canvas);
  const top = element("div", { class: "bar" }, out, trail);
  fill(host, top, frame, element("p", { id: "treemap-help", class: "hint" }, help));

  // Sizes of all groups of a partition; the groups that are not listed come last, as one.
  function groupsIn(p) {
    const sizes = Array.from(groupSizes.subarray(starts[p], starts[p + 1]));
    const listed = sizes.reduce((sum, one) => sum + one, 0);
    return { sizes, rest: Math.max(sizeOf(p) - listed, 0), unlisted: partitions.groups[p] - partitions.shown[p] };
  }

  function withRest(sizes, rest) {
    const items = sizes.map((bytes, index) => ({ bytes, index })).filter((item) => item.bytes > 0);
    if (rest > 0) items.push({ bytes: rest, index: -1 });
    items.sort((a, b) => b.bytes - a.bytes);
    return items;
  }

  function placed(items, box) {
    const rects = squarified(items.map((item) => item.bytes), 0, items.length, box);
    return items.map((item, k) => ({ ...item, rect: Array.from(rects.subarray(4 * k, 4 * k + 4)) }));
  }

  function arrange() {
    const box = [0, 0, width, height];
    if (zoom >= 0) {
      const { sizes, rest } = groupsIn(zoom);
      cells = placed(withRest(sizes, rest), box).map((item) => ({
        ...item,
        kind: item.index < 0 ? "others" : "group",
        index: item.index < 0 ? -1 : starts[zoom] + item.index,
      }));
    } else {
      const sizes = partitions.paths.map((_, p) => sizeOf(p));
      const rest = total - sizes.reduce((sum, one) => sum + one, 0);
      cells = placed(withRest(sizes, Math.max(rest, 0)), box).map((item) => ({
        ...item,
        kind: item.index < 0 ? "others" : "partition",
      }));
    }
  }

  function hatch(target) {
    const tile = document.createElement("canvas");
    tile.width = 6;
    tile.height = 6;
    const pen = tile.getContext("2d");
    pen.fillStyle = colour("--logs");
    pen.fillRect(0, 0, 6, 6);
    pen.strokeStyle = colour("--logs-line");
    pen.lineWidth = 1.2;
    for (const shift of [-3, 3, 9]) {
      pen.beginPath();
      pen.moveTo(shift - 3, 6);
      pen.lineTo(shift + 3, 0);
      pen.stroke();
    }
    return target.createPattern(tile, "repeat");
  }

  function paint() {
    const ratio = window.devicePixelRatio || 1;
    for (const one of [canvas, buffer]) {
      one.width = Math.round(width * ratio);
      one.height = Math.round(height * ratio);
    }
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = buffer.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colour("--gap");
    pen.fillRect(0, 0, width, height);
    const style = {
      base: colour("--base"),
      logs: hatch(pen),
      plain: colour("--logs"),
      others: colour("--others"),
      strip: colour("--strip"),
      ink: colour("--ink"),
      onBase: colour("--on-base"),
      font: getComputedStyle(document.body).fontFamily,
    };
    for (const cell of cells) {
      if (cell.kind === "partition") paintPartition(pen, cell, style);
      else if (cell.kind === "group") paintGroup(pen, cell.index, cell.rect, style, true);
      else paintOthers(pen, cell.rect, style);
    }
    paper.setTransform(1, 0, 0, 1, 0, 0);
    mark(at);
  }

  function paintPartition(pen, { index: p, rect: [x, y, w, h] }, style) {
    const named = w > LEAST_LABEL && h > 2.2 * STRIP;
    const gap = w > 8 && h > 8 ? 1.5 : 0.25;
    const strip = named ? STRIP : 0;
    if (named) {
      pen.fillStyle = style.strip;
      pen.fillRect(x + gap, y + gap, w - 2 * gap, strip);
      label(pen, partitionName(partitions.paths[p]), x + gap + 5, y + gap + 13, w - 2 * gap - 10, style.ink, style);
    }
    const inner = [x + gap, y + gap + strip, w - 2 * gap, h - 2 * gap - strip];
    if (!(inner[2] > 0) || !(inner[3] > 0)) return;
    if (w * h < 30) {
      paintShares(pen, partitions.base_bytes[p], partitions.log_bytes[p], inner, style);
      return;
    }
    const { sizes, rest } = groupsIn(p);
    for (const item of placed(withRest(sizes, rest), inner)) {
      if (item.index < 0) paintOthers(pen, item.rect, style);
      else paintGroup(pen, starts[p] + item.index, item.rect, style, false);
    }
  }

  function paintGroup(pen, g, [x, y, w, h], style, named) {
    const gap = w > 5 && h > 5 ? 0.75 : 0;
    const box = [x + gap, y + gap, w - 2 * gap, h - 2 * gap];
    paintShares(pen, groups.base_bytes[g], groups.log_bytes[g], box, style);
    const isRoomy = w > 1.4 * LEAST_LABEL && h > 2 * STRIP && groups.base_bytes[g] > groupSizes[g] / 2;
    if (named && isRoomy) {
      label(pen, groups.file_ids[g].slice(0, 8), x + 6, y + 15, w - 12, style.onBase, style);
      label(pen, size(groupSizes[g]), x + 6, y + 29, w - 12, style.onBase, style);
    }
  }

  function paintShares(pen, base, logs, [x, y, w, h], style) {
    const low = (h * logs) / (base + logs || 1);
    if (base > 0) {
      pen.fillStyle = style.base;
      pen.fillRect(x, y, w, h - low);
    }
    if (logs > 0) {
      pen.fillStyle = w * low > 60 ? style.logs : style.plain;
      pen.fillRect(x, y + h - low, w, low);
    }
  }

  function paintOthers(pen, [x, y, w, h], style) {
    pen.fillStyle = style.others;
    pen.fillRect(x + 0.75, y + 0.75, w - 1.5, h - 1.5);
  }

  function label(pen, text, x, y, room, ink, style) {
    pen.font = `12px ${style.font}`;
    pen.fillStyle = ink;
    let shown = text;
    if (pen.measureText(shown).width > room) {
      let end = Math.min(shown.length, Math.floor(room / 5));
      while (end > 0 && pen.measureText(`${shown.slice(0, end)}…`).width > room) end -= 1;
      if (end === 0) return;
      shown = `${shown.slice(0, end)}…`;
    }
    pen.fillText(shown, x, y);
  }

  function mark(place) {
    at = place;
    paper.clearRect(0, 0, canvas.width, canvas.height);
    paper.drawImage(buffer, 0, 0);
    if (place < 0 || place >= cells.length) return;
    const ratio = window.devicePixelRatio || 1;
    const [x, y, w, h] = cells[place].rect;
    paper.save();
    paper.scale(ratio, ratio);
    paper.lineWidth = 4;
    paper.strokeStyle = colour("--paper");
    paper.strokeRect(x + 2, y + 2, Math.max(w - 4, 1), Math.max(h - 4, 1));
    paper.lineWidth = 2;
    paper.strokeStyle = colour("--focus");
    paper.strokeRect(x + 1.5, y + 1.5, Math.max(w - 3, 1), Math.max(h - 3, 1));
    paper.restore();
  }

  function lines(place) {
    const cell = cells[place];
    if (cell.kind === "others") {
      const unlisted = zoom < 0 ? counted(partitions.left_off, "other partition") : counted(groupsIn(zoom).unlisted, "other file group");
      return [unlisted, size(cell.bytes)];
    }
    if (cell.kind === "partition") {
      const p = cell.index;
      return [
        partitionName(partitions.paths[p]),
        `${size(cell.bytes)}, ${percent(cell.bytes, total)} of the table`,
        `base files: ${size(partitions.base_bytes[p])} in ${counted(partitions.base_files[p], "file")}`,
        `log files: ${size(partitions.log_bytes[p])} in ${counted(partitions.log_files[p], "file")}`,
        counted(partitions.groups[p], "file group"),
      ];
    }
    const g = cell.index;
    return [
      groups.file_ids[g],
      `${size(cell.bytes)}, ${percent(cell.bytes, sizeOf(zoom))} of the partition`,
      `base file: ${groups.base_bytes[g] ? size(groups.base_bytes[g]) : "none"}`,
      `log files: ${groups.log_files[g] ? `${size(groups.log_bytes[g])} in ${counted(groups.log_files[g], "file")}` : "none"}`,
      `slice of ${instant(groups.instants[groups.instant[g]])}`,
    ];
  }

  function cellAt(x, y) {
    return cells.findIndex(({ rect: [left, top, w, h] }) => x >= left && x < left + w && y >= top && y < top + h);
  }

  // The cell whose middle is nearest in one direction.
  function beside(place, dx, dy) {
    if (place < 0) return cells.length ? 0 : -1;
    const middle = ({ rect: [x, y, w, h] }) => [x + w / 2, y + h / 2];
    const [mx, my] = middle(cells[place]);
    let best = place;
    let least = Infinity;
    cells.forEach((cell, other) => {
      const [x, y] = middle(cell);
      const ahead = (x - mx) * dx + (y - my) * dy;
      const aside = Math.abs((x - mx) * dy) + Math.abs((y - my) * dx);
      if (other !== place && ahead > 0.5 && ahead + 2 * aside < least) {
        least = ahead + 2 * aside;
        best = other;
      }
    });
    return best;
  }

  function open(p, tell = true) {
    if (single) return;
    const came = zoom;
    zoom = p;
    at = -1;
    tip.hide();
    describe();
    arrange();
    if (p < 0 && came >= 0 && document.activeElement === canvas) {
      at = cells.findIndex((cell) => cell.kind === "partition" && cell.index === came);
    }
    paint();
    if (tell) say(zoom < 0 ? "All partitions" : `Partition ${partitionName(partitions.paths[zoom])}, ${counted(partitions.groups[zoom], "file group")}`);
    whenZoomed(zoom);
  }

  function describe() {
    const where = zoom < 0 ? "all partitions" : partitionName(partitions.paths[zoom]);
    const bytes = zoom < 0 ? total : sizeOf(zoom);
    out.hidden = single || zoom < 0;
    const number = zoom < 0 ? counted(layout.partition_count, "partition") : counted(partitions.groups[zoom], "file group");
    fill(trail, element("strong", {}, where), ` ${number}, ${size(bytes)}`);
    canvas.setAttribute("aria-label", `Treemap of ${where}: ${number}, ${size(bytes)}. Press an arrow key to begin.`);
  }

  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const found = cellAt(event.clientX - box.left, event.clientY - box.top);
    if (found !== at) mark(found);
    if (found < 0) tip.hide();
    else tip.show(lines(found), event.clientX, event.clientY);
    canvas.classList.toggle("opens", found >= 0 && cells[found].kind === "partition");
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hide();
    if (document.activeElement !== canvas) mark(-1);
  });
  canvas.addEventListener("blur", () => {
    tip.hide();
    mark(-1);
  });
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const cell = cells[cellAt(event.clientX - box.left, event.clientY - box.top)];
    if (cell && cell.kind === "partition") open(cell.index);
  });
  canvas.addEventListener("keydown", (event) => {
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in ways) {
      const next = beside(at, ...ways[event.key]);
      if (next >= 0) {
        mark(next);
        const [x, y, w, h] = cells[next].rect;
        const box = canvas.getBoundingClientRect();
        tip.show(lines(next), box.left + x + Math.min(w / 2, 60), box.top + y + Math.min(h / 2, 40));
        say(lines(next).join(", "));
      }
    } else if (event.key === "Enter" && at >= 0 && cells[at].kind === "partition") {
      open(cells[at].index);
    } else if ((event.key === "Escape" || event.key === "Backspace") && zoom >= 0 && !single) {
      open(-1);
    } else {
      return;
    }
    event.preventDefault();
  });

  describe();
  whenSized(frame, (now) => {
    width = now;
    height = Math.round(Math.min(Math.max(width * 0.5, 280), 520));
    arrange();
    paint();
  });
  return { open, repaint: paint, canvas };
}
