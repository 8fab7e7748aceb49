// The whole document: the trees of all sentences, searched and exported.
import { findNodes, parseBatch, toConllu } from "./api.js";
import { byId, html } from "./dom.js";
import { save, stemOf } from "./export.js";
import { explainMessage } from "./messages.js";
import { givesFunctions, joinWords, page } from "./page.js";
import { toPdf } from "./pdf.js";

const PIECE_SENTENCES = 50; // per request
const LISTED_MATCHES = 200;

let work = new AbortController();

// Runs work on all trees, and shows its progress and its result; new work cancels it.
async function runWork(action) {
  work.abort();
  work = new AbortController();
  const { signal } = work;
  const show = (text) => signal.aborted || (byId("found").textContent = text);
  try {
    show(await action(signal, show));
  } catch (error) {
    show(explainMessage(error.message, () => ""));
  }
}

// The trees of all sentences: from the file, or parsed. Sentences above the limit of the server have none.
async function documentTrees(signal, show) {
  const { sentences, opened, model, server, state } = page;
  const functions = givesFunctions(model.name);
  const keys = sentences.map((words, i) => JSON.stringify([model.name, functions, words, state.constraints[i] ?? []]));
  const isOpen = (i) => !opened?.[i] && !page.parsed.has(keys[i]) && sentences[i].length <= server.limits.words;
  const missing = [...sentences.keys()].filter(isOpen);
  const size = Math.min(PIECE_SENTENCES, server.limits.sentences);
  for (let first = 0; first < missing.length; first += size) {
    show(`Parsing: ${first} of ${missing.length} sentences`);
    const piece = missing.slice(first, first + size);
    const inputs = piece.map((i) => ({ tokens: sentences[i], constraints: state.constraints[i] ?? [] }));
    const answers = await parseBatch(inputs, { model: model.name, functions }, signal);
    answers.forEach((sentence, i) => page.parsed.set(keys[piece[i]], sentence));
  }
  return sentences.map((_, i) => opened?.[i] ?? page.parsed.get(keys[i]) ?? null);
}

const remark = (trees) => {
  const missing = trees.filter((tree) => !tree).length;
  return missing ? ` ${missing} sentences are too long for this server.` : "";
};

// ---- search

// Lists the nodes that a pattern matches; `onChoice(match)` gets a match that is chosen.
export const search = (pattern, onChoice) =>
  runWork(async (signal, show) => {
    page.matches = [];
    byId("matches").replaceChildren();
    const trees = await documentTrees(signal, show);
    const numbers = [...trees.keys()].filter((i) => trees[i]);
    const matches = await findNodes(numbers.map((i) => trees[i].tree), pattern, page.server.limits, signal);
    page.matches = matches.map((match) => ({ ...match, sentence: numbers[match.tree] }));
    byId("matches").replaceChildren(...page.matches.slice(0, LISTED_MATCHES).map((match) => item(match, onChoice)));
    const count = new Set(page.matches.map(({ sentence }) => sentence)).size;
    const rest = matches.length > LISTED_MATCHES ? `; the first ${LISTED_MATCHES} are listed` : "";
    return `${plural(matches.length, "match", "matches")} in ${plural(count, "sentence", "sentences")}${rest}.${remark(trees)}`;
  });

function item(match, onChoice) {
  const button = html("button", { type: "button" }, `${match.sentence + 1} `, html("b", {}, match.label), " ");
  button.append(html("span", { dir: "auto" }, match.text));
  button.addEventListener("click", () => onChoice(match));
  return html("li", {}, button);
}

const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;

// ---- export

const FORMATS = {
  brackets: { suffix: "mrg", write: (trees) => lines(trees.map(({ tree }) => tree)) },
  json: { suffix: "jsonl", write: (trees) => lines(trees.map((tree) => JSON.stringify(toRecord(tree)))) },
  csv: { suffix: "csv", write: (trees) => lines([CSV_COLUMNS, ...trees.flatMap(toRows)].map((row) => row.map(quote).join())) },
  conllu: { suffix: "conllu", write: (trees, signal) => toConllu(trees.map(({ tree }) => tree), page.server.limits, signal) },
  pdf: { suffix: "pdf", write: (trees, signal, draw) => toPdf(trees.map(draw)) }, // a page per tree
};

// Saves the trees of all sentences; `draw(tree)` returns the picture of one.
export const saveDocument = (format, draw) =>
  runWork(async (signal, show) => {
    const trees = await documentTrees(signal, show);
    const { suffix, write } = FORMATS[format];
    const source = page.fileName.replace(/(\.[a-z]+)+$/i, "");
    const name = `${stemOf(source || joinWords(page.sentences[0]))}.${suffix}`;
    const found = trees.flatMap((tree, i) => (tree ? { ...tree, number: i + 1 } : []));
    save(new Blob([await write(found, signal, draw)]), name);
    return `${plural(found.length, "tree", "trees")} saved as ${name}.${remark(trees)}`;
  });

const lines = (texts) => texts.map((text) => `${text}\n`).join("");

// A sentence as in a line of `treecrf parse --format json`.
export const toRecord = ({ isOpened, number, ...record }) => record;

const CSV_COLUMNS = ["sentence", "start", "end", "label", "text", "calibrated"];
const toRows = ({ words, spans, number }) =>
  spans.map(({ start, end, label, calibrated }) => [number, start, end, label, joinWords(words.slice(start, end)), calibrated]);
const quote = (value) => (/[",\n\r]/.test(value ?? "") ? `"${value.replaceAll('"', '""')}"` : (value ?? ""));
