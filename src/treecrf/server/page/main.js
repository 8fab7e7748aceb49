// The page: text is cut into sentences, one of them is analyzed, and its trees are shown.
import { getAnalysis, getModels, getSentences } from "./api.js";
import { chance } from "./colours.js";
import { byId, html } from "./dom.js";
import { copy, save, toLatex, toPng, toSvgText } from "./export.js";
import { drawHeat } from "./heat.js";
import { drawOutline } from "./outline.js";
import { factsAbout, newIn, showChoice, showConstraints, showLegend, showRanks, showSentences } from "./panels.js";
import { Stage } from "./stage.js";
import { VIEWS, fromFragment, toFragment } from "./state.js";
import { listenForTheme, theme } from "./theme.js";
import { arrange, drawTree } from "./tree.js";
import { Words } from "./words.js";

const EXAMPLES = {
  en: ["The old man saw the girl with the telescope.", "Old men and women sang.", "She fed her cat food. Nobody noticed!"],
  zh: ["老师和学生的家长昨天在学校见面。", "我们在图书馆看见了一位老朋友。他很高兴。"],
};
const UNSPACED = ["zh", "ja"];
const PAUSE = 400; // milliseconds without a key until text is parsed
const FILES = { brackets: "tree.mrg", latex: "tree.tex", svg: "tree.svg", png: "tree.png", link: "link.txt" };

let state = fromFragment(location.hash);
let server = { models: [], limits: {} };
let model = null;
let sentences = []; // the words of each
let analysis = null; // of the current sentence
let selection = null;
let asking = new AbortController();
let pause = 0;

const words = new Words(byId("words"), onSelection);
const stage = new Stage(byId("view"), { describe, onLook: (run) => words.hint(run), onSelect: select });

const join = (list) => list.join(UNSPACED.includes(model.language) ? "" : " ");
const textOf = ({ start, end }) => join(sentences[state.sentence].slice(start, end));
const constraints = () => state.constraints[state.sentence] ?? [];
const tree = () => analysis.trees[state.tree];
const tell = (text) => (byId("status").textContent = text);
const writeLink = () => history.replaceState(null, "", toFragment(state));

// ---- asking the server; what is out of date meanwhile is inert

async function attempt(work) {
  asking.abort();
  clearTimeout(pause);
  asking = new AbortController();
  const { signal } = asking;
  byId("result").ariaBusy = "true";
  let note;
  try {
    note = await work(signal);
  } catch (error) {
    note = error.message;
  }
  if (signal.aborted) return;
  byId("result").ariaBusy = "false";
  byId("note").textContent = note ?? "";
  byId("note").hidden = !note;
}

const readText = () =>
  attempt(async (signal) => {
    byId("result").inert = true;
    writeLink();
    const found = state.text.trim() ? await getSentences(state.text, model.name, signal) : [];
    const lost = keepConstraints(found);
    sentences = found;
    state.sentence = Math.max(0, Math.min(state.sentence, found.length - 1));
    byId("result").inert = false;
    byId("result").hidden = !found.length;
    if (!found.length) return tell("There are no words to parse.");
    await readSentence(signal);
    return lost ? "Constraints are gone with the sentence that they were about." : undefined;
  });

// Constraints stay with sentences that are still there.
function keepConstraints(found) {
  if (!sentences.length) return false; // they come with a link
  const kept = new Map(sentences.map((own, i) => [own.join(" "), state.constraints[i] ?? []]));
  const now = found.map((own) => kept.get(own.join(" ")) ?? []);
  const count = (lists) => lists.flat().length;
  const isLoss = count(now) < count(Object.values(state.constraints));
  state.constraints = { ...now };
  return isLoss;
}

async function readSentence(signal) {
  const own = sentences[state.sentence];
  const isSame = analysis?.words.join(" ") === own.join(" ");
  byId("answer").inert = true;
  showSentences(sentences.map(join), state.sentence);
  showConstraints(constraints(), textOf, constrain);
  if (!isSame) {
    analysis = stage.zoom = null;
    words.show(own);
  }
  analysis = await getAnalysis(own, { model: model.name, constraints: constraints(), limits: server.limits }, signal);
  state.tree = Math.min(state.tree, analysis.trees.length - 1);
  byId("answer").inert = false;
  showRanks(analysis.trees, state.tree, textOf);
  show({ glides: isSame });
  const place = `Sentence ${state.sentence + 1} of ${sentences.length}`;
  tell(`${place}, ${analysis.trees.length} trees; the first has a probability of ${chance(analysis.trees[0])}.`);
}

const readAgain = () => attempt(readSentence);

// ---- showing

function show({ glides = false } = {}) {
  const arranged = arrange(tree(), analysis);
  for (const view of VIEWS) {
    const tab = byId(`tab-${view}`);
    tab.ariaSelected = view === state.view;
    tab.tabIndex = view === state.view ? 0 : -1;
  }
  byId("view").setAttribute("aria-labelledby", `tab-${state.view}`);
  byId("zooms").hidden = state.view === "outline";
  if (state.view === "tree") stage.show(draw(arranged, { forScreen: true }), { ...arranged, glides });
  else if (state.view === "outline") stage.show(drawOutline(arranged.root, textOf, tree().tree));
  else if (analysis.marginals) stage.show(...drawHeat(analysis, tree(), theme()));
  else stage.show(html("p", {}, `This server gives heat maps of at most ${server.limits.marginal_words} words.`));
  stage.mark(selection);
  showLegend(theme(), state.view);
  showChoice(analysis, state.tree);
  writeLink();
}

function draw(arranged, { forScreen = false } = {}) {
  const news = newIn(tree(), analysis.trees[0]);
  return drawTree(arranged, theme(), { title: join(analysis.words), brackets: tree().tree, news, forScreen });
}

function describe(run, group) {
  if (group.classList.contains("label")) return [group.ariaLabel.replace(", probability", ""), textOf(run)];
  return factsAbout(run, tree(), analysis.marginals, textOf);
}

// ---- doing

function onSelection(run) {
  selection = run;
  byId("span").hidden = run === null;
  byId("hint").hidden = run !== null || constraints().length > 0;
  stage.mark(run);
  if (run === null) return;
  const [text, ...facts] = analysis ? factsAbout(run, tree(), analysis.marginals, textOf) : [textOf(run)];
  byId("about").replaceChildren(html("b", { dir: "auto" }, text), ` ${facts.join(", ")}`);
  tell([text, ...facts].join(", "));
}

function select(run) {
  if (run) [words.anchor, words.focus] = [run.start, run.end - 1];
  words.select(run);
}

function addConstraint(verb) {
  const { start, end } = selection;
  const others = constraints().filter((one) => one.start !== start || one.end !== end);
  constrain([...others, { verb, start, end, label: byId("label").value || undefined }]);
}

function constrain(known) {
  state.constraints[state.sentence] = known;
  state.tree = 0;
  words.select(null);
  words.list.querySelector("[tabindex='0']").focus();
  writeLink();
  readAgain();
}

function goToTree(number) {
  state.tree = number;
  show({ glides: true });
  tell(byId("which").textContent);
}

function goToSentence(number) {
  [state.sentence, state.tree] = [number, 0];
  readAgain();
}

function goToView(view) {
  state.view = view;
  show();
}

function setText(text) {
  byId("text").value = state.text = text;
  [state.sentence, state.tree] = [0, 0];
  readText();
}

function setModel(name) {
  model = server.models.find((one) => one.name === name) ?? server.models[0];
  state.model = byId("model").value = model.name;
  const option = (label) => html("option", { value: label }, label);
  byId("label").replaceChildren(html("option", { value: "" }, "anything"), ...model.labels.map(option));
  const example = (text) => {
    const button = html("button", { class: "link", lang: model.language }, text);
    button.addEventListener("click", () => setText(text));
    return button;
  };
  const texts = EXAMPLES[model.language] ?? [];
  byId("examples").replaceChildren(...(texts.length ? ["Try ", ...texts.map(example)] : []));
}

function exported(kind) {
  const arranged = arrange(tree(), analysis);
  if (kind === "brackets") return tree().tree;
  if (kind === "latex") return toLatex(arranged.root, analysis);
  if (kind === "link") return location.href;
  return kind === "svg" ? toSvgText(draw(arranged)) : toPng(draw(arranged));
}

async function saveAs(kind) {
  save(new Blob([await exported(kind)]), FILES[kind]);
  tell(`Saved as ${FILES[kind]}.`);
}

async function copyAs(kind, button) {
  if (await copy(exported(kind))) tell(`${button.textContent} copied.`);
  else await saveAs(kind);
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1200);
}

async function open() {
  const wanted = state.model;
  setModel(wanted);
  if (!location.hash) state.text = EXAMPLES[model.language]?.[0] ?? "";
  byId("text").value = state.text;
  await readText();
  if (!wanted || wanted === model.name) return;
  byId("note").textContent = `This server has no model ${wanted}; here is what ${model.name} says.`;
  byId("note").hidden = false;
}

// ---- listening

const on = (id, event, action) => byId(id).addEventListener(event, action);
on("form", "submit", (event) => (event.preventDefault(), readText()));
on("text", "input", () => {
  [state.text, state.tree] = [byId("text").value, 0];
  clearTimeout(pause);
  pause = setTimeout(readText, PAUSE);
});
on("text", "keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && readText());
on("model", "change", () => (setModel(byId("model").value), (state.tree = 0), (analysis = null), readText()));
on("sentence", "change", () => goToSentence(Number(byId("sentence").value)));
on("before", "click", () => goToSentence(state.sentence - 1));
on("after", "click", () => goToSentence(state.sentence + 1));
on("must", "click", () => addConstraint("require"));
on("never", "click", () => addConstraint("forbid"));
on("clear", "click", () => words.select(null));
on("ranks", "change", (event) => goToTree(Number(event.target.value)));
on("previous", "click", () => goToTree(state.tree - 1));
on("next", "click", () => goToTree(state.tree + 1));
on("smaller", "click", () => stage.zoomTo(stage.scale / 1.25));
on("larger", "click", () => stage.zoomTo(stage.scale * 1.25));
on("fit", "click", () => stage.zoomTo(stage.fitting()));
on("skip", "click", (event) => (event.preventDefault(), byId("stage").focus()));
on("views", "click", (event) => event.target.role === "tab" && goToView(event.target.id.slice(4)));
on("views", "keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  goToView(VIEWS.at((VIEWS.indexOf(state.view) + step) % VIEWS.length));
  byId(`tab-${state.view}`).focus();
});
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copyAs(button.dataset.copy, button));
}
for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => saveAs(button.dataset.save));
}
addEventListener("hashchange", () => {
  if (location.hash === toFragment(state)) return;
  state = fromFragment(location.hash);
  sentences = [];
  open();
});
listenForTheme(byId("theme"), () => analysis && show());

await attempt(async () => {
  server = await getModels();
  const option = ({ name, language }) => html("option", { value: name }, `${name} (${language})`);
  byId("model").replaceChildren(...server.models.map(option));
});
if (server.models.length) await open();
