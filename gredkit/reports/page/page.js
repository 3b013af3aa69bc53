"use strict";

// Sorts a table by the column whose header was pressed; a second press turns the order. What has no value stands last.
function sort(header) {
  const body = header.closest("table").tBodies[0];
  const column = header.cellIndex;
  const numeric = header.classList.contains("number");
  const direction = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  const sign = direction === "ascending" ? 1 : -1;
  const keyed = Array.from(body.rows, (row) => {
    const text = numeric ? row.cells[column].dataset.value : row.cells[column].textContent.trim();
    return { row, text, key: numeric ? Number(text) : text };
  });
  const words = new Intl.Collator("en", { numeric: true });
  keyed.sort((a, b) => {
    if (a.text === "" || b.text === "") return (a.text === "") - (b.text === "");
    return sign * (numeric ? a.key - b.key : words.compare(a.key, b.key));
  });
  body.append(...keyed.map((entry) => entry.row));
  for (const other of header.parentElement.cells) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", direction);
}

// A page opened as a file may be refused the clipboard: then the button says so.
async function copy(button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "copied";
  } catch {
    button.textContent = "not allowed";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) copy(button);
  else if (button.closest("table.sortable thead")) sort(button.closest("th"));
});
