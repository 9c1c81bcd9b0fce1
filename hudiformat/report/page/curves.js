// Several lines on one axis, each with a dash of its own, so that they differ without colours.

const DASHES = ["", "8 3", "2 3", "10 3 2 3", "5 5", "1 4"];

function dashOf(run) {
  return DASHES[run % DASHES.length];
}

function strokeOf(run) {
  return `stroke-dasharray:${dashOf(run) || "none"};opacity:${run < DASHES.length ? 1 : 0.55}`;
}

function curves(host, { label, runs, of, name, whole }) {
  const canvas = element("div", { class: "chart" });
  add(host, [element("h3", {}, label), canvas]);
  whenSized(canvas, (width) => {
    const [left, right, top, bottom, height] = [64, width - 12, 12, 170, 200];
    const last = Math.max(...runs.map((run) => run.curves.seconds[run.curves.seconds.length - 1]), 1);
    const most = Math.max(...runs.flatMap((run) => of(run)), 1);
    const svg = picture(width, height, `${label}, of ${counted(runs.length, "setting")}.`);
    const up = valueAxis(svg, { left, right, top, bottom, most, whole, name });
    const across = (moment) => left + ((right - left) * moment) / last;
    runs.forEach((run, number) => {
      const values = of(run);
      const path = values.map((value, at) => `${at ? "L" : "M"}${across(run.curves.seconds[at]).toFixed(1)} ${up(value).toFixed(1)}`).join("");
      const line = drawn("path", { d: path, class: "line" });
      line.style.cssText = strokeOf(number);
      svg.append(line);
    });
    svg.append(text(left, bottom + 20, "0", { class: "label" }));
    svg.append(text(right, bottom + 20, `after ${duration(last)}`, { class: "label", "text-anchor": "end" }));
    const ring = drawn("circle", { r: 6, class: "ring", visibility: "hidden" });
    svg.append(ring);
    const longest = runs.reduce((a, b) => (b.curves.seconds.length > a.curves.seconds.length ? b : a));
    const points = longest.curves.seconds;
    const where = (point) => [across(points[point]), up(of(longest)[point])];
    cursor(svg, {
      places: () => points.length,
      at: (x) => nearest(points, ((x - left) / (right - left)) * last),
      where,
      lines: (point) => [
        `after ${duration(points[point])}`,
        ...runs.slice(0, 12).map((run) => `${name(of(run)[Math.min(point, of(run).length - 1)])}: ${run.name}`),
      ],
      mark: (point) => {
        ring.setAttribute("visibility", point < 0 ? "hidden" : "visible");
        if (point < 0) return;
        const [x, y] = where(point);
        ring.setAttribute("cx", x);
        ring.setAttribute("cy", y);
      },
    });
    fill(canvas, svg);
  });
}

function nearest(points, moment) {
  let best = 0;
  points.forEach((one, at) => {
    if (Math.abs(one - moment) < Math.abs(points[best] - moment)) best = at;
  });
  return best;
}

function duration(value) {
  return value < 172800 ? seconds(value) : `${(value / 86400).toFixed(1)}\u00a0days`;
}
