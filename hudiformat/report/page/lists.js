// Tables of any number of rows, of which one page is in the document.

const PAGE = 15;

// columns: { title, value(row): what it is sorted by, text(row), number, code, short: in one line, long, state(row) };
// open(row): what a click on the first cell does.
function list(host, { caption, columns, rows, open, openTitle, sorted = -1, descending = false, search }) {
  let order = Array.from({ length: rows }, (_, row) => row);
  let page = 0;
  let by = sorted;
  let down = descending;
  let wanted = "";

  // The roles are those that the elements have: a narrow window lays rows out as cards, and they would lose them.
  const body = element("tbody", { role: "rowgroup" });
  const headings = columns.map((column, place) => {
    const mark = element("span", { class: "mark", "aria-hidden": "true" });
    const press = button(column.title, () => sort(place));
    press.append(mark);
    const kind = column.number ? "number" : null;
    return { cell: element("th", { scope: "col", role: "columnheader", class: kind }, press), mark };
  });
  const table = element(
    "table",
    { role: "table" },
    element("caption", { class: "unseen" }, caption),
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, headings.map((heading) => heading.cell))),
    body,
  );
  const where = element("span", { class: "where", "aria-live": "polite" });
  const back = button("Back", () => turn(page - 1));
  const on = button("Next", () => turn(page + 1));
  const pager = element("div", { class: "pager" }, back, where, on);

  function cell(column, row, place) {
    const text = column.text ? column.text(row) : String(column.value(row));
    const kind = [column.number && "number", column.code && "code", column.short && "short", column.long && "long"].filter(Boolean).join(" ") || null;
    const state = column.state ? column.state(row) : null;
    const shown = state ? element("span", { class: `state ${state}` }, text) : text;
    const titled = { class: kind, "data-title": column.title };
    if (place > 0) return element("td", { ...titled, role: "cell" }, shown);
    const first = open ? button(text, () => open(row), { class: "link", title: openTitle }) : shown;
    return element("th", { ...titled, scope: "row", role: "rowheader" }, first);
  }

  function show() {
    const pages = Math.max(1, Math.ceil(order.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const shown = order.slice(page * PAGE, (page + 1) * PAGE);
    fill(body, shown.map((row) => element("tr", { role: "row" }, columns.map((column, place) => cell(column, row, place)))));
    const first = order.length ? page * PAGE + 1 : 0;
    where.textContent = `${count(first)}–${count(page * PAGE + shown.length)} of ${count(order.length)}`;
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
    pager.hidden = rows <= PAGE;
    headings.forEach((heading, place) => {
      heading.cell.setAttribute("aria-sort", place === by ? (down ? "descending" : "ascending") : "none");
      heading.mark.textContent = place === by ? (down ? "▾" : "▴") : "";
    });
  }

  function turn(next) {
    page = next;
    show();
  }

  function arrange() {
    order = Array.from({ length: rows }, (_, row) => row);
    if (wanted) order = order.filter((row) => search(row).toLowerCase().includes(wanted));
    if (by >= 0) {
      const keys = order.length ? columns[by].value : null;
      const cached = new Map(order.map((row) => [row, keys(row)]));
      const compare = (a, b) => {
        const [left, right] = [cached.get(a), cached.get(b)];
        return left < right ? -1 : left > right ? 1 : a - b;
      };
      order.sort(down ? (a, b) => compare(b, a) : compare);
    }
    page = 0;
    show();
  }

  function sort(place) {
    down = place === by ? !down : Boolean(columns[place].number);
    by = place;
    arrange();
  }

  const parts = [];
  if (search && rows > PAGE) {
    const input = element("input", { type: "search", "aria-label": `Search: ${caption}`, placeholder: "Search" });
    input.addEventListener("input", () => {
      wanted = input.value.trim().toLowerCase();
      arrange();
    });
    parts.push(input);
  }
  const scroll = element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" }, table);
  add(host, [element("div", { class: "list" }, parts, scroll, pager)]);
  arrange();
}
