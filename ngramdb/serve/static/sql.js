// Statements: written from values, and read as far as a page has to: colours, and what a search box holds.

// ---- writing ----------------------------------------------------------------------------------------------

export const ngram = (text) => JSON.stringify(text);
export const tokenIds = (ids) => `[${ids.join(", ")}]`;
export const name = (text) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : `\`${text.replaceAll("`", "``")}\``);

export function value(given) {
  if (given === null || given === undefined) return "NULL";
  if (typeof given === "boolean") return given ? "TRUE" : "FALSE";
  if (typeof given === "number") return String(given);
  return `'${String(given).replaceAll("'", "''")}'`;
}

// A field's path as DESCRIBE lists it, with a backslash before dots that belong to a key.
export function field(path) {
  return path
    .replace(/\\(.)|\./g, (whole, escaped) => (escaped ? escaped : "\u0000"))
    .split("\u0000")
    .map(name)
    .join(".");
}

// `clauses` that are not empty, with blanks between.
export const join = (...clauses) => clauses.filter(Boolean).join(" ");

export const is = (path, given) => (given === null ? `${field(path)} IS NULL` : `${field(path)} = ${value(given)}`);

// Conditions that all hold; each in parentheses where it may have an OR.
export function all(...conditions) {
  const left = conditions.filter(Boolean);
  if (left.length < 2) return left[0] ?? "";
  return left.map((one) => (/\bOR\b/i.test(one) ? `(${one})` : one)).join(" AND ");
}

// ---- reading ----------------------------------------------------------------------------------------------

const PIECES = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<comment>--[^\n]*|/\*[\s\S]*?(?:\*/|$))`,
    String.raw`(?<ngram>"(?:[^"\\]|\\[\s\S])*(?:"|$))`,
    String.raw`(?<value>'(?:[^']|'')*(?:'|$))`,
    "(?<name>`(?:[^`]|``)*(?:`|$))",
    String.raw`(?<gap>\[\s*\d+\s*\.\.\s*\d*\s*\])`,
    String.raw`(?<ids>\[[\s\d,]*(?:\]|$))`,
    String.raw`(?<number>\d+(?:\.\.\d+|\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<parameter>\?|:[A-Za-z_]\w*)`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_]*)`,
    String.raw`(?<operator>[<>=!]+|[^\s])`,
  ].join("|"),
  "gu",
);

// Of the grammar's, those that are no names as a rule.
const KEYWORDS = new Set(
  `ADD AGAINST ALTER ANALYZE AND AS ASC AT ATTACH BACKOFF BEAM BEFORE BETWEEN BY CASE CHECK CHI2 COLLOCATES COMPACT
  CONTAINING COPY CORPORA CORPUS COUNT CREATE DELETE DESC DESCRIBE DETACH DIACRITICS DICE DISPERSION DIST DIVERSITY
  DOCS DOCUMENTS DROP ENDING EXISTS EXPLAIN FALSE FROM GENERATE GIVEN GREEDY GROUP IF IGNORE ILIKE IN INFGRAM IS
  KEYWORDS KNESER_NEY KWIC LEFT LENGTH LIKE LIMIT LL LOGDICE LOGRATIO MATCH METHOD MI MI3 MILLION MIN NGRAM NGRAMS
  NOT NUCLEUS NULL OF OFFSET ON OR ORDER OVERLAP PER PREFIX PROB REMOVALS RESET REST RESTORE RETURN RETURNING RIGHT
  SAMPLE SCORE SEED SEGMENTS SENTENCE SET SETTINGS SHOW STARTING SUBTRACT TEMPERATURE TEXT TO TOKENIZER TOKENS TOP
  TRACE TRUE UNNEST USE USING VERSION VERSIONS WHERE WINDOW WITH WITHIN`.split(/\s+/),
);

// The pieces of a text, which join to it: {kind, text, start, stop}. Words are `keyword` or `name`.
export function scan(text) {
  return [...text.matchAll(PIECES)].map((match) => {
    let [kind] = Object.entries(match.groups).find(([, piece]) => piece !== undefined);
    if (kind === "word") kind = KEYWORDS.has(match[0].toUpperCase()) ? "keyword" : "name";
    return { kind, text: match[0], start: match.index, stop: match.index + match[0].length };
  });
}

const VERBS = new Set(
  "COUNT DOCS KWIC COLLOCATES KEYWORDS DISPERSION NGRAMS TRACE PROB DIST SCORE GENERATE DESCRIBE SHOW EXPLAIN CHECK".split(" "),
);
const OPENING = new Set(["ngram", "ids"]);
const COMPARING = /^(=|!=|<>|<|<=|>|>=|BETWEEN|IN|LIKE|ILIKE|IS|NOT)$/i;

// What a person has typed into the search box:
//   {kind: "empty"}
//   {kind: "statement", statement}   a question of the language, as it stands
//   {kind: "pattern", pattern, where}  n-grams in quotes or as ids, and what follows them after AND
//   {kind: "condition", where}       a condition that selects documents
//   {kind: "text", text}             anything else: words to look for as they stand
export function read(typed) {
  const text = typed.trim();
  if (!text) return { kind: "empty" };
  const pieces = scan(text).filter((piece) => piece.kind !== "space" && piece.kind !== "comment");
  if (!pieces.length) return { kind: "empty" };
  if (isStatement(pieces)) return { kind: "statement", statement: text.replace(/;\s*$/, "") };
  if (OPENING.has(pieces[0].kind)) return pattern(text, pieces);
  if (isCondition(pieces)) return { kind: "condition", where: text };
  return { kind: "text", text };
}

function isStatement([first, second]) {
  if (!VERBS.has(first.text.toUpperCase())) return false;
  if (!second) return first.text === "DOCS";
  const goesOn = second.kind !== "name" && second.kind !== "operator";
  return goesOn && (first.text === first.text.toUpperCase() || second.kind !== "keyword" || second.text === second.text.toUpperCase());
}

function isCondition(pieces) {
  const [first, second] = pieces;
  if (/^\($/.test(first.text) || (/^NOT$/i.test(first.text) && second && OPENING.has(second.kind))) {
    return pieces.some((piece) => OPENING.has(piece.kind) || COMPARING.test(piece.text));
  }
  if (/^(COUNT|OVERLAP)$/i.test(first.text) && second?.text === "(") return true;
  // A field is a name, or names with dots between; words of the language count in capitals, for texts have them too.
  let at = 0;
  while (isName(pieces[at]) && pieces[at + 1]?.text === "." && isName(pieces[at + 2])) at += 2;
  const comparison = pieces[at + 1]?.text;
  return isName(pieces[at]) && pieces.length > at + 2 && COMPARING.test(comparison) && comparison === comparison.toUpperCase();
}

const isName = (piece) => piece?.kind === "name" || piece?.kind === "keyword";

// "a" MATCH TEXT [1..2] "b" AND rest: the pattern, and the rest as a condition.
function pattern(text, pieces) {
  let at = 0;
  for (let open = true; at < pieces.length; at += 1) {
    const { kind, text: word } = pieces[at];
    if (open && OPENING.has(kind)) open = false;
    else if (kind === "gap") open = true;
    else if (!/^(MATCH|TEXT|TOKENS|IGNORE|CASE)$/i.test(word)) break;
  }
  const whole = { kind: "pattern", pattern: text, where: "", whole: text };
  if (at === pieces.length) return whole;
  const stop = pieces[at - 1].stop;
  // Words after a quotation: a text that happens to begin with quotes.
  if (pieces[at].kind === "name") return { kind: "text", text };
  if (!/^(AND|OR)$/i.test(pieces[at].text)) return whole;
  // A part of an OR, or of WITHIN, is no condition by itself: then the whole selects the documents.
  const entire = pieces.slice(at).some((piece) => /^(OR|WITHIN)$/i.test(piece.text));
  return {
    kind: "pattern",
    pattern: text.slice(0, stop),
    where: entire ? text : text.slice(pieces[at].stop).trim(),
    whole: text,
    partly: entire,
  };
}

// ---- for other programs -----------------------------------------------------------------------------------

// A string literal of Python: JSON's escapes are Python's, but for characters outside the BMP, which need none.
const pythonString = (text) => (text.includes("\n") && !text.includes('"""') && !/["\\]$/.test(text) ? `"""${text.replaceAll("\\", "\\\\")}"""` : JSON.stringify(text));

export function asPython(statement, root) {
  return `import ngramdb\n\ndb = ngramdb.connect(${JSON.stringify(root)})\nprint(db.execute(${pythonString(statement)}))\n`;
}

const shellString = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl(statement, root) {
  return `curl -G ${shellString(`${root}query.json`)} --data-urlencode ${shellString(`q=${statement}`)}\n`;
}
