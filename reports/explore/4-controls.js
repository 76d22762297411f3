// What is nearest to a place in a panel, where the keyboard stops, and the controls of a figure.
const ALIKE = 4; // points no further apart are on each other
const isShown = (mark) => mark.node.getAttribute("visibility") !== "hidden";

// The words of a place: of its row where the mark has them, else what the axes say.
const read = (panel, x, y, mark, beside = []) => {
  const own = mark.tip ? mark.tip.split("; ") : [];
  const axes = mark.tip && mark.kind !== "line" ? [] : ["x", "y"].map((axis) => panel.words(axis, axis === "x" ? x : y));
  return { x, y, lines: [...own, ...axes, ...beside] };
};

const points = (panel) => panel.marks.filter((mark) => mark.kind === "symbol" && mark.at && isShown(mark));

// The corners of a line; of a step the one behind it.
const vertices = (mark) =>
  mark.corners.filter(({ x }, place) => mark.corners[place + 1]?.x !== x);

// Lines of the picture's ground, such as those of equal rate, are no data.
const isLine = (mark) =>
  mark.kind === "line" &&
  mark.corners?.length > 1 &&
  (mark.tip || !/--(axis|context)/.test(mark.node.getAttribute("stroke")));

// Both edges of an area from left to right: its path goes along one and comes back along the other.
const edges = ({ corners: path }) => {
  const places = path.filter(({ command }) => command !== "Z");
  const turn = places.findIndex(({ x }, place) => place > 0 && x < places[place - 1].x - 0.01);
  const back = turn < 0 ? places.length : turn;
  // The corner at the right end of the way back, where both edges end at one place.
  const from = back > 1 && Math.abs(places[back - 1].x - places[back - 2].x) < 0.01 ? back - 1 : back;
  return [places.slice(0, from), places.slice(from).reverse()];
};

// Where an edge is at x; of a step where it is behind it.
const edgeAt = (edge, x) => edge.filter((corner) => corner.x <= x + 0.01).at(-1)?.y;

// Whether an area has an edge below that is not the axis.
const isBand = (mark) => {
  const [, below] = edges(mark);
  return below.some(({ y }) => Math.abs(y - below[0].y) > 0.05);
};

// The area that shows how the runs behind a line differ: both have the same name, or none.
const bandOf = (panel, line) =>
  panel.marks.find((mark) => mark.kind === "area" && mark.corners && mark.tip === line.tip && isBand(mark));

// The ends of the band of a line at one of its corners.
const bandAt = (area, panel, x) => {
  const [one, other] = area ? edges(area).map((edge) => edgeAt(edge, x)) : [];
  if (one === undefined || other === undefined || Math.abs(one - other) < 0.05) return [];
  const ends = [Math.max(one, other), Math.min(one, other)].map(
    (y) => panel.words("y", y).split(": ").at(-1),
  );
  return [`runs: ${ends.join(" to ")}`];
};

const onLine = (panel, mark, { x, y }) => {
  const band = bandOf(panel, mark);
  return { ...read(panel, x, y, mark, bandAt(band, panel, x)), band };
};

const boxOf = (panel, mark) => {
  const places = mark.corners?.filter((one) => one.command !== "Z").map(({ x, y }) => panel.moved(x, y));
  if (!places?.length) return null;
  const [xs, ys] = [0, 1].map((i) => places.map((one) => one[i]));
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
};

const nearest = (panel, px, py) => {
  const far = (x, y) => {
    const to = panel.moved(x, y);
    return Math.hypot(to[0] - px, to[1] - py);
  };
  const around = points(panel)
    .map((mark) => ({ mark, away: far(...mark.at) }))
    .filter(({ away }) => away <= NEAR);
  const least = Math.min(...around.map(({ away }) => away));
  // Of points on each other the one on top.
  const point = around.filter(({ away }) => away <= least + ALIKE).at(-1);
  if (point) return read(panel, ...point.mark.at, point.mark);
  const bar = panel.marks.find((mark) => {
    const box = mark.kind === "rect" && mark.tip && boxOf(panel, mark);
    return box && px >= box[0] - 2 && px <= box[2] + 2 && py >= box[1] - 2 && py <= box[3] + 2;
  });
  if (bar) {
    const { x, y } = bar.corners[0];
    const last = bar.corners[2] || bar.corners[0];
    return read(panel, (x + last.x) / 2, (y + last.y) / 2, bar);
  }
  // Between points a line is drawn, not measured.
  const [line] = panel.marks
    .filter((mark) => isLine(mark) && !points(panel).length)
    .map((mark) => {
      const places = vertices(mark).filter(({ x, y }) => panel.isInside(...panel.moved(x, y)));
      const across = places.map(({ x, y }) => Math.abs(panel.moved(x, y)[0] - px));
      const corner = places[across.indexOf(Math.min(...across))];
      return corner && { mark, corner, away: Math.abs(panel.moved(corner.x, corner.y)[1] - py) };
    })
    .filter(Boolean)
    .sort((a, b) => a.away - b.away);
  return line ? onLine(panel, line.mark, line.corner) : null;
};

// The ways that the arrow keys go in a panel: the points from left to right, or the corners of each
// line, the one on top first. A stop is a function, as few of the many are ever read.
const tracks = (panel) => {
  const found = points(panel).filter((mark) => panel.isInside(...panel.moved(...mark.at)));
  if (found.length)
    return [found.sort((a, b) => a.at[0] - b.at[0]).map((mark) => () => read(panel, ...mark.at, mark))];
  const lines = panel.marks.filter(isLine).reverse().map((line) =>
    vertices(line)
      .filter(({ x, y }) => panel.isInside(...panel.moved(x, y)))
      .map((corner) => () => onLine(panel, line, corner)),
  ).filter((stops) => stops.length);
  return lines.length ? lines : [bars(panel)].filter((stops) => stops.length);
};

const bars = (panel) =>
  panel.marks
    .filter((mark) => mark.kind === "rect" && mark.tip && mark.corners?.length > 2)
    .map((mark) => () => {
      const [one, , other] = mark.corners;
      return read(panel, (one.x + other.x) / 2, (one.y + other.y) / 2, mark);
    });

const button = (text, press) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", press);
  return made;
};

const chooser = (name, values, chosen) => {
  const label = document.createElement("label");
  const select = document.createElement("select");
  select.append(new Option("all", ""), ...[...values].map((value) => new Option(value, value)));
  select.addEventListener("change", () => chosen(select.value));
  label.append(`${name} `, select);
  return label;
};

const fill = (place, explored) => {
  const wanted = {};
  for (const [name, values] of explored.choices)
    place.append(chooser(name, values, (value) => {
      wanted[name] = value;
      explored.choose(wanted);
    }));
  for (const axis of ["x", "y"]) {
    const scales = explored.panels.map((panel) => panel.scales[axis]).filter((one) => one?.canToggle);
    if (!scales.length) continue;
    const words = () => `${axis}: ${scales[0].kind === "log" ? "linear" : "log"}`;
    const toggle = button(words(), () => {
      explored.toggle(axis);
      toggle.textContent = words();
    });
    place.append(toggle);
  }
  const hint = document.createElement("span");
  hint.textContent = "drag zooms, double-click resets";
  place.append(
    button("zoom in", () => explored.zoom(2)),
    button("zoom out", () => explored.zoom(1 / 2)),
    button("reset", () => explored.reset()),
    hint,
  );
};

for (const figure of document.querySelectorAll("figure")) {
  if (!figure.querySelector(".panel")) continue;
  const explored = new Explored(figure);
  const details = document.createElement("details");
  details.className = "explore";
  const summary = document.createElement("summary");
  summary.textContent = "explore";
  const place = document.createElement("p");
  details.append(summary, place);
  details.addEventListener("toggle", () => place.childElementCount || fill(place, explored), { once: true });
  figure.querySelector(".controls").prepend(details);
}
