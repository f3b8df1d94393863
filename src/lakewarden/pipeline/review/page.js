"use strict";
// Search, sort and filter. Without it the page is plain tables; nothing is read from elsewhere.
(() => {
  const make = (name, text, attributes) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const key of Object.keys(attributes)) made.setAttribute(key, attributes[key]);
    return made;
  };
  const tables = Array.from(document.querySelectorAll("table")).map((table) => ({
    body: table.tBodies[0],
    heads: Array.from(table.tHead.rows[0].cells),
    rows: Array.from(table.tBodies[0].rows).map((row) => ({
      row,
      cells: Array.from(row.cells).map((cell) => cell.textContent),
      text: row.textContent.toLowerCase(),
    })),
    around: table.parentElement,
    chosen: new Map(),
  }));
  const found = make("output", "", { "aria-live": "polite" });
  const input = make("input", "", {
    type: "search", id: "search", autocomplete: "off", placeholder: "asset, person, type …",
  });
  const opened = new Set();

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const table of tables) {
      let here = 0;
      for (const { row, cells, text } of table.rows) {
        let keep = words.every((word) => text.includes(word));
        for (const [place, value] of table.chosen) keep = keep && cells[place] === value;
        row.hidden = !keep;
        here += keep ? 1 : 0;
      }
      count += here;
      const fold = table.around.closest("details");
      if (fold && words.length && here && !fold.open) {
        fold.open = true;
        opened.add(fold);
      }
    }
    if (!words.length) {
      for (const fold of opened) fold.open = false;
      opened.clear();
    }
    found.textContent = words.length ? `${count} rows` : "";
  };

  const number = (text) => Number(text.replace(/,/g, "")) || 0;
  const sort = (table, place) => {
    const head = table.heads[place];
    const isNumber = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const turn = before ? (before === "ascending" ? -1 : 1) : isNumber ? -1 : 1;
    table.heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
    const compare = (one, other) => isNumber
      ? number(one.cells[place]) - number(other.cells[place])
      : one.cells[place].localeCompare(other.cells[place]);
    table.rows.sort((one, other) => turn * compare(one, other));
    table.body.append(...table.rows.map(({ row }) => row));
  };

  const choice = (table, place) => {
    const values = Array.from(new Set(table.rows.map(({ cells }) => cells[place]))).sort();
    if (values.length < 2) return;
    const title = table.heads[place].textContent;
    const select = make("select", "", { "aria-label": `Only this: ${title}` });
    select.append(make("option", `${title}: all`, { value: "" }));
    values.forEach((value, at) => select.append(make("option", value || "none", { value: String(at + 1) })));
    select.addEventListener("change", () => {
      if (select.value) table.chosen.set(place, values[Number(select.value) - 1]);
      else table.chosen.delete(place);
      show();
    });
    table.around.before(select);
  };

  for (const table of tables) {
    table.heads.forEach((head, place) => {
      if (!head.textContent) return;
      if (head.hasAttribute("data-choice")) choice(table, place);
      const button = make("button", head.textContent, { type: "button" });
      button.addEventListener("click", () => sort(table, place));
      head.replaceChildren(button);
    });
  }
  const label = make("label", "Search ", { for: "search" });
  const bar = make("div", "", { class: "search", role: "search" });
  bar.append(label, input, found);
  input.addEventListener("input", show);
  document.querySelector("nav").after(bar);
})();
