// The corpora and their properties, requested once per version.

import * as api from "./api.js";
import { join, name } from "./sql.js";

// All corpora, each with its name `own` within its database; two databases may have corpora of the same name.
export async function corpora(signal) {
  const own = async ({ corpus, database }) => {
    if (!corpus.startsWith(`${database}.`)) return corpus;
    const { rows } = await api.describe(corpus, signal);
    return rows.find(({ property }) => property === "corpus").value;
  };
  const all = await api.corpora(signal);
  return Promise.all(all.map(async (one) => ({ ...one, own: await own(one) })));
}

// The answer of DESCRIBE for a corpus: {properties: Map, fields: [{path, type}], kind, pieces}; `pieces` is true if
// tokens are pieces of words.
export async function describe(corpus, signal) {
  const said = await api.describe(corpus, signal);
  const properties = new Map(said.rows.map(({ property, value }) => [property, value]));
  const fields = Object.entries(said.fields).map(([path, type]) => ({ path, type: String(type) }));
  return { properties, fields, kind: String(said.tokenizer).split(/[ (]/)[0], pieces: said.tokens_are === "pieces" };
}

// True if words are matched as text. This is the default for pieces of words, which differ after a space.
export const asText = (state, info) => (state.text ? state.text !== "0" : info.pieces);

// The FROM clause; empty if the database has only one corpus.
export function from(all, corpus, version = null) {
  const found = all.find((one) => one.corpus === corpus);
  if (!found || (all.filter((one) => one.database === found.database).length < 2 && !version)) return "";
  return join("FROM", name(found.own), version && `AT VERSION ${version}`);
}

const SOURCES = ["title", "source", "url", "author", "name", "path", "date", "year", "time", "created", "lang"];

// Up to two fields that best identify the source of a text.
export function sourceFields(fields) {
  const plain = fields.filter(({ type }) => /string|int|float|double|date|time/.test(type) && !/list/.test(type));
  const rank = ({ path }) => {
    const at = SOURCES.indexOf(path.split(".").at(-1).toLowerCase());
    return at < 0 ? SOURCES.length : at;
  };
  return [...plain].sort((one, other) => rank(one) - rank(other)).slice(0, 2);
}

const isNumeric = ({ type }) => /int|float|double/.test(type);
export const isTime = (field) => isNumeric(field) && /year|decade|month|date|time/i.test(field.path);
export const isDate = ({ path, type }) => /string|date|timestamp/.test(type) && /date|time|day|created|published|modified/i.test(path);

// The fields to group by: times first, then fields that usually have few values.
export function groupFields(fields) {
  return [...fields].filter(({ type }) => !/list|object|map|struct/.test(type)).sort((one, other) => (isTime(other) || isDate(other)) - (isTime(one) || isDate(one)));
}
