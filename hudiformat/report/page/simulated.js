// The page of simulations starts here.

const facts = JSON.parse(byId("facts").textContent);
const { runs } = facts;
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
const over = (of, label, name, whole) => curves(byId("drawn"), { label, runs, of, name, whole });
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
