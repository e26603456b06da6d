// Puts a box above each table of class "filtered" that shows only the rows which contain every word typed into it.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.filtered")) {
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());

    const box = document.createElement("input");
    box.type = "search";
    box.placeholder = "Filter, for example: nn.GRU, or: refused conv";
    box.setAttribute("aria-label", "Filter the names");
    const count = document.createElement("output");
    const bar = document.createElement("div");
    bar.className = "filter-bar";
    bar.append(box, count);
    (table.closest(".table-wrapper") ?? table).before(bar);

    const show = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every((word) => texts[i].includes(word));
        shown += !row.hidden;
      });
      count.textContent = `${shown} of ${rows.length}`;
      history.replaceState(null, "", box.value ? `#filter=${encodeURIComponent(box.value)}` : location.pathname);
    };
    const given = location.hash.match(/^#filter=(.*)$/);
    if (given) box.value = decodeURIComponent(given[1]);
    box.addEventListener("input", show);
    show();
  }
});
