// The SVG of a panel: its marks, moved when a scale changes, and its axes, drawn anew.
const SVG = "http://www.w3.org/2000/svg";
const KEPT = ["d", "transform", "x2", "y2", "visibility"]; // what moving a mark changes
const BASELINE = 4; // a label stands so much below its tick
const CLIPPED = ["line", "area", "rect", "rule"]; // other marks are hidden where they are outside

const drawn = (name, attributes) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

const restore = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  }
};

// `translate(x,y)` of a node as numbers, null where there is none.
const placed = (node) => {
  const found = (node.getAttribute("transform") || "").match(/^translate\(([-\d.e]+),([-\d.e]+)\)/);
  return found ? [Number(found[1]), Number(found[2])] : null;
};

// The corners of a path in the order drawn; null where it has arcs.
const corners = (path) => {
  const found = [];
  let [x, y] = [0, 0];
  for (const [, command, rest] of path.matchAll(/([a-zA-Z])([^a-zA-Z]*)/g)) {
    const given = (rest.match(/-?[\d.]+(?:e-?\d+)?/g) || []).map(Number);
    if (/[MLC]/.test(command)) {
      for (let i = 0; i + 1 < given.length; i += 2) {
        [x, y] = [given[i], given[i + 1]];
        found.push({ command: i ? "" : command, x, y });
      }
    } else if (/[hv]/i.test(command)) {
      if (command === "H" || command === "V") [x, y] = command === "H" ? [given[0], y] : [x, given[0]];
      else [x, y] = command === "h" ? [x + given[0], y] : [x, y + given[0]];
      found.push({ command: "L", x, y });
    } else if (/[zZ]/.test(command)) {
      found.push({ command: "Z" });
    } else {
      return null;
    }
  }
  return found;
};

class Panel {
  constructor(node, name) {
    this.node = node;
    this.name = name;
    this.of = JSON.parse(node.dataset.of || "{}");
    // The group of the class holds one that is moved to its place, with the frame as first child.
    this.inner = node.querySelector(":scope > g");
    const frame = this.inner.querySelector(":scope > path").getAttribute("d");
    [this.width, this.height] = frame.match(/[hv]([\d.]+)/g).map((one) => Number(one.slice(1)));
    const { x, y } = node.dataset;
    this.scales = {
      x: x ? new Scale(x, 0, this.width) : null,
      y: y ? new Scale(y, this.height, 0) : null,
    };
    const own = (selector) =>
      [...this.inner.querySelectorAll(selector)].filter((one) => one.closest(".panel") === node);
    const groups = own(".mark");
    this.marks = groups.flatMap((group) =>
      [...group.children].map((mark) => this.read(mark, group.classList[1])),
    );
    this.fix("x", 0);
    this.fix("y", this.height);
    this.groups = groups
      .filter((group) => CLIPPED.includes(group.classList[1]))
      .map((group) => ({ group, clip: group.getAttribute("clip-path") }));
    this.axes = { x: [], y: [] };
    const isSeen = (group) => [...group.children].some((one) => one.getAttribute("opacity") !== "0");
    for (const group of own(".grid, .tick, .label").filter(isSeen))
      this.axes[this.sideOf(group)].push({ group, kind: group.classList[0], drawn: null });
    this.labels = { x: this.ownLabels("x"), y: this.ownLabels("y") };
    this.write = {};
  }

  // Bars that begin at 0 tell by their length: on a logarithmic axis the first part of one would look
  // like most of it.
  fix(axis, zero) {
    const begins = ({ kind, corners }) =>
      kind === "rect" && corners?.some((corner) => Math.abs(corner[axis] - zero) < 0.5);
    if (this.scales[axis]) this.scales[axis].isLength = this.marks.some(begins);
  }

  // Takes the labels of an axis, of another panel where it has none of its own, as examples.
  learn(axis, labels) {
    this.labels[axis] = labels;
    this.write[axis] = writer(labels.map(({ text }) => text));
    const number = labels.find(({ text }) => /^[\d.,]*[1-9][\d.,]* ?(|s|ms|µs|ns|k|M|G)$/.test(text));
    if (number) this.scales[axis]?.countAs(number.text, number.pixel);
  }

  sideOf(group) {
    const first = group.firstElementChild;
    if (first && first.tagName === "line") return first.getAttribute("x2") === "0" ? "x" : "y";
    return first && first.getAttribute("text-anchor") === "middle" ? "x" : "y";
  }

  ownLabels(axis) {
    return this.axes[axis]
      .filter(({ kind }) => kind === "label")
      .flatMap(({ group }) => [...group.children])
      .filter((label) => label.getAttribute("opacity") !== "0")
      .map((label) => {
        const [x, y] = placed(label);
        return { text: label.textContent, pixel: axis === "x" ? x - 0.5 : y - BASELINE };
      });
  }

  read(node, kind) {
    const keep = Object.fromEntries(KEPT.map((one) => [one, node.getAttribute(one)]));
    const at = placed(node);
    return { node, kind, keep, at, corners: at || !keep.d ? null : corners(keep.d), tip: node.dataset.tip };
  }

  // Where a place of the picture as it was made is now.
  moved(x, y) {
    return [this.scales.x ? this.scales.x.moved(x) : x, this.scales.y ? this.scales.y.moved(y) : y];
  }

  // Whether a place is inside the frame, along each axis.
  within(x, y) {
    return [x >= -1 && x <= this.width + 1, y >= -1 && y <= this.height + 1];
  }

  isInside(x, y) {
    return this.within(x, y).every(Boolean);
  }

  draw() {
    const changed = ["x", "y"].filter((axis) => this.scales[axis]?.isChanged);
    this.clip(changed.length > 0);
    for (const mark of this.marks) this.drawMark(mark, changed.length > 0);
    for (const axis of ["x", "y"]) this.drawAxis(axis, changed.includes(axis));
  }

  // Nothing that moved is drawn beside the panel.
  clip(isChanged) {
    if (!isChanged) this.frame?.remove();
    else {
      this.frame ??= drawn("clipPath", { id: `${this.name}-frame` });
      this.frame.replaceChildren(drawn("rect", { width: this.width, height: this.height }));
      this.inner.append(this.frame);
    }
    for (const { group, clip } of this.groups)
      restore(group, { "clip-path": isChanged ? `url(#${this.name}-frame)` : clip });
  }

  drawMark({ node, keep, at, corners: path }, isChanged) {
    restore(node, keep);
    if (!isChanged) return;
    const text = (numbers) => numbers.map((one) => one.toFixed(2)).join(",");
    if (at) {
      const before = this.within(...at);
      const isLine = node.tagName === "line";
      // Words that stood beside the panel stay beside it.
      const to = this.moved(...at).map((one, axis) => (isLine || before[axis] ? one : at[axis]));
      node.setAttribute("transform", keep.transform.replace(/^translate\([^)]*\)/, `translate(${text(to)})`));
      if (isLine) {
        const end = this.moved(at[0] + Number(keep.x2), at[1] + Number(keep.y2));
        node.setAttribute("x2", end[0] - to[0]);
        node.setAttribute("y2", end[1] - to[1]);
      } else if (this.within(...to).some((isIn, axis) => before[axis] && !isIn)) {
        node.setAttribute("visibility", "hidden");
      }
    } else if (path) {
      const part = ({ command, x, y }) =>
        command === "Z" ? "Z" : `${command || " "}${text(this.moved(x, y))}`;
      node.setAttribute("d", path.map(part).join(""));
    }
  }

  // Draws the labels that the panel has from another one, when that is not beside it any more, and
  // the words that stood over its row.
  borrow(isAlone, words) {
    this.label?.remove();
    const missing = words.filter((one) => !this.inner.textContent.includes(one)).join(" · ");
    if (isAlone && missing) {
      const place = { x: this.width, y: -6, "text-anchor": "end", "font-size": "12px" };
      this.label = drawn("text", { ...place, fill: "var(--muted)" });
      this.label.textContent = missing;
      this.inner.append(this.label);
    }
    for (const axis of ["x", "y"]) {
      const lent = this.axes[axis].filter(({ isLent }) => isLent);
      for (const { group, drawn: shown } of lent) {
        group.remove();
        shown?.remove();
      }
      this.axes[axis] = this.axes[axis].filter(({ isLent }) => !isLent);
      if (!isAlone || this.axes[axis].some(({ kind }) => kind === "label")) continue;
      const group = drawn("g", { fill: "var(--muted)", "font-size": "12px" });
      for (const { text, pixel } of this.labels[axis]) {
        const to = axis === "x" ? `${pixel + 0.5},${this.height + 17}` : `-4,${pixel + BASELINE}`;
        const anchor = axis === "x" ? "middle" : "end";
        const label = drawn("text", { transform: `translate(${to})`, "text-anchor": anchor });
        label.textContent = text;
        group.append(label);
      }
      if (!group.childElementCount) continue;
      this.inner.append(group);
      this.axes[axis].push({ group, kind: "label", drawn: null, isLent: true });
    }
    this.draw();
  }

  drawAxis(axis, isChanged) {
    const scale = this.scales[axis];
    for (const part of this.axes[axis]) {
      part.drawn?.remove();
      part.drawn = null;
      restore(part.group, { visibility: isChanged ? "hidden" : null });
      const sample = part.group.firstElementChild;
      if (!isChanged || !sample) continue;
      part.drawn = part.group.cloneNode(false);
      part.drawn.setAttribute("visibility", "inherit");
      const [x, y] = placed(sample);
      const ticks = scale.ticks(Math.max(axis === "x" ? this.width / 90 : this.height / 35, 3));
      const step = Math.min(...ticks.slice(1).map((tick, i) => tick - ticks[i]));
      const digits = Math.ceil(Math.log10(Math.max(...ticks.map(Math.abs)) / step)) + 1 || 1;
      for (const tick of ticks) {
        const mark = sample.cloneNode(true);
        const pixel = scale.pixel(tick);
        const below = pixel + (part.kind === "label" ? BASELINE : 0);
        const to = axis === "x" ? `${pixel},${y}` : `${x},${below}`;
        mark.setAttribute("transform", `translate(${to})`);
        mark.removeAttribute("opacity");
        if (part.kind === "label") mark.textContent = this.write[axis](tick, Math.min(Math.max(digits, 3), 12));
        part.drawn.append(mark);
      }
      part.group.after(part.drawn);
    }
  }

  // The value at a pixel as words. On a log axis 0 has a place with a word, and no number.
  words(axis, pixel) {
    const scale = this.scales[axis];
    if (!scale) return "";
    const isWord = (label) => Math.abs(label.pixel - pixel) < 1 && /^(0|[a-z ]+)$/i.test(label.text);
    const word = scale.first.kind === "log" && this.labels[axis].find(isWord);
    const value = word ? word.text : this.write[axis](scale.value(pixel, scale.first));
    return `${scale.title || axis}: ${value}`;
  }
}
