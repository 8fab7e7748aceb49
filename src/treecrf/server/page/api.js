// What the server is asked. Addresses are relative, so that the page works under any prefix.
async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.detail ?? `The server answers with status ${answer.status}.`);
  return found;
}

function parse(body, signal) {
  const headers = { "Content-Type": "application/json" };
  return ask("parse", { method: "POST", headers, body: JSON.stringify(body), signal });
}

// The models, and the limits of the server.
export const getModels = () => ask("models");

// The words of each sentence of a text.
export async function getSentences(text, model, signal) {
  const { sentences } = await parse({ text, model }, signal);
  return sentences.map((sentence) => sentence.words);
}

// Everything about one sentence: its trees, the parser's own first, with the probabilities of their constituents.
export async function getAnalysis(tokens, { model, constraints, limits }, signal) {
  const body = { tokens, model, probabilities: true, k: Math.min(10, limits.k) };
  body.marginals = tokens.length <= limits.marginal_words;
  const bare = ({ start, end, label }) => (label ? { start, end, label } : { start, end });
  const are = (verb) => constraints.filter((one) => one.verb === verb).map(bare);
  if (constraints.length) body.constraints = { require: are("require"), forbid: are("forbid") };
  const { sentences } = await parse(body, signal);
  const [sentence] = sentences;
  const best = sentence.kbest ?? [];
  const first = best.find((other) => other.tree === sentence.tree) ?? sentence;
  return { ...sentence, trees: [first, ...best.filter((other) => other !== first)] };
}
