// Parsing: splits the text into sentences, requests the analysis of one of them, and shows its trees.
import { getAnalysis, getSentences } from "./api.js";
import { treeProbability } from "./colors.js";
import { announce, showTree, viewers, wordSelector } from "./display.js";
import { byId } from "./dom.js";
import { explainMessage } from "./messages.js";
import { currentConstraints, currentWords, joinWords, page, textOf, updateAddress } from "./page.js";
import { showConstraints, showCurrentSentence, showSentences, showTreeList } from "./panels.js";

let requests = new AbortController();

export function showMessage(text) {
  byId("message").textContent = text ?? "";
  byId("message").hidden = !text;
}

// Runs work that sends requests. It cancels earlier work, and shows the error or the returned message, if any. Outdated
// parts of the page are inert until the response.
export async function runRequests(work) {
  requests.abort();
  requests = new AbortController();
  const { signal } = requests;
  byId("result").ariaBusy = "true";
  let message;
  try {
    message = await work(signal);
  } catch (error) {
    message = explainMessage(error.message, textOf);
  }
  if (signal.aborted) return;
  byId("result").ariaBusy = "false";
  showMessage(message);
}

export const parseText = () =>
  runRequests(async (signal) => {
    const { state, model, server } = page;
    byId("result").inert = true;
    updateAddress();
    const onProgress = (part) => announce(`${Math.round(100 * part)} % of the text is split into sentences.`);
    const options = { model: model.name, limits: server.limits, onProgress };
    const { sentences, warnings } = await getSentences(state.text, options, signal);
    const hasLostConstraints = moveConstraints(sentences);
    page.sentences = sentences;
    showWarnings(warnings);
    showSentences(sentences.map(joinWords));
    state.sentence = Math.max(0, Math.min(state.sentence, sentences.length - 1));
    byId("result").inert = false;
    byId("result").hidden = !sentences.length;
    if (!sentences.length) return announce("There are no words to parse.");
    await parseSentence(signal);
    return hasLostConstraints ? "Some constraints were removed because their sentence changed." : undefined;
  });

function showWarnings(warnings) {
  const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  byId("warnings").textContent = warnings.map(sentence).join(" ");
  byId("warnings").hidden = !warnings.length;
}

// Keeps the constraints of sentences that are also in the new text; returns whether any constraint was lost.
function moveConstraints(newSentences) {
  const { sentences, state } = page;
  if (!sentences.length) return false; // the page was just opened: the constraints come from the link
  const constraintsByText = new Map(sentences.map((words, i) => [words.join(" "), state.constraints[i] ?? []]));
  const newConstraints = newSentences.map((words) => constraintsByText.get(words.join(" ")) ?? []);
  const count = (lists) => lists.flat().length;
  const isLoss = count(newConstraints) < count(Object.values(state.constraints));
  state.constraints = { ...newConstraints };
  return isLoss;
}

// Requests and shows the trees of the current sentence.
export async function parseSentence(signal) {
  const { state, sentences } = page;
  const words = currentWords();
  const isSameSentence = page.analysis?.words.join(" ") === words.join(" ");
  byId("analysis").inert = true;
  showCurrentSentence(state.sentence, sentences.length, page.fileName);
  showConstraints(currentConstraints(), textOf, setConstraints);
  if (!isSameSentence) {
    page.analysis = page.otherAnalysis = null;
    for (const viewer of viewers) viewer.zoom = null;
    wordSelector.show(words);
  }
  [page.analysis, page.otherAnalysis] = await Promise.all([analyze(page.model.name, signal), analyzeOther(signal)]);
  const { trees } = page.analysis;
  state.tree = Math.min(state.tree, trees.length - 1);
  byId("analysis").inert = false;
  showTreeList(page.analysis, textOf);
  showTree({ isAnimated: isSameSentence });
  const position = `Sentence ${state.sentence + 1} of ${sentences.length}`;
  announce(`${position}, ${trees.length} trees; the first has probability ${treeProbability(trees[0])}.`);
}

const analyze = (model, signal) =>
  getAnalysis(currentWords(), { model, constraints: currentConstraints(), limits: page.server.limits }, signal);

async function analyzeOther(signal) {
  const model = page.state.compared?.model;
  if (!page.server.models.some(({ name }) => name === model)) return null;
  return analyze(model, signal);
}

// Replaces the constraints of the current sentence, and parses it again.
export function setConstraints(constraints) {
  page.state.constraints[page.state.sentence] = constraints;
  page.state.tree = 0;
  wordSelector.select(null);
  wordSelector.list.querySelector("[tabindex='0']").focus();
  updateAddress();
  runRequests(parseSentence);
}
