// Requests to the server. Paths are relative, so that the page works under any prefix.
async function requestJson(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(content.detail ?? `The server answers with status ${response.status}.`);
  return content;
}

function parse(body, signal) {
  const headers = { "Content-Type": "application/json" };
  return requestJson("parse", { method: "POST", headers, body: JSON.stringify(body), signal });
}

// The models, and the limits of the server.
export const getModels = () => requestJson("models");

// The words of each sentence of a text.
export async function getSentences(text, model, signal) {
  const { sentences } = await parse({ text, model }, signal);
  return sentences.map((sentence) => sentence.words);
}

// The analysis of one sentence. Its `trees` have probabilities; the parser's choice is the first of them.
export async function getAnalysis(tokens, { model, constraints, limits }, signal) {
  const body = { tokens, model, probabilities: true, k: Math.min(10, limits.k) };
  body.marginals = tokens.length <= limits.marginal_words;
  const toSpan = ({ start, end, label }) => (label ? { start, end, label } : { start, end });
  const spansOf = (kind) => constraints.filter((one) => one.kind === kind).map(toSpan);
  if (constraints.length) body.constraints = { require: spansOf("require"), forbid: spansOf("forbid") };
  const { sentences } = await parse(body, signal);
  const [sentence] = sentences;
  const alternatives = sentence.kbest ?? [];
  const chosen = alternatives.find((tree) => tree.tree === sentence.tree) ?? sentence;
  return { ...sentence, trees: [chosen, ...alternatives.filter((tree) => tree !== chosen)] };
}
