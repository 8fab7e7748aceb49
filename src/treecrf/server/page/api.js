// Requests to the server. Paths are relative, so that the page works under any prefix.
const PIECE_CHARACTERS = 20_000; // of a text per request
const MIN_SENTENCE_CHARACTERS = 20; // so many per sentence, a piece of text has fewer sentences than the server's limit
const MAX_BYTES = 8; // of a character in JSON

export async function requestJson(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  const content = await response.json().catch(() => ({}));
  if (response.ok) return content;
  const error = new Error(content.detail ?? `The server answers with status ${response.status}.`);
  throw Object.assign(error, { status: response.status });
}

export function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return requestJson(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

// The models, and the limits of the server.
export const getModels = () => requestJson("models");

// The words of each sentence of a text, and warnings about the text. A long text is sent in several requests.
export async function getSentences(text, { model, limits, onProgress }, signal) {
  const maximum = Math.min(PIECE_CHARACTERS, MIN_SENTENCE_CHARACTERS * limits.sentences, limits.body_bytes / MAX_BYTES);
  const pieces = cutText(text, maximum);
  const sentences = [];
  let warnings = [];
  for (const [i, piece] of pieces.entries()) {
    const answer = await post("sentences", { text: piece, model }, signal);
    for (const { words } of answer.sentences) sentences.push(words);
    if (!warnings.length) warnings = answer.warnings;
    if (pieces.length > 1) onProgress((i + 1) / pieces.length);
  }
  return { sentences, warnings };
}

// Cuts a text into pieces of limited length: after an empty line, else after a line, else at a space.
function cutText(text, maximum) {
  const pieces = [];
  let rest = text;
  while (rest.length > maximum) {
    const start = rest.slice(0, maximum);
    const ends = [start.lastIndexOf("\n\n") + 2, start.lastIndexOf("\n") + 1, start.lastIndexOf(" ") + 1];
    const end = ends.find((one) => one > maximum / 2) ?? maximum;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...pieces, rest].filter((piece) => piece.trim());
}

// The meanings of the labels and tags of a model.
export const getLabels = (model) => requestJson(`labels?${new URLSearchParams({ model })}`);

const toSpan = ({ start, end, label }) => (label ? { start, end, label } : { start, end });
const spansOf = (constraints, kind) => constraints.filter((one) => one.kind === kind).map(toSpan);
const toConstraints = (constraints) => ({ require: spansOf(constraints, "require"), forbid: spansOf(constraints, "forbid") });

// The analysis of one sentence. Its `trees` have probabilities; the parser's choice is the first of them.
export async function getAnalysis(tokens, { model, functions, constraints, limits }, signal) {
  const body = { tokens, model, functions, probabilities: true, k: Math.min(10, limits.k) };
  body.constraints = toConstraints(constraints);
  body.marginals = tokens.length <= limits.marginal_words;
  const answer = await post("parse", body, signal);
  const [sentence] = answer.sentences;
  const alternatives = sentence.kbest ?? [];
  for (const tree of [sentence, ...alternatives]) addFunctions(tree.spans);
  const choice = alternatives.find((tree) => tree.tree === sentence.tree) ?? sentence;
  const others = alternatives.filter((tree) => tree !== choice).sort((a, b) => b.log_prob - a.log_prob);
  const trees = [choice, ...others];
  return { sentence, model: answer.model, ...sentence, trees, choice, bestTree: alternatives[0] ?? choice };
}

// Adds the functions of constituents to their labels.
function addFunctions(spans) {
  for (const span of spans) span.label = [span.label, ...(span.functions ?? [])].join("-");
}

// The trees of several sentences, with probabilities.
export async function parseBatch(inputs, { model, functions }, signal) {
  const toInput = ({ tokens, constraints }) => ({ tokens, constraints: toConstraints(constraints) });
  const answer = await post("parse/batch", { inputs: inputs.map(toInput), model, functions, probabilities: true }, signal);
  return answer.results.map(({ sentences }) => sentences[0]);
}

// The nodes of trees that a Tregex pattern matches.
export async function findNodes(trees, pattern, limits, signal) {
  const matches = [];
  for (const { first, piece } of cutTrees(trees, limits)) {
    const answer = await post("search", { trees: piece, pattern }, signal);
    matches.push(...answer.matches.map((match) => ({ ...match, tree: first + match.tree })));
  }
  return matches;
}

// The dependencies of trees in CoNLL-U.
export async function toConllu(trees, limits, signal) {
  let text = "";
  for (const { first, piece } of cutTrees(trees, limits)) {
    text += (await post("dependencies", { trees: piece, first: first + 1 }, signal)).conllu;
  }
  return text;
}

// Cuts a list of trees into pieces of limited length, at least one.
function cutTrees(trees, limits) {
  const pieces = [{ first: 0, piece: [] }];
  let characters = 0;
  trees.forEach((tree, i) => {
    const { piece } = pieces.at(-1);
    const isFull = piece.length >= limits.sentences || (characters + tree.length) * MAX_BYTES > limits.body_bytes;
    if (isFull && piece.length) [pieces[pieces.length], characters] = [{ first: i, piece: [] }, 0];
    characters += tree.length;
    pieces.at(-1).piece.push(tree);
  });
  return pieces;
}
