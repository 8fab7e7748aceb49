// The page: splits the text into sentences, requests the analysis of one of them, and shows its trees.
import { getAnalysis, getModels, getSentences } from "./api.js";
import { treeProbability } from "./colors.js";
import { byId, html } from "./dom.js";
import { copy, save, toLatex, toPng, toSvgText } from "./export.js";
import { drawHeatmap } from "./heatmap.js";
import { drawOutline } from "./outline.js";
import { addedSpans, describeSpan, showConstraints, showCurrentTree, showLegend, showSentences, showTreeList } from "./panels.js";
import { VIEWS, fromFragment, toFragment } from "./state.js";
import { connectThemeButton, theme } from "./theme.js";
import { drawTree, layoutTree } from "./tree.js";
import { Viewer } from "./viewer.js";
import { WordSelector } from "./word_selector.js";

const EXAMPLES = {
  en: ["The old man saw the girl with the telescope.", "Old men and women sang.", "She fed her cat food. Nobody noticed!"],
  zh: ["老师和学生的家长昨天在学校见面。", "我们在图书馆看见了一位老朋友。他很高兴。"],
};
const LANGUAGES_WITHOUT_SPACES = ["zh", "ja"];
const TYPING_PAUSE = 400; // milliseconds without a key until the text is parsed
const FILES = { brackets: "tree.mrg", latex: "tree.tex", svg: "tree.svg", png: "tree.png", link: "link.txt" };

let state = fromFragment(location.hash);
let server = { models: [], limits: {} };
let model = null;
let sentences = []; // the words of each sentence
let analysis = null; // of the current sentence
let selection = null; // a span, or null
let requests = new AbortController();
let typingTimer = 0;

const wordSelector = new WordSelector(byId("words"), onSelection);
const viewer = new Viewer(byId("view"), {
  describe: tooltipLines,
  onHover: (span) => wordSelector.highlight(span),
  onSelect: selectSpan,
});

const joinWords = (words) => words.join(LANGUAGES_WITHOUT_SPACES.includes(model.language) ? "" : " ");
const textOf = ({ start, end }) => joinWords(sentences[state.sentence].slice(start, end));
const currentConstraints = () => state.constraints[state.sentence] ?? [];
const currentTree = () => analysis.trees[state.tree];
const announce = (text) => (byId("status").textContent = text); // to screen readers
const updateAddress = () => history.replaceState(null, "", toFragment(state));

function showMessage(text) {
  byId("message").textContent = text ?? "";
  byId("message").hidden = !text;
}

// ---- requests; outdated parts of the page are inert until the response

// Runs work that sends requests. It cancels earlier work, and shows the error or the returned message, if any.
async function runRequests(work) {
  requests.abort();
  clearTimeout(typingTimer);
  requests = new AbortController();
  const { signal } = requests;
  byId("result").ariaBusy = "true";
  let message;
  try {
    message = await work(signal);
  } catch (error) {
    message = error.message;
  }
  if (signal.aborted) return;
  byId("result").ariaBusy = "false";
  showMessage(message);
}

const parseText = () =>
  runRequests(async (signal) => {
    byId("result").inert = true;
    updateAddress();
    const newSentences = state.text.trim() ? await getSentences(state.text, model.name, signal) : [];
    const hasLostConstraints = moveConstraints(newSentences);
    sentences = newSentences;
    state.sentence = Math.max(0, Math.min(state.sentence, sentences.length - 1));
    byId("result").inert = false;
    byId("result").hidden = !sentences.length;
    if (!sentences.length) return announce("There are no words to parse.");
    await parseSentence(signal);
    return hasLostConstraints ? "Some constraints were removed because their sentence changed." : undefined;
  });

// Keeps the constraints of sentences that are also in the new text; returns whether any constraint was lost.
function moveConstraints(newSentences) {
  if (!sentences.length) return false; // the page was just opened: the constraints come from the link
  const constraintsByText = new Map(sentences.map((words, i) => [words.join(" "), state.constraints[i] ?? []]));
  const newConstraints = newSentences.map((words) => constraintsByText.get(words.join(" ")) ?? []);
  const count = (lists) => lists.flat().length;
  const isLoss = count(newConstraints) < count(Object.values(state.constraints));
  state.constraints = { ...newConstraints };
  return isLoss;
}

async function parseSentence(signal) {
  const words = sentences[state.sentence];
  const constraints = currentConstraints();
  const isSameSentence = analysis?.words.join(" ") === words.join(" ");
  byId("analysis").inert = true;
  showSentences(sentences.map(joinWords), state.sentence);
  showConstraints(constraints, textOf, setConstraints);
  if (!isSameSentence) {
    analysis = viewer.zoom = null;
    wordSelector.show(words);
  }
  analysis = await getAnalysis(words, { model: model.name, constraints, limits: server.limits }, signal);
  state.tree = Math.min(state.tree, analysis.trees.length - 1);
  byId("analysis").inert = false;
  showTreeList(analysis.trees, state.tree, textOf);
  showTree({ isAnimated: isSameSentence });
  const position = `Sentence ${state.sentence + 1} of ${sentences.length}`;
  announce(`${position}, ${analysis.trees.length} trees; the first has probability ${treeProbability(analysis.trees[0])}.`);
}

// ---- display

function showTree({ isAnimated = false } = {}) {
  const layout = layoutTree(currentTree(), analysis);
  for (const view of VIEWS) {
    const tab = byId(`tab-${view}`);
    tab.ariaSelected = view === state.view;
    tab.tabIndex = view === state.view ? 0 : -1;
  }
  byId("view").setAttribute("aria-labelledby", `tab-${state.view}`);
  byId("zoom").hidden = state.view === "outline";
  if (state.view === "tree") viewer.show(drawPicture(layout, { forScreen: true }), { ...layout, isAnimated });
  else if (state.view === "outline") viewer.show(drawOutline(layout.root, textOf, currentTree().tree));
  else if (analysis.marginals) viewer.show(...drawHeatmap(analysis, currentTree(), theme()));
  else viewer.show(html("p", {}, `This server shows heat maps of at most ${server.limits.marginal_words} words.`));
  viewer.mark(selection);
  showLegend(theme(), state.view);
  showCurrentTree(analysis, state.tree);
  updateAddress();
}

function drawPicture(layout, { forScreen = false } = {}) {
  const framedSpans = addedSpans(currentTree(), analysis.trees[0]);
  const [title, brackets] = [joinWords(analysis.words), currentTree().tree];
  return drawTree(layout, theme(), { title, brackets, framedSpans, forScreen });
}

function tooltipLines(span, group) {
  if (group.classList.contains("label")) return [group.ariaLabel.replace(", probability", ""), textOf(span)];
  return describeSpan(span, currentTree(), analysis.marginals, textOf);
}

// ---- actions

function onSelection(span) {
  selection = span;
  byId("span").hidden = span === null;
  byId("hint").hidden = span !== null || currentConstraints().length > 0;
  viewer.mark(span);
  if (span === null) return;
  const [text, ...facts] = analysis ? describeSpan(span, currentTree(), analysis.marginals, textOf) : [textOf(span)];
  byId("span-description").replaceChildren(html("b", { dir: "auto" }, text), ` ${facts.join(", ")}`);
  announce([text, ...facts].join(", "));
}

function selectSpan(span) {
  if (span) [wordSelector.anchor, wordSelector.focus] = [span.start, span.end - 1];
  wordSelector.select(span);
}

function addConstraint(kind) {
  const { start, end } = selection;
  const others = currentConstraints().filter((one) => one.start !== start || one.end !== end);
  setConstraints([...others, { kind, start, end, label: byId("label").value || undefined }]);
}

function setConstraints(constraints) {
  state.constraints[state.sentence] = constraints;
  state.tree = 0;
  wordSelector.select(null);
  wordSelector.list.querySelector("[tabindex='0']").focus();
  updateAddress();
  runRequests(parseSentence);
}

function goToTree(index) {
  state.tree = index;
  showTree({ isAnimated: true });
  announce(byId("tree-number").textContent);
}

function goToSentence(index) {
  [state.sentence, state.tree] = [index, 0];
  runRequests(parseSentence);
}

function goToView(view) {
  state.view = view;
  showTree();
}

function setText(text) {
  byId("text").value = state.text = text;
  [state.sentence, state.tree] = [0, 0];
  parseText();
}

function setModel(name) {
  model = server.models.find((one) => one.name === name) ?? server.models[0];
  state.model = byId("model").value = model.name;
  const option = (label) => html("option", { value: label }, label);
  byId("label").replaceChildren(html("option", { value: "" }, "any label"), ...model.labels.map(option));
  const exampleButton = (text) => {
    const button = html("button", { class: "link", lang: model.language }, text);
    button.addEventListener("click", () => setText(text));
    return button;
  };
  const examples = EXAMPLES[model.language] ?? [];
  byId("examples").replaceChildren(...(examples.length ? ["Examples: ", ...examples.map(exampleButton)] : []));
}

function exportTree(kind) {
  const layout = layoutTree(currentTree(), analysis);
  if (kind === "brackets") return currentTree().tree;
  if (kind === "latex") return toLatex(layout.root, analysis);
  if (kind === "link") return location.href;
  return kind === "svg" ? toSvgText(drawPicture(layout)) : toPng(drawPicture(layout));
}

async function saveTree(kind) {
  save(new Blob([await exportTree(kind)]), FILES[kind]);
  announce(`Saved as ${FILES[kind]}.`);
}

async function copyTree(kind, button) {
  if (await copy(exportTree(kind))) announce(`${button.textContent} copied.`);
  else await saveTree(kind);
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1200);
}

async function openState() {
  const linkedModel = state.model;
  setModel(linkedModel);
  if (!location.hash) state.text = EXAMPLES[model.language]?.[0] ?? "";
  byId("text").value = state.text;
  await parseText();
  if (!linkedModel || linkedModel === model.name) return;
  showMessage(`This server has no model ${linkedModel}; the page shows the trees of ${model.name}.`);
}

// ---- event listeners

const on = (id, event, action) => byId(id).addEventListener(event, action);
on("form", "submit", (event) => (event.preventDefault(), parseText()));
on("text", "input", () => {
  [state.text, state.tree] = [byId("text").value, 0];
  clearTimeout(typingTimer);
  typingTimer = setTimeout(parseText, TYPING_PAUSE);
});
on("text", "keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && parseText());
on("model", "change", () => (setModel(byId("model").value), (state.tree = 0), (analysis = null), parseText()));
on("sentence", "change", () => goToSentence(Number(byId("sentence").value)));
on("previous-sentence", "click", () => goToSentence(state.sentence - 1));
on("next-sentence", "click", () => goToSentence(state.sentence + 1));
on("require", "click", () => addConstraint("require"));
on("forbid", "click", () => addConstraint("forbid"));
on("clear", "click", () => wordSelector.select(null));
on("tree-list", "change", (event) => goToTree(Number(event.target.value)));
on("previous-tree", "click", () => goToTree(state.tree - 1));
on("next-tree", "click", () => goToTree(state.tree + 1));
on("zoom-out", "click", () => viewer.zoomTo(viewer.scale / 1.25));
on("zoom-in", "click", () => viewer.zoomTo(viewer.scale * 1.25));
on("zoom-fit", "click", () => viewer.zoomTo(viewer.fittingScale()));
on("skip", "click", (event) => (event.preventDefault(), byId("viewer").focus()));
on("views", "click", (event) => event.target.role === "tab" && goToView(event.target.id.slice(4)));
on("views", "keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  goToView(VIEWS.at((VIEWS.indexOf(state.view) + step) % VIEWS.length));
  byId(`tab-${state.view}`).focus();
});
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copyTree(button.dataset.copy, button));
}
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => saveTree(button.dataset.save));
}
addEventListener("hashchange", () => {
  if (location.hash === toFragment(state)) return;
  state = fromFragment(location.hash);
  sentences = [];
  openState();
});
connectThemeButton(byId("theme"), () => analysis && showTree());

await runRequests(async () => {
  server = await getModels();
  const option = ({ name, language }) => html("option", { value: name }, `${name} (${language})`);
  byId("model").replaceChildren(...server.models.map(option));
});
if (server.models.length) await openState();
