// The start of the page: fills the menus, and connects the controls with their actions.
import { getLabels, getModels } from "./api.js";
import { announce, currentNodes, drawPicture, selectSpan, selectedConstituent, showTree } from "./display.js";
import { toggleCollapsed, viewers, wordSelector } from "./display.js";
import { saveDocument, search, toRecord } from "./document.js";
import { byId, html } from "./dom.js";
import { copy, fileName, save, toLatex, toPng, toSvgText } from "./export.js";
import { connectFiles } from "./files.js";
import { currentConstraints, currentFragment, currentTree, joinWords, page, updateAddress } from "./page.js";
import { parseSentence, parseText, runRequests, setConstraints, showMessage } from "./parsing.js";
import { toPdf } from "./pdf.js";
import { connectShortcuts } from "./shortcuts.js";
import { HIDEABLE_PARTS, VIEWS, fromFragment } from "./state.js";
import { connectThemeButton } from "./theme.js";

const EXAMPLES = {
  en: ["The old man saw the girl with the telescope.", "Old men and women sang.", "She fed her cat food. Nobody noticed!"],
  zh: ["老师和学生的家长昨天在学校见面。", "我们在图书馆看见了一位老朋友。他很高兴。"],
};
const TYPING_PAUSE = 400; // milliseconds without a key until the text is parsed

let typingTimer = 0;
let shownWidth = innerWidth;

// ---- text and models

// Parses a text from its first sentence on. `source` is the name of its file, if it has one.
function setText(text, source = "") {
  byId("text").value = page.state.text = text;
  showWords();
  page.fileName = source;
  [page.state.sentence, page.state.tree, page.state.collapsed] = [0, 0, []];
  parseText();
}

// The text is shown once: in the text box while it is edited, or as the words of the sentence.
function setEditing(isEditing) {
  for (const id of ["text", "parse"]) byId(id).hidden = !isEditing;
  for (const id of ["words", "edit"]) byId(id).hidden = isEditing;
  const { text } = page.state;
  const isExample = !text.trim() || (EXAMPLES[page.model.language] ?? []).includes(text);
  byId("examples").hidden = !isEditing || !isExample;
}

const showWords = () => setEditing(!page.state.text.trim());

function editText() {
  setEditing(true);
  byId("text").focus();
}

function onTyping() {
  [page.state.text, page.state.tree, page.fileName] = [byId("text").value, 0, ""];
  clearTimeout(typingTimer);
  typingTimer = setTimeout(parseText, TYPING_PAUSE);
}

function parseNow() {
  clearTimeout(typingTimer);
  showWords();
  if (!byId("edit").hidden) byId("edit").focus();
  parseText();
}

function setModel(name) {
  const { models } = page.server;
  page.model = models.find((one) => one.name === name) ?? models[0];
  page.state.model = byId("model").value = page.model.name;
  const option = (label) => html("option", { value: label }, label);
  byId("label").replaceChildren(html("option", { value: "" }, "any label"), ...page.model.labels.map(option));
  const exampleButton = (text) => {
    const button = html("button", { class: "link", lang: page.model.language }, text);
    button.addEventListener("click", () => setText(text));
    return button;
  };
  byId("exports").querySelector("[data-save-all=conllu]").hidden = page.model.language !== "en";
  page.labels = {};
  getLabels(page.model.name).then((labels) => (page.labels = labels), () => {}); // without meanings, trees are shown too
  const examples = EXAMPLES[page.model.language] ?? [];
  byId("examples").replaceChildren(...(examples.length ? ["Examples: ", ...examples.map(exampleButton)] : []));
}

function changeModel() {
  setModel(byId("model").value);
  [page.state.tree, page.analysis] = [0, null];
  if (page.state.compared?.model === page.model.name) page.state.compared = null;
  parseText();
}

async function openState() {
  const linkedModel = page.state.model;
  setModel(linkedModel);
  if (!location.hash) page.state.text = EXAMPLES[page.model.language]?.[0] ?? "";
  byId("text").value = page.state.text;
  setEditing(!location.hash || !page.state.text.trim());
  await parseText();
  if (!linkedModel || linkedModel === page.model.name) return;
  showMessage(`This server has no model ${linkedModel}; the page shows the trees of ${page.model.name}.`);
}

// ---- sentences, trees and views

function goToSentence(index) {
  if (index < 0 || index >= page.sentences.length) return;
  [page.state.sentence, page.state.tree, page.state.collapsed] = [index, 0, []];
  runRequests(parseSentence);
}

// Shows a node that a search has found, with its words selected.
function goToMatch(match) {
  const { sentence } = match;
  const select = () => selectSpan(match);
  if (sentence === page.state.sentence) return select();
  [page.state.sentence, page.state.tree, page.state.collapsed] = [sentence, 0, []];
  return runRequests(async (signal) => {
    const problem = await parseSentence(signal);
    select();
    return problem;
  });
}

function goToTree(index) {
  if (!page.analysis?.trees[index]) return;
  page.state.tree = index;
  showTree({ isAnimated: true });
  announce(byId("tree-number").textContent);
}

// Changes how the trees are shown.
function changeDisplay(changes) {
  Object.assign(page.state, changes);
  if (page.analysis) showTree();
}

const toggleSideways = () => changeDisplay({ layout: viewers[0].isSideways() ? "down" : "sideways" });

function changeComparison() {
  const [, kind, value] = byId("compare").value.match(/^(tree|model):(.+)$/s) ?? [];
  page.state.compared = kind ? { [kind]: kind === "tree" ? Number(value) : value } : null;
  if (kind === "model") runRequests(parseSentence);
  else showTree();
}

function toggleConstituent() {
  const constituent = viewers.map((viewer) => viewer.focusedConstituent()).find(Boolean) ?? selectedConstituent();
  if (constituent) toggleCollapsed(constituent);
}

function zoom(change) {
  for (const viewer of viewers) {
    if (viewer.picture) viewer.zoomTo(change ? viewer.scale * change : viewer.fittingScale());
  }
}

function addConstraint(kind) {
  const { start, end } = page.selection;
  const others = currentConstraints().filter((one) => one.start !== start || one.end !== end);
  setConstraints([...others, { kind, start, end, label: byId("label").value || undefined }]);
}

// ---- exports

function exportTree(kind) {
  const { analysis, state } = page;
  if (kind === "brackets") return currentTree().tree;
  if (kind === "json") {
    const isOpened = currentTree().isOpened;
    const record = isOpened ? toRecord(currentTree()) : { model: analysis.model, ...analysis.sentence };
    return `${JSON.stringify(record, null, 1)}\n`;
  }
  if (kind === "latex") return toLatex(currentNodes(), analysis, { hasTags: !state.hiddenParts.includes("tags") });
  if (kind === "link") return location.href;
  const picture = drawPicture();
  return { svg: toSvgText, png: toPng, pdf: (one) => toPdf([one]) }[kind](picture);
}

async function saveTree(kind) {
  const name = fileName(joinWords(page.analysis.words), page.state.tree, kind);
  save(new Blob([await exportTree(kind)]), name);
  announce(`Saved as ${name}.`);
}

async function copyTree(kind, button) {
  if (await copy(exportTree(kind))) announce(`${button.textContent} copied.`);
  else await saveTree(kind);
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1200);
}

// ---- event listeners

const on = (id, event, action) => byId(id).addEventListener(event, action);
on("form", "submit", (event) => (event.preventDefault(), parseNow()));
on("text", "input", onTyping);
on("text", "keydown", (event) => {
  if ((event.key === "Enter" && (event.ctrlKey || event.metaKey)) || event.key === "Escape") parseNow();
});
on("edit", "click", editText);
on("search", "submit", (event) => {
  event.preventDefault();
  search(byId("pattern").value, goToMatch).then(() => page.analysis && showTree());
});
on("model", "change", changeModel);
on("sentence", "change", () => goToSentence(Number(byId("sentence").value)));
on("previous-sentence", "click", () => goToSentence(page.state.sentence - 1));
on("next-sentence", "click", () => goToSentence(page.state.sentence + 1));
on("require", "click", () => addConstraint("require"));
on("forbid", "click", () => addConstraint("forbid"));
on("collapse", "click", () => toggleCollapsed(selectedConstituent()));
on("clear", "click", () => wordSelector.select(null));
on("tree-list", "change", (event) => goToTree(Number(event.target.value)));
on("previous-tree", "click", () => goToTree(page.state.tree - 1));
on("next-tree", "click", () => goToTree(page.state.tree + 1));
on("layout", "change", () => changeDisplay({ layout: byId("layout").value }));
on("hide", "change", () => {
  changeDisplay({ hiddenParts: HIDEABLE_PARTS.filter((part) => byId(`hide-${part}`).checked) });
});
on("functions", "change", () => {
  page.state.functions = byId("functions").checked;
  updateAddress();
  runRequests(parseSentence);
});
on("expand", "click", () => changeDisplay({ collapsed: [] }));
on("compare", "change", changeComparison);
on("zoom-out", "click", () => zoom(1 / 1.25));
on("zoom-in", "click", () => zoom(1.25));
on("zoom-fit", "click", () => zoom());
on("skip", "click", (event) => (event.preventDefault(), byId("viewer").focus()));
on("views", "click", (event) => event.target.role === "tab" && changeDisplay({ view: event.target.id.slice(4) }));
on("views", "keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  changeDisplay({ view: VIEWS.at((VIEWS.indexOf(page.state.view) + step) % VIEWS.length) });
  byId(`tab-${page.state.view}`).focus();
});
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copyTree(button.dataset.copy, button));
}
for (const button of document.querySelectorAll("[data-save-all]")) {
  const draw = (tree) => drawPicture({ analysis: tree, tree, collapsed: [] });
  button.addEventListener("click", () => saveDocument(button.dataset.saveAll, draw));
}
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => saveTree(button.dataset.save));
}
addEventListener("resize", () => {
  if (!page.analysis || innerWidth === shownWidth) return; // the keyboard of a phone changes the height only
  shownWidth = innerWidth;
  showTree();
});
addEventListener("hashchange", () => {
  if (location.hash === currentFragment()) return;
  page.state = fromFragment(location.hash);
  page.sentences = [];
  openState();
});
connectFiles({ button: byId("open"), input: byId("file"), onText: setText, onError: showMessage });
connectThemeButton(byId("theme"), () => page.analysis && showTree());
connectShortcuts({
  dialog: byId("shortcuts"),
  table: byId("shortcut-table"),
  button: byId("show-shortcuts"),
  checkbox: byId("shortcuts-on"),
  shortcuts: [
    ["?", "show this list", () => byId("shortcuts").showModal()],
    ["e", "edit the text", editText],
    ["/", "search the trees", () => byId("pattern").focus()],
    ["n p", "next or previous sentence", (key) => goToSentence(page.state.sentence + (key === "n" ? 1 : -1))],
    ["j k", "next or previous tree", (key) => goToTree(page.state.tree + (key === "j" ? 1 : -1))],
    ["t h o", "tree, heat map or outline", (key) => changeDisplay({ view: VIEWS.find((view) => view[0] === key) })],
    ["s", "sideways or top-down", toggleSideways],
    ["c", "collapse or expand the focused or selected constituent", toggleConstituent],
    ["x", "expand all constituents", () => changeDisplay({ collapsed: [] })],
    ["+ - 0", "zoom in, zoom out, fit to width", (key) => zoom({ "+": 1.25, "-": 1 / 1.25 }[key])],
  ],
});

await runRequests(async () => {
  page.server = await getModels();
  const option = ({ name, description }) => html("option", { value: name }, `${name}: ${description}`);
  byId("model").replaceChildren(...page.server.models.map(option));
});
if (page.server.models.length) await openState();
