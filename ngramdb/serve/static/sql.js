// Statements: writing them from values, and scanning them for colours and for the search box.

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

// A field's path as listed by DESCRIBE, with a backslash before dots within a key.
export function field(path) {
  return path
    .replace(/\\(.)|\./g, (whole, escaped) => (escaped ? escaped : "\u0000"))
    .split("\u0000")
    .map(name)
    .join(".");
}

// The non-empty `clauses`, separated by spaces.
export const join = (...clauses) => clauses.filter(Boolean).join(" ");

export const is = (path, given) => (given === null ? `${field(path)} IS NULL` : `${field(path)} = ${value(given)}`);

// The conjunction of conditions, with parentheses around those that may contain OR.
export function all(...conditions) {
  const left = conditions.filter(Boolean);
  if (left.length < 2) return left[0] ?? "";
  return left.map((one) => (/\bOR\b/i.test(one) ? `(${one})` : one)).join(" AND ");
}

// ---- reading ----------------------------------------------------------------------------------------------

const PIECES = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    // A slash after a word, a number or a bracket, or before a space, divides, unless only a pattern can follow.
    String.raw`(?<regex>(?:(?<![\p{L}\p{N}_)\]])/(?![\s/*])|(?<=(?:^|\b(?:COUNT|KWIC|OF|WHERE|AND|OR|NOT)|[(|])\s*)/(?= ))(?:[^/\\\n]|\\[^\n])+/)`,
    String.raw`(?<comment>--[^\n]*|/\*[\s\S]*?(?:\*/|$))`,
    String.raw`(?<ngram>"(?:[^"\\]|\\[\s\S])*(?:"|$))`,
    String.raw`(?<value>'(?:[^']|'')*(?:'|$))`,
    "(?<name>`(?:[^`]|``)*(?:`|$))",
    String.raw`(?<mark></?s>)`,
    String.raw`(?<repetition>\{[\s\d,]*\})`,
    String.raw`(?<gap>\[\s*\d+\s*\.\.\s*\d*\s*\])`,
    String.raw`(?<ids>\[[\s\d,]*(?:\]|$))`,
    String.raw`(?<number>\d+(?:\.\.\d+|\.\d+)?(?:[eE][+-]?\d+|[KMBkmb]\b)?)`,
    String.raw`(?<parameter>\?|:[A-Za-z_]\w*)`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_]*)`,
    String.raw`(?<operator>[<>=!]+|[^\s])`,
  ].join("|"),
  "gu",
);

// Keywords of the grammar that are seldom used as names.
const KEYWORDS = new Set(
  `ADD AGAINST AGREEMENT ALTER ANALYZE AND ARGMAX AS ASC AT ATTACH BACKOFF BEAM BEFORE BETWEEN BY BYTES
  CANDIDATES CASE CHARACTERS CHECK COLLOCATES COMPACT CONTAINED CONTAINING CONTEXT CONTINUATIONS COPY CORPORA
  CORPUS COUNT CREATE CUT DECONTAMINATE DELETE DESC DESCRIBE DETACH DIACRITICS DISPERSION DIST DIVERSITY DOCS
  DOCUMENT DOCUMENTS DROP DUPLICATES ENDING EXISTS EXPLAIN FALSE FIELD FIELDS FIRST FROM GAP GENERATE GIVEN
  GREEDY GROUP IF IGNORE ILIKE IN INF INFGRAM IS KATZ KEEP KEYWORDS KNESER_NEY KWIC LEFT LENGTH LIKE LIMIT LINES
  LONGEST MATCH MAX METHOD MILLION MIN MINHASH NEAR NFC NGRAM NGRAMS NONE NORMALIZE NOT NOVELTY NUCLEUS NULL OF
  OFFSET ON OR ORDER ORDERS OVERLAP PER PERPLEXITY PIECES PITMAN_YOR PREFIX PROB QUOTES REJECTED REMOVALS
  REPLACE RESET REST RESTORE RETURN RETURNING RIGHT SAMPLE SCORE SEED SEGMENTS SENTENCE SET SETTINGS SHARE SHOW
  SKIP_KNESER_NEY SPACE SPANS STARTING STOP SUBTRACT TEMPERATURE TEXT TO TOKENIZER TOKENS TOP TRACE TRUE UNNEST
  UPDATE USE USING VERSION VERSIONS WEIGHTS WHERE WINDOW WITH WITHIN WITTEN_BELL`.split(/\s+/),
);

// The pieces of a text, which add up to it: {kind, text, start, stop}. Words are `keyword` or `name`.
export function scan(text) {
  return [...text.matchAll(PIECES)].map((match) => {
    let [kind] = Object.entries(match.groups).find(([, piece]) => piece !== undefined);
    if (kind === "word") kind = KEYWORDS.has(match[0].toUpperCase()) ? "keyword" : "name";
    return { kind, text: match[0], start: match.index, stop: match.index + match[0].length };
  });
}

const VERBS = new Set(
  "COUNT DOCS KWIC COLLOCATES KEYWORDS DISPERSION NGRAMS NEAR TRACE PROB DIST SCORE GENERATE PERPLEXITY AGREEMENT NOVELTY CONTINUATIONS DESCRIBE SHOW EXPLAIN CHECK".split(" "),
  "COUNT DOCS KWIC COLLOCATES KEYWORDS DISPERSION DUPLICATES NGRAMS TRACE PROB DIST SCORE GENERATE PERPLEXITY AGREEMENT NOVELTY CONTINUATIONS DESCRIBE SHOW EXPLAIN CHECK".split(" "),
);
const ANCHORS = new Set(["ngram", "ids", "regex", "mark", "repetition"]);
const MODIFIERS = /^(MATCH|TEXT|TOKENS|IGNORE|CASE|DIACRITICS|PREFIX)$/;
const COMPARING = /^(=|!=|<>|<|<=|>|>=|BETWEEN|IN|LIKE|ILIKE|IS|NOT)$/i;

// The parsed input of the search box:
//   {kind: "empty"}
//   {kind: "statement", statement}   a statement of the language, unchanged
//   {kind: "pattern", pattern, where}  a pattern, and the condition after its AND
//   {kind: "condition", where}       a condition that selects documents
//   {kind: "text", text}             anything else: words to look for as typed
export function read(typed) {
  const text = typed.trim();
  if (!text) return { kind: "empty" };
  const pieces = scan(text).filter((piece) => piece.kind !== "space" && piece.kind !== "comment");
  if (!pieces.length) return { kind: "empty" };
  if (isStatement(pieces)) return { kind: "statement", statement: text.replace(/;\s*$/, "") };
  const length = patternLength(pieces);
  if (length) return pattern(text, pieces, length);
  if (isCondition(pieces)) return { kind: "condition", where: text };
  return { kind: "text", text };
}

// True if a statement has a FROM clause.
export const hasSource = (text) => scan(text).some(({ kind, text: word }) => kind === "keyword" && /^FROM$/i.test(word));

// The number of leading pieces that form a pattern; 0 if the text does not begin with one.
function patternLength(pieces) {
  if (/^TEXT$/i.test(pieces[0]?.text) && pieces[1]?.text === "~" && pieces[2]) {
    return /^IGNORE$/i.test(pieces[3]?.text) && /^CASE$/i.test(pieces[4]?.text) ? 5 : 3;
  }
  let depth = 0;
  let anchored = false;
  let at = 0;
  for (; at < pieces.length; at += 1) {
    const { kind, text } = pieces[at];
    if (ANCHORS.has(kind)) anchored = true;
    else if (text === "(") depth += 1;
    else if (text === ")" && depth) depth -= 1;
    else if (!(kind === "gap" || text === "*" || (text === "|" && depth) || (at && MODIFIERS.test(text.toUpperCase())))) break;
  }
  return anchored && !depth ? at : 0;
}

function isStatement([first, second, ...rest]) {
  if (!VERBS.has(first.text.toUpperCase())) return false;
  if (!second) return first.text === "DOCS";
  if (first.text === "DESCRIBE") return true;
  const length = patternLength([second, ...rest]);
  // COUNT("a") > 2 is a condition.
  if (length) return !COMPARING.test([second, ...rest][length]?.text);
  const goesOn = second.kind !== "name" && second.kind !== "operator";
  return goesOn && (first.text === first.text.toUpperCase() || second.kind !== "keyword" || second.text === second.text.toUpperCase());
}

function isCondition(pieces) {
  const [first, second] = pieces;
  if (first.text === "(" || (/^NOT$/i.test(first.text) && patternLength(pieces.slice(1)))) {
    return pieces.some((piece) => ANCHORS.has(piece.kind) || COMPARING.test(piece.text));
  }
  if (/^(COUNT|OVERLAP)$/i.test(first.text) && second?.text === "(") return true;
  // A field is a name, or names separated by dots. Keywords need capitals, since texts contain them too.
  let at = 0;
  while (isName(pieces[at]) && pieces[at + 1]?.text === "." && isName(pieces[at + 2])) at += 2;
  const comparison = pieces[at + 1]?.text;
  return isName(pieces[at]) && pieces.length > at + 2 && COMPARING.test(comparison) && comparison === comparison.toUpperCase();
}

const isName = (piece) => piece?.kind === "name" || piece?.kind === "keyword";

// "a" MATCH TEXT [1..2] /b.*/ AND rest: the pattern, and the rest as a condition.
function pattern(text, pieces, length) {
  const whole = { kind: "pattern", pattern: text, where: "", whole: text };
  const next = pieces[length];
  if (!next) return whole;
  // Words follow the pattern: this is a text that happens to begin like one.
  if (next.kind === "name") return { kind: "text", text };
  if (!/^(AND|OR)$/i.test(next.text)) return whole;
  // A part of an OR or of WITHIN is not a condition on its own: the whole input then selects the documents.
  const entire = pieces.slice(length).some((piece) => /^(OR|WITHIN)$/i.test(piece.text));
  return {
    kind: "pattern",
    pattern: text.slice(0, pieces[length - 1].stop),
    where: entire ? text : text.slice(next.stop).trim(),
    whole: text,
    partly: entire,
  };
}

// A pattern with the modifiers that its parts accept: none for token ids, only IGNORE CASE for regular expressions.
export function modified(pattern, { asText, nocase }) {
  const pieces = scan(pattern).filter((piece) => piece.kind !== "space");
  const has = (kind) => pieces.some((piece) => piece.kind === kind);
  if (has("ids") || pieces.some((piece) => MODIFIERS.test(piece.text.toUpperCase()))) return pattern;
  const modifiers = join(asText && !has("regex") && "MATCH TEXT", nocase && "IGNORE CASE");
  if (pieces[1]?.text === "~") return join(pattern, nocase && "IGNORE CASE");
  return modifiers && pieces.length > 1 ? `(${pattern}) ${modifiers}` : join(pattern, modifiers);
}

// ---- for other programs -----------------------------------------------------------------------------------

// A Python string literal: JSON's escapes are valid in Python, except outside the BMP, where none are needed.
const pythonString = (text) => (text.includes("\n") && !text.includes('"""') && !/["\\]$/.test(text) ? `"""${text.replaceAll("\\", "\\\\")}"""` : JSON.stringify(text));

export function asPython(statement, root, corpus) {
  const named = corpus ? `, corpus=${JSON.stringify(corpus)}` : "";
  return `import ngramdb\n\ndb = ngramdb.connect(${JSON.stringify(root)})\nprint(db.execute(${pythonString(statement)}${named}))\n`;
}

const shellString = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl(statement, root, corpus) {
  const named = corpus ? ` --data-urlencode ${shellString(`_corpus=${corpus}`)}` : "";
  return `curl -G ${shellString(`${root}query.json`)} --data-urlencode ${shellString(`q=${statement}`)}${named}\n`;
}
