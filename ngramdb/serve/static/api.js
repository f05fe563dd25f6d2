// All requests of the page: no other module sends any.

import { hasSource } from "./sql.js";

// This file is in `static/`, directly below the base of the server.
export const ROOT = new URL("../", import.meta.url).href;

// Statements too long for an address that every proxy accepts are sent in the body.
const LONGEST_ADDRESS = 4000;

class ApiError extends Error {
  constructor(status, message, detail = {}) {
    super(message);
    this.status = status;
    this.detail = detail;
  }
}

let token = null;
try {
  token = sessionStorage.getItem("ngramdb.token");
} catch {
  // Storage may be disabled.
}

export function useToken(given) {
  token = given;
  try {
    sessionStorage.setItem("ngramdb.token", given);
  } catch {
    // The token is then requested again after a reload.
  }
}

async function ask(path, { signal, ...options } = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(new URL(path, ROOT), { ...options, headers, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server is not responding. It may have been stopped, or the network may be down.");
  }
  if (!response.ok) throw await failure(response);
  return response;
}

async function failure(response) {
  const text = await response.text();
  let said = {};
  try {
    said = JSON.parse(text);
  } catch {
    // A page of a proxy.
  }
  const error = said.error ?? said;
  const message = (typeof error === "string" ? error : error.message) || `The server answered ${response.status}.`;
  return new ApiError(response.status, message, typeof error === "object" ? { ...said, ...error } : said);
}

// The maximum number of rows, unless the server has another setting.
const MOST_ROWS = 1000;

// The database that statements are sent to, and the default corpus of statements if it has several.
let database = null;
let chosen = null;
export function useCorpus(all, corpus) {
  database = all.find((one) => one.corpus === corpus)?.database ?? null;
  chosen = all.filter((one) => one.database === database).length > 1 ? corpus : null;
}

// The corpus to send with a statement without FROM, or null.
export const lacking = (statement) => (hasSource(statement) ? null : chosen);

function sent(kind, statement, db, signal) {
  const corpus = db === database ? lacking(statement) : null;
  const own = { q: statement, limit: MOST_ROWS, ...(db ? { db } : {}), ...(corpus ? { corpus } : {}) };
  const named = Object.entries(own).map(([name, value]) => [name === "q" ? name : `_${name}`, value]);
  const path = `query.${kind}?${new URLSearchParams(named)}`;
  if (path.length <= LONGEST_ADDRESS) return ask(path, { signal });
  return ask(`query.${kind}`, { signal, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(own) });
}

// The answer of a statement: {columns, rows, summary, notes, truncated, elapsed}.
export async function query(statement, { signal, db = database } = {}) {
  try {
    return answer(await (await sent("json", statement, db, signal)).json());
  } catch (error) {
    // The time limit was exceeded; the answer has the rows found until then.
    if (error.status !== 408 || !error.detail.rows?.length) throw error;
    const found = answer(error.detail);
    return { ...found, truncated: true, notes: [...found.notes, `${error.message}: these are the first rows`] };
  }
}

// All corpora of the server: {corpus, database, version, documents, tokens, tokenizer}.
export async function corpora(signal) {
  return (await (await ask("corpora.json", { signal })).json()).rows;
}

const below = (corpus, page) => `${encodeURIComponent(corpus)}${page}.json`;

// The answer of DESCRIBE for a corpus, with `fields` by path.
export async function describe(corpus, signal) {
  return (await ask(below(corpus, ""), { signal })).json();
}

// The tokens of a text under the tokenizer of a corpus, including words that do not occur in it.
export async function tokens(corpus, text, signal) {
  const body = JSON.stringify({ q: text, limit: 0 });
  const response = await ask(below(corpus, "/trace"), { signal, method: "POST", headers: { "Content-Type": "application/json" }, body });
  return (await response.json()).tokens;
}

// A document: an answer with one row, and the half-open ranges of characters of a pattern's matches, with the
// tokens in which they begin. The answer has no rows if there is no such document, no ranges without a pattern.
export async function documentOf(corpus, version, number, pattern, signal) {
  const path = below(corpus, `${version ? `/@${version}` : ""}/documents/${number}`);
  const body = JSON.stringify(pattern ? { pattern } : {});
  try {
    const said = await (await ask(path, { signal, method: "POST", headers: { "Content-Type": "application/json" }, body })).json();
    return { ...answer(said), matches: said.matches ?? null, positions: said.positions ?? [] };
  } catch (error) {
    if (error.status !== 404) throw error;
    return { ...answer({}), matches: null, positions: [] };
  }
}

// Counts by a field or by periods of it: an answer with its statement.
export async function frequency(corpus, version, wanted, signal) {
  const given = Object.entries({ ...wanted, limit: wanted.limit ?? MOST_ROWS }).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  const at = version ? `/@${version}/frequency` : "/frequency";
  const said = await (await ask(`${below(corpus, at)}?${new URLSearchParams(given)}`, { signal })).json();
  return { ...answer(said), statement: said.statement };
}

// The versions and the removals of a corpus.
export async function versions(corpus, signal) {
  return answer(await (await ask(below(corpus, "/versions"), { signal })).json());
}
export async function removals(corpus, signal) {
  return answer(await (await ask(below(corpus, "/removals"), { signal })).json());
}

// In number columns, infinite values and NaN are sent as strings.
const NOT_FINITE = { Infinity, "-Infinity": -Infinity, NaN };
const revived = (value) => (typeof value === "string" && Object.hasOwn(NOT_FINITE, value) ? NOT_FINITE[value] : value);

function answer(said) {
  const columns = (said.columns ?? []).map((column) => (typeof column === "string" ? column : column.name));
  const isNumber = columns.map((_, at) => said.types?.[at] === "number");
  const rows = (said.rows ?? [])
    .map((row) => (Array.isArray(row) ? row : columns.map((column) => row[column])))
    .map((row) => row.map((value, at) => (isNumber[at] ? revived(value) : value)));
  return {
    columns,
    rows,
    summary: Object.fromEntries(Object.entries(said.summary ?? {}).map(([name, value]) => [name, revived(value)])),
    notes: said.notes ?? [],
    truncated: Boolean(said.truncated),
    elapsed: typeof said.elapsed_ms === "number" ? said.elapsed_ms / 1000 : null,
  };
}

// Suggestions for what to type next: [{text, start, kind, shown, about}].
export async function complete(text, cursor, { signal, corpus } = {}) {
  const wanted = new URLSearchParams({ q: text, cursor, ...(corpus ? { corpus } : {}) });
  const said = await (await ask(`complete.json?${wanted}`, { signal })).json();
  return said.candidates ?? [];
}

export const formats = ["csv", "jsonl", "arrow", "parquet"];

// The answer of a statement as a file, with as many rows as the server allows.
export async function download(statement, format, { signal, db = database } = {}) {
  const response = await sent(format, statement, db, signal);
  return { blob: await response.blob(), truncated: response.headers.get("x-truncated") === "true" };
}
