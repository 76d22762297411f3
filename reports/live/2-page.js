// The page around it: tables to choose, a question, its rows.
const node = (name, content, classes = "") => {
  const made = document.createElement(name);
  made.append(...[content].flat());
  if (classes) made.className = classes;
  return made;
};
const at = (id) => document.getElementById(id);
const isNumber = (type) => /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL)/.test(type);

// A text of megabytes ends the page when it is laid out; the CSV has all of it.
const LONGEST = 10_000;
const cut = (value) => (value.length > LONGEST ? `${value.slice(0, LONGEST)} …` : value);

const table = (names, types, rows) => {
  const head = names.map((name, place) => node("th", name, isNumber(types[place]) ? "number" : ""));
  const cell = (value, place) =>
    value === null ? node("td", "null", "null") : node("td", cut(value), isNumber(types[place]) ? "number" : "");
  const made = node("table", [
    node("thead", node("tr", head)),
    node("tbody", rows.map((row) => node("tr", row.map(cell)))),
  ]);
  for (const one of head) one.scope = "col";
  return made;
};

const counted = (count) => `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`;

const show = (answer, seconds) => {
  const { names, types, rows, count, isKept } = answer;
  const more = rows.length < count ? `; the first ${rows.length.toLocaleString("en")} are shown` : "";
  at("state").textContent = `${counted(count)} in ${seconds.toFixed(2)} s${more}`;
  at("answer").replaceChildren(table(names, types, rows));
  at("csv").hidden = !isKept;
};

const describe = (one) => {
  const rows = one.columns.map(({ name, type, about }) => [name, type, about]);
  const known = rows.some(([, , about]) => about) ? 3 : 2;
  at("about").replaceChildren(
    node("p", [node("b", one.title), one.about ? `: ${one.about}` : ""]),
    node("div", table(["column", "type", "meaning"].slice(0, known), [], rows.map((row) => row.slice(0, known))), "scroll"),
  );
  at("about").hidden = false;
};

const csv = ({ names, rows }) => {
  const quoted = (value) => (value === null ? "" : /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [names, ...rows].map((row) => row.map(quoted).join(",")).join("\n") + "\n";
};

const save = (content) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
  link.download = "answer.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

const begin = async () => {
  const { tables } = JSON.parse(text("tables"));
  let database = await engine();
  let connection = await database.connect();
  await fill(connection, tables);

  const busy = (isBusy) => {
    at("run").disabled = isBusy;
    at("csv").disabled = isBusy;
    at("stop").hidden = !isBusy;
  };
  const run = async () => {
    if (at("run").disabled) return;
    busy(true);
    at("error").hidden = true;
    at("state").textContent = "Running …";
    const start = performance.now();
    try {
      show(await ask(connection, at("sql").value), (performance.now() - start) / 1000);
    } catch (failure) {
      at("state").textContent = "No answer";
      at("answer").replaceChildren();
      at("csv").hidden = true;
      at("error").textContent = failure.message;
      at("error").hidden = false;
    } finally {
      busy(false);
    }
  };

  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  at("sql").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  });
  at("csv").addEventListener("click", async () => save(csv(await answered(connection, ""))));
  // DuckDB in a page does not hear of a wish to stop while it computes: its worker ends.
  at("stop").addEventListener("click", async () => {
    await database.terminate();
    at("state").textContent = "Stopped; starting DuckDB again …";
    database = await engine();
    connection = await database.connect();
    await fill(connection, tables);
    at("state").textContent = "Stopped";
    busy(false);
  });
  for (const button of document.querySelectorAll("button.table")) {
    button.addEventListener("click", () => {
      describe(tables.find(({ title }) => title === button.dataset.table));
      at("sql").value = `from ${button.dataset.table}`;
      run();
    });
  }
  busy(false);
  await run();
  document.documentElement.dataset.ready = "yes";
};

begin().catch((failure) => {
  at("state").textContent = "DuckDB did not start";
  at("error").textContent = failure.message;
  at("error").hidden = false;
});
