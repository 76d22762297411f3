// What the page does beyond being read: downloads, filter, theme. All of it is optional.
"use strict";

const save = (name, type, content) => {
  const link = document.createElement("a");
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// Rows are gzip in base64: as text they would be half of the page.
const unpack = (packed) => {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const rows = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(rows).blob();
};

// An exported picture stands alone: variables become colours, title and caption go along.
const standalone = (name) => {
  const figure = document.getElementById(`figure-${name}`);
  const svg = figure.querySelector("svg").cloneNode(true);
  const style = getComputedStyle(document.documentElement);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = figure.querySelector("h3").textContent.replace(/^\s*\d+\s*/, "");
  const about = document.createElementNS("http://www.w3.org/2000/svg", "desc");
  about.textContent = figure.querySelector("figcaption").textContent;
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", width);
  ground.setAttribute("height", height);
  ground.setAttribute("fill", "var(--page)");
  svg.prepend(title, about, ground);
  const text = new XMLSerializer().serializeToString(svg);
  const resolved = text.replace(/var\((--[a-z0-9-]+)\)/g, (_, key) => style.getPropertyValue(key).trim());
  return { text: resolved, width, height };
};

const savePng = (name) => {
  const { text, width, height } = standalone(name);
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    const pen = canvas.getContext("2d");
    pen.scale(2, 2);
    pen.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => save(`${name}.png`, "image/png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
};

for (const controls of document.querySelectorAll(".controls")) {
  const name = controls.dataset.name;
  for (const button of controls.querySelectorAll("button[data-get]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      if (button.dataset.get === "csv") {
        const rows = controls.querySelector('script[type="application/gzip"]').textContent;
        unpack(rows).then((blob) => save(`${name}.csv`, "text/csv", blob));
      } else if (button.dataset.get === "svg") {
        save(`${name}.svg`, "image/svg+xml", standalone(name).text);
      } else {
        savePng(name);
      }
    });
  }
}

for (const filter of document.querySelectorAll(".filter")) {
  filter.hidden = false;
  const rows = [...filter.parentElement.querySelectorAll(":scope > .scroll tbody tr")];
  const count = filter.querySelector("output");
  filter.querySelector("input").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = wanted.length ? `${shown} of ${rows.length}` : "";
  });
}

const theme = document.getElementById("theme");
const stored = () => {
  try {
    return localStorage.getItem("flowsweep-theme");
  } catch {
    return null; // a file opened with storage forbidden
  }
};
const applied = (value) => {
  if (value) document.documentElement.dataset.theme = value;
};
applied(stored());
theme.hidden = false;
theme.addEventListener("click", () => {
  const systemDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (systemDark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  applied(next);
  try {
    localStorage.setItem("flowsweep-theme", next);
  } catch {
    // not kept, then
  }
});
