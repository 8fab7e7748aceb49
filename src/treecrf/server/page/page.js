// The data that the modules share: the state in the address, and what the server has answered.
import { fromFragment, toFragment } from "./state.js";

const LANGUAGES_WITHOUT_SPACES = ["zh", "ja"];

export const page = {
  state: fromFragment(location.hash),
  server: { models: [], limits: {} },
  model: null, // one of the server's models
  fileName: "", // of the file that the text comes from
  labels: {}, // the meanings of the model's labels and tags
  sentences: [], // the words of each sentence
  opened: null, // the tree of each sentence, if the text is trees
  parsed: new Map(), // trees of sentences, for the whole document
  matches: [], // nodes that a search has found
  analysis: null, // of the current sentence
  otherAnalysis: null, // of the current sentence, by the model to compare with
  selection: null, // a span
};

export const joinWords = (words) => words.join(LANGUAGES_WITHOUT_SPACES.includes(page.model.language) ? "" : " ");
export const currentWords = () => page.sentences[page.state.sentence] ?? [];
export const textOf = ({ start, end }) => joinWords(currentWords().slice(start, end));
export const currentConstraints = () => page.state.constraints[page.state.sentence] ?? [];
export const currentTree = () => page.analysis.trees[page.state.tree];
export const currentFragment = () => toFragment(page.state, joinWords(currentWords()));
export const givesFunctions = (model) =>
  page.state.functions && Boolean(page.server.models.find(({ name }) => name === model)?.has_functions);
export const updateAddress = () => history.replaceState(null, "", currentFragment());

// The tree to compare with: its analysis, the tree, and a name for it. Null if there is no comparison.
export function comparedTree() {
  const { analysis, otherAnalysis, state } = page;
  if (!state.compared) return null;
  if ("model" in state.compared) {
    const name = `Model ${state.compared.model}`;
    return otherAnalysis && { analysis: otherAnalysis, tree: otherAnalysis.trees[0], name };
  }
  const index = Math.min(state.compared.tree, analysis.trees.length - 1);
  return { analysis, tree: analysis.trees[index], name: `Tree ${index + 1}` };
}
