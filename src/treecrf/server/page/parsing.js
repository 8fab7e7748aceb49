// Parsing: splits the text into sentences, requests the analysis of one of them, and shows its trees.
import { getAnalysis, getSentences } from "./api.js";
import { readTrees } from "./tree_reader.js";
import { treeProbability } from "./colors.js";
import { announce, showTree, viewers, wordSelector } from "./display.js";
import { byId } from "./dom.js";
import { explainMessage } from "./messages.js";
import { currentConstraints, currentWords, givesFunctions, joinWords, page, textOf, updateAddress } from "./page.js";
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
    const { opened, remark } = openTrees(state.text);
    const { sentences, warnings } = opened
      ? { sentences: opened.map(({ words }) => words), warnings: [] }
      : await getSentences(state.text, options, signal);
    const hasLostConstraints = moveConstraints(sentences);
    if (remark) warnings.push(remark);
    [page.sentences, page.opened, page.matches] = [sentences, opened, []];
    page.parsed.clear();
    byId("found").textContent = "";
    byId("matches").replaceChildren();
    showWarnings(warnings);
    showSentences(sentences.map(joinWords));
    state.sentence = Math.max(0, Math.min(state.sentence, sentences.length - 1));
    byId("result").inert = false;
    byId("result").hidden = !sentences.length;
    if (!sentences.length) return announce("There are no words to parse.");
    const problem = await parseSentence(signal);
    if (problem) return problem;
    return hasLostConstraints ? "Some constraints were removed because their sentence changed." : undefined;
  });

// The trees of the text, or null and a remark if it only begins like trees.
function openTrees(text) {
  try {
    return { opened: readTrees(text) };
  } catch (error) {
    return { opened: null, remark: `the text begins like trees but is read as text, because ${error.message}` };
  }
}

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

// Requests and shows the trees of the current sentence; returns the reason why the parser has none, if so.
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
  [page.analysis, page.otherAnalysis] = await Promise.all([analyzeWithOpened(signal), analyzeOther(signal)]);
  const { trees } = page.analysis;
  state.tree = Math.min(state.tree, trees.length - 1);
  byId("analysis").inert = false;
  showTreeList(page.analysis, textOf);
  showTree({ isAnimated: isSameSentence });
  const position = `Sentence ${state.sentence + 1} of ${sentences.length}`;
  const probability = treeProbability(trees[0]);
  announce(`${position}, ${trees.length} trees; the first ${probability ? `has probability ${probability}` : "is in the file"}.`);
  return page.analysis.problem;
}

// The tree of the file, if there is one, is the first tree, before the parser's, which may be unable to parse the words.
async function analyzeWithOpened(signal) {
  const opened = page.opened?.[page.state.sentence];
  if (!opened) return analyze(page.model.name, signal);
  try {
    const analysis = await analyze(page.model.name, signal);
    return { ...analysis, trees: [opened, ...analysis.trees] };
  } catch (error) {
    if (signal.aborted || error.status !== 422) throw error;
    return { ...opened, model: page.model.name, trees: [opened], problem: explainMessage(error.message, textOf) };
  }
}

const analyze = (model, signal) => {
  const options = { model, functions: givesFunctions(model), constraints: currentConstraints() };
  return getAnalysis(currentWords(), { ...options, limits: page.server.limits }, signal);
};

async function analyzeOther(signal) {
  const model = page.state.compared?.model;
  if (!page.server.models.some(({ name }) => name === model)) return null;
  return analyze(model, signal);
}

// Replaces the constraints of the current sentence, and parses it again.
export function setConstraints(constraints) {
  page.state.constraints[page.state.sentence] = constraints;
  page.state.tree = page.opened ? 1 : 0; // the parser's choice
  wordSelector.select(null);
  (byId("words").hidden ? byId("edit") : byId("words").querySelector("[tabindex='0']")).focus();
  updateAddress();
  runRequests(parseSentence);
}
