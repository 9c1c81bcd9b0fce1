// Lines over a common axis, and bars; a place of it at a time is told of.

// A ring around the place that is told of: a function that moves it, and hides it for -1.
function ringAt(svg, radius, where) {
  const ring = drawn("circle", { r: radius, class: "ring", visibility: "hidden" });
  svg.append(ring);
  return (place) => {
    ring.setAttribute("visibility", place < 0 ? "hidden" : "visible");
    if (place < 0) return;
    const [x, y] = where(place);
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
  };
}

// series: values of each line, with xs(line) or places as shares of the width, from 0 to 1; the cursor goes along places
// and along the values of told; style(line): CSS; ends: what is written below both ends; lines(place): what is told.
function lineChart(host, { label, about, series, xs, places, told, bars, inset = 0, dots, style, ends, name, lines, whole }) {
  const canvas = element("div", { class: "chart" });
  add(host, [element("h3", {}, label), canvas]);
  const values = told || series[0];
  whenSized(canvas, (width) => {
    const [left, right, top, bottom, height] = [64, width - 12, 12, 170, 200];
    const least = Math.min(0, ...series.flat());
    const most = Math.max(...series.flat(), ...(bars || [0]), least + 1);
    const svg = picture(width, height, `${label}, ${about}.`);
    const up = valueAxis(svg, { left, right, top, bottom, most: most - least, whole, name: (value) => name(value + least) });
    const across = (share) => left + inset + (right - left - 2 * inset) * share;
    const wide = Math.min(Math.max(((right - left) / places.length) * 0.6, 1), 18);
    (bars || []).forEach((value, place) => {
      const y = up(value - least);
      svg.append(drawn("rect", { x: across(places[place]) - wide / 2, y, width: wide, height: Math.max(bottom - y, 0), class: "bar written" }));
    });
    series.forEach((line, number) => {
      const at = xs ? xs(number) : places;
      const path = line.map((value, point) => `${point ? "L" : "M"}${across(at[point]).toFixed(1)} ${up(value - least).toFixed(1)}`).join("");
      const stroke = drawn("path", { d: path, class: "line" });
      if (style) stroke.style.cssText = style(number);
      svg.append(stroke);
      if (dots) line.forEach((value, point) => svg.append(drawn("circle", { cx: across(at[point]), cy: up(value - least), r: 2.6, class: "dot" })));
    });
    svg.append(text(left, bottom + 20, ends[0], { class: "label" }));
    if (ends[1]) svg.append(text(right, bottom + 20, ends[1], { class: "label", "text-anchor": "end" }));
    const where = (place) => [across(places[place]), up(values[place] - least)];
    cursor(svg, {
      places: () => places.length,
      at: (x) => nearest(places, (x - left - inset) / Math.max(right - left - 2 * inset, 1)),
      where,
      lines,
      mark: ringAt(svg, 6, where),
    });
    fill(canvas, svg);
  });
}

function nearest(places, share) {
  let best = 0;
  places.forEach((one, at) => {
    if (Math.abs(one - share) < Math.abs(places[best] - share)) best = at;
  });
  return best;
}
