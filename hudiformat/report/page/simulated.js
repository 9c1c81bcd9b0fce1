// The page of simulations starts here.

const facts = JSON.parse(byId("facts").textContent);
const { runs } = facts;
// Each line has a dash of its own, so that they differ without colours.
const DASHES = ["", "8 3", "2 3", "10 3 2 3", "5 5", "1 4"];
const strokeOf = (run) => `stroke-dasharray:${DASHES[run % DASHES.length] || "none"};opacity:${run < DASHES.length ? 1 : 0.55}`;
const duration = (value) => (value < 172800 ? seconds(value) : `${(value / 86400).toFixed(1)}\u00a0days`);
const factor = (value) => value.toFixed(value < 10 ? 2 : 1);
const NUMBERS = [
  ["File groups", "file_groups", count],
  ["Small", "small_file_groups", count],
  ["Median file", "base_file_p50", size],
  ["Log files", "log_files", count],
  ["Written per byte", "write_amplification", factor],
  ["Of it compaction", "write_amplification_compaction", factor],
  ["Of it clustering", "write_amplification_clustering", factor],
  ["Read, of needed", "read_file_amplification", factor],
  ["Stored at most", "stored_bytes_most", size],
  ["Write requests", "puts", count],
  ["Cost of requests", "request_cost", factor],
  ["Cost of storage", "storage_cost", factor],
];

document.title = "Simulation of a Hudi table";
byId("kind").textContent = "hudiformat simulate";
byId("name").textContent = "Simulation";
byId("made").textContent = "Simulated by hudiformat: expected values, without rows.";
byId("path").textContent = `${counted(runs[0].summary.commits, "commit")} of ${count(runs[0].summary.rows)} rows in all, ${size(runs[0].summary.bytes_in)}`;
byId("results-lead").textContent =
  runs.length > 1 ? "The best in bytes written and files read are marked: no other setting is better in both." : "After the last commit.";
list(byId("numbers"), {
  caption: "Results of each setting",
  rows: runs.length,
  sorted: 0,
  columns: [
    { title: "Settings", code: true, value: (row) => (runs[row].is_best ? "\u2605 " : "") + runs[row].name },
    ...NUMBERS.map(([title, name, as]) => ({ title, number: true, value: (row) => runs[row].summary[name], text: (row) => as(runs[row].summary[name]) })),
  ],
});
if (runs.length > 1) {
  fill(
    byId("legend"),
    runs.map((run, number) => {
      const line = drawn("path", { d: "M0 8H40", class: "line" });
      line.style.cssText = strokeOf(number);
      return element("li", {}, drawn("svg", { width: 40, height: 16, "aria-hidden": "true" }, line), ` ${run.name}`);
    }),
  );
}
const last = Math.max(...runs.map((run) => run.curves.seconds[run.curves.seconds.length - 1]), 1);
const longest = runs.reduce((a, b) => (b.curves.seconds.length > a.curves.seconds.length ? b : a));
const shares = (run) => run.curves.seconds.map((moment) => moment / last);
function over(of, label, name, whole) {
  const series = runs.map(of);
  lineChart(byId("drawn"), {
    label,
    about: `of ${counted(runs.length, "setting")}`,
    series,
    xs: (run) => shares(runs[run]),
    places: shares(longest),
    told: of(longest),
    style: strokeOf,
    ends: ["0", `after ${duration(last)}`],
    name,
    lines: (place) => [
      `after ${duration(longest.curves.seconds[place])}`,
      ...runs.slice(0, 12).map((run, number) => `${name(series[number][Math.min(place, series[number].length - 1)])}: ${run.name}`),
    ],
    whole,
  });
}
over((run) => run.curves.groups, "File groups", count, true);
over((run) => run.curves.small_groups, "Small file groups", count, true);
over((run) => run.curves.base_files.map((files, at) => files + run.curves.log_files[at]), "Files that a query reads", count, true);
over((run) => run.curves.base_bytes.map((held, at) => held + run.curves.log_bytes[at] + run.curves.kept_bytes[at]), "Bytes stored, with older versions", size);
for (const run of runs.slice(0, 12)) {
  const host = element("div", {});
  if (runs.length > 1) add(byId("histograms"), [element("h3", {}, run.name)]);
  add(byId("histograms"), [host]);
  histogram(host, run.sizes, [
    { bytes: run.small, name: "small below", kind: "small" },
    { bytes: run.target, name: "full at", kind: "target" },
  ].filter((one) => one.bytes > 0));
}
addEventListener("scroll", () => tip.hide(), { passive: true });
chooseTheme(() => {});
document.documentElement.dataset.ready = "true";
