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

// Shows what stands behind the mark nearest to the pointer, in place of the title, which a browser shows only late.
const NEAR = 14;
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.body.append(tip);
let near = null;

function nearest(svg, x, y) {
  let best = null, least = NEAR;
  for (const mark of svg.querySelectorAll(".mark")) {
    const box = mark.getBoundingClientRect();
    const far = Math.hypot(x - (box.left + box.right) / 2, y - (box.top + box.bottom) / 2);
    if (far < least) [best, least] = [mark, far];
  }
  return best;
}

function point(mark, x, y) {
  if (near && near !== mark) near.classList.remove("near");
  near = mark;
  tip.hidden = !mark;
  if (!mark) return;
  const title = mark.querySelector("title");
  if (title) {
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  mark.classList.add("near");
  tip.textContent = mark.getAttribute("aria-label");
  const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(x + 14, right))}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > window.innerHeight ? y - 12 - tip.offsetHeight : y + 18}px`;
}

for (const kind of ["pointermove", "pointerdown"]) {
  document.addEventListener(kind, (event) => {
    const svg = event.target.closest("svg");
    point(svg ? nearest(svg, event.clientX, event.clientY) : null, event.clientX, event.clientY);
  });
}
document.addEventListener("scroll", () => point(null), { capture: true, passive: true });

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy) copy(button);
  else if (button.closest("table.sortable thead")) sort(button.closest("th"));
});
