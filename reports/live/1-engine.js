// DuckDB in a worker, made from what the page carries: no request leaves it.
"use strict";

const text = (id) => document.getElementById(id).textContent;

const bytes = async (id) => {
  const packed = await fetch(`data:application/octet-stream;base64,${text(id)}`);
  return new Response(packed.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

// A worker of a page that was opened from a file cannot fetch what the page made: it is handed
// the program as bytes, and answers its own request with them.
const HANDED = `
const handed = new Promise((done) => {
  const take = (event) => {
    event.stopImmediatePropagation();
    removeEventListener("message", take);
    done(event.data);
  };
  addEventListener("message", take);
});
self.fetch = async () =>
  new Response(await handed, { headers: { "Content-Type": "application/wasm" } });
`;

const engine = async () => {
  const [program, worker] = await Promise.all([bytes("wasm"), bytes("worker")]);
  const url = URL.createObjectURL(new Blob([HANDED, worker], { type: "text/javascript" }));
  const thread = new Worker(url);
  thread.postMessage(program, [program]);
  const database = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), thread);
  await database.instantiate("https://handed.invalid/duckdb.wasm"); // an address that no one has
  URL.revokeObjectURL(url);
  return database;
};

// Each table under its name in its schema.
const fill = async (connection, tables) => {
  for (const { schema, name, part } of tables) {
    await connection.query(`create schema if not exists "${schema}"`);
    await connection.insertArrowFromIPCStream(new Uint8Array(await bytes(part)), {
      schema,
      name,
      create: true,
    });
  }
};

// What can stand in `from (...)`: its rows can be kept, counted and saved.
const isRows = (sql) =>
  /^(with|select|from|values|describe|show|summarize|pivot|unpivot|table)\b/i.test(
    sql.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, ""),
  );

const LIMIT = 1000; // rows that are shown

const texts = (result) => ({
  names: result.schema.fields.map((field) => field.name),
  rows: result.toArray().map((row) => [...row].map(([, value]) => (value === null ? null : String(value)))),
});

// Rows of the last answer as text, as DuckDB writes them: 64 bits and nanoseconds stay exact.
const answered = async (connection, end) =>
  texts(await connection.query(`select columns(*)::varchar from answer ${end}`));

// Asks, and gives the first rows of the answer, their types and how many there are.
const ask = async (connection, sql) => {
  const asked = sql.replace(/[\s;]+$/, "");
  if (!isRows(asked)) {
    const answer = texts(await connection.query(asked));
    return { ...answer, types: answer.names.map(() => "VARCHAR"), count: answer.rows.length };
  }
  await connection.query(`create or replace temp table answer as from (\n${asked}\n)`);
  const types = await connection.query("select column_type from (describe answer)");
  const count = await connection.query("select count(*)::integer from answer");
  return {
    ...(await answered(connection, `limit ${LIMIT}`)),
    types: texts(types).rows.flat(),
    count: Number(texts(count).rows[0][0]),
    isKept: true,
  };
};
