// The annotation page: the queue, the current sentence, and the actions on it.
import { getAgreement, getInfo, getQueue, getSentence, searchTrees, sendEvent, useModel } from "./annotate_api.js";
import { TreeEditor, drawSentence } from "./annotate_tree.js";
import { byId, html } from "./dom.js";
import { explainMessage } from "./messages.js";
import { connectShortcuts } from "./shortcuts.js";
import { connectThemeButton, useStorage } from "./theme.js";
import { WordSelector } from "./word_selector.js";

const state = { sentence: null, selection: null, constituent: null, moving: null, visited: [] };
const annotator = () => byId("annotator").value;
const textOf = ({ start, end }) => state.sentence.words.slice(start, end).join(" ");
const announce = (text) => (byId("status").textContent = text); // to screen readers
const words = new WordSelector(byId("words"), showSelection);
const editor = new TreeEditor({ onSelect: select, onHover: (span) => words.highlight(span), onDrag: attach });
let work = Promise.resolve();

// ---- requests, one after the other

function run(task) {
  byId("result").ariaBusy = "true";
  work = work.then(task).then(() => showMessage(), onError).finally(() => (byId("result").ariaBusy = "false"));
  return work;
}

async function onError(error) {
  if (error.status === 409) await openSentence(state.sentence.sentence).catch(() => {});
  showMessage(explainMessage(error.message, state.sentence ? textOf : () => ""));
}

function showMessage(text) {
  byId("message").textContent = text ?? "";
  byId("message").hidden = !text;
}

function act(action, values = {}) {
  return run(async () => {
    const { sentence, version } = state.sentence;
    const answer = await sendEvent(annotator(), { sentence, version, action, ...values }).catch((error) => {
      throw error.status ? error : new Error(`The action is not saved. ${error.message}`);
    });
    const isChangeOfWords = action === "tokens";
    show(answer, true, isChangeOfWords ? { start: values.start, end: values.start + values.words.length } : state.selection);
    announce(`Saved: ${action}.`);
    if (["done", "partial", "skip"].includes(action)) await openNext();
  });
}

async function openSentence(number) {
  const last = state.sentence?.sentence;
  show(await getSentence(annotator(), number), false, null);
  if (last !== undefined && last !== number) state.visited.push(last);
  markCurrent();
}

async function openNext() {
  const { queue } = await loadQueue();
  if (queue.length) await openSentence(queue[0].sentence);
  else announce("Every sentence is annotated.");
}

async function loadQueue() {
  const answer = await getQueue(annotator(), byId("order").value);
  const { done, partial, skipped, all } = answer.progress;
  const estimated = answer.estimated < all ? `, ${answer.estimated} of ${all} estimated` : "";
  byId("progress").textContent = `${done} of ${all} finished, ${partial} partial, ${skipped} skipped${estimated}`;
  byId("queue").replaceChildren(...answer.queue.map(({ sentence, text }) => sentenceItem(sentence, text)));
  showOffer(answer.offer);
  showOthers(answer.others);
  markCurrent();
  return answer;
}

// The annotators to compare with.
function showOthers(names) {
  const before = byId("other").value;
  byId("other").replaceChildren(...options(names));
  if (names.includes(before)) byId("other").value = before;
  byId("compare").hidden = !names.length;
  byId("alone").hidden = names.length > 0;
}

const options = (names) => names.map((name) => html("option", { value: name }, name));

// A model that has learned from the finished sentences.
function showOffer(offer) {
  const [text, button] = byId("offer").children;
  text.textContent = offer ? `The model that has learned from ${Number(offer.model)} finished sentences: ${offer.verdict}.` : "";
  button.onclick = () => run(async () => {
    await useModel(offer.model);
    await loadQueue();
    if (state.sentence) await openSentence(state.sentence.sentence);
    announce("The new model is used from now on.");
  });
  byId("offer").hidden = !offer;
}

function sentenceItem(number, text) {
  const button = html("button", { "data-sentence": number }, `${number + 1}. ${text}`);
  button.addEventListener("click", () => run(() => openSentence(number)));
  return html("li", {}, button);
}

function markCurrent() {
  for (const button of byId("queue").querySelectorAll("button")) {
    button.ariaCurrent = Number(button.dataset.sentence) === state.sentence?.sentence;
  }
}

// ---- the sentence

// Shows a sentence, or another state of the same one, with a span selected.
function show(sentence, isSame, selection) {
  const hadWords = isSame && state.sentence?.words.join(" ") === sentence.words.join(" ");
  const hadFocus = byId("view").contains(document.activeElement);
  const hadWordFocus = byId("words").contains(document.activeElement);
  state.sentence = sentence;
  state.moving = null;
  byId("title").textContent = `Sentence ${sentence.sentence + 1}${sentence.status === "open" ? "" : ` (${sentence.status})`}`;
  editor.show(sentence, hadWords);
  if (!hadWords) words.show(sentence.words);
  select(selection);
  if (hadWordFocus && !hadWords) focusWords();
  if (hadFocus && selection) editor.focusAround(selection);
  else if (hadFocus && !byId("view").contains(document.activeElement)) focusTree();
  byId("comment").value = sentence.comment || sentence.note;
  document.querySelector("[data-action=undo]").disabled = !sentence.can_undo;
  document.querySelector("[data-action=redo]").disabled = !sentence.can_redo;
  const item = (kind, span, text) => {
    const button = html("button", { class: "quiet", "aria-label": `Take back: ${textOf(span)} ${text}` }, "×");
    button.addEventListener("click", () => act("free", span));
    return html("li", { class: kind }, html("span", {}, html("b", { dir: "auto" }, textOf(span)), ` ${text}\u00a0`), button);
  };
  const brackets = (kind, verb) => sentence[kind].map(([start, end, label]) => item(kind, { start, end }, `${verb} ${label ?? "a constituent"}`));
  const tags = sentence.fixed_tags.map((i) => item("tag", { start: i, end: i + 1 }, `has the tag ${sentence.tags[i]}`));
  byId("constraints").replaceChildren(...brackets("require", "is"), ...brackets("forbid", "is not"), ...tags);
  history.replaceState(null, "", `#${new URLSearchParams({ annotator: annotator(), sentence: sentence.sentence + 1 })}`);
}

function select(span) {
  if (span) [words.anchor, words.focus] = [span.start, span.end - 1];
  words.select(span);
}

function showSelection(span) {
  state.selection = span;
  editor.viewer.mark(span);
  const constituent = (state.constituent = span && editor.constituent(span, state.constituent));
  const isWord = span && span.end - span.start === 1;
  byId("label").value = constituent?.label ?? "";
  byId("tag").value = isWord ? state.sentence.tags[span.start] : "";
  byId("split").value = isWord ? state.sentence.words[span.start] : "";
  byId("chosen").textContent = span
    ? `${constituent ? `${constituent.label}: ` : ""}${textOf(span)}${state.moving ? " (press A to attach it here)" : ""}`
    : "Select a constituent or words.";
  if (span && state.moving && constituent) announce(`Press A to attach ${textOf(state.moving)} here.`);
}

// ---- actions

const bracket = ({ start, end }, label) => (label ? [start, end, label] : [start, end]);
const selected = () => {
  if (!state.selection) showMessage("Select a constituent or words first.");
  return state.selection;
};

function attach(moved, target) {
  state.moving = null;
  act("attach", { moved: [moved.start, moved.end, moved.label], target: [target.start, target.end, target.label] });
}

function setLabel() {
  const [span, label] = [selected(), byId("label").value.trim()];
  if (!span || !label) return;
  const old = state.constituent?.label;
  if (!old || old === label) act("yes", { require: [bracket(span, label)] });
  else act("label", { require: [bracket(span, label)], forbid: [bracket(span, old)] });
  focusTree();
}

function setTag() {
  const span = selected();
  if (!span || span.end - span.start !== 1) return showMessage("Select one word to change its tag.");
  act("tag", { tags: { [span.start]: byId("tag").value.trim() } });
  focusTree();
}

function splitWord() {
  const span = selected();
  if (!span || span.end - span.start !== 1) return showMessage("Select one word to split it.");
  act("tokens", { ...span, words: byId("split").value.trim().split(/\s+/) });
  focusWords();
}

const ACTIONS = {
  yes: () => selected() && act("yes", { require: [bracket(state.selection, state.constituent?.label)] }),
  no: () => {
    if (!selected()) return;
    const chain = state.sentence.spans.filter(({ start, end }) => start === state.selection.start && end === state.selection.end);
    act("no", { forbid: [bracket(state.selection, chain.length > 1 && state.constituent.label)] });
  },
  attach: () => {
    const constituent = selected() && state.constituent;
    if (!constituent) return showMessage("Select a constituent to attach it elsewhere.");
    if (state.moving) return attach(state.moving, constituent);
    state.moving = constituent;
    editor.markMoving(constituent);
    announce(`${textOf(constituent)}: select its new parent, then press A.`);
    byId("chosen").textContent = `${constituent.label}: ${textOf(constituent)} (select its new parent, then press A; Escape cancels)`;
  },
  free: () => selected() && act("free", { start: state.selection.start, end: state.selection.end }),
  join: () => {
    if (!selected() || state.selection.end - state.selection.start < 2) return showMessage("Select two or more words to join them.");
    act("tokens", { ...state.selection, words: [state.sentence.words.slice(state.selection.start, state.selection.end).join("")] });
  },
  done: () => act("done"),
  partial: () => act("partial"),
  skip: () => act("skip", { text: byId("comment").value }),
  undo: () => act("undo"),
  redo: () => act("redo"),
  back: () => {
    if (!state.visited.length) return announce("There is no sentence before.");
    const [number] = state.visited.splice(-1);
    run(() => openSentence(number).finally(() => state.visited.pop()));
  },
  doubt: () => {
    const next = editor.focusNextDoubt();
    if (next) select(next);
    else byId("chosen").textContent = announce("No constituent is in doubt.");
  },
};
function focusTree() {
  (byId("view").querySelector("[role=treeitem][tabindex='0']") ?? byId("view")).focus();
}

function focusWords() {
  byId("words").querySelector("[tabindex='0']")?.focus();
}

function focusInput(id) {
  byId(id).focus();
  byId(id).select();
}

// ---- search and agreement

const search = () =>
  run(async () => {
    const { matches, count } = await searchTrees(annotator(), byId("pattern").value);
    byId("matches").replaceChildren(...matches.map(({ sentence, text }) => sentenceItem(sentence, text)));
    announce(`${count} matches.`);
  });

const compare = () =>
  run(async () => {
    const other = byId("other").value;
    const answer = await getAgreement(annotator(), other);
    const score = answer.f1 === null ? "" : `, EVALB F1 ${answer.f1.toFixed(2)}`;
    byId("agreement").textContent = `${answer.sentences} sentences finished by both${score}, ${answer.differing} differ.`;
    byId("differences").replaceChildren(
      ...answer.differences.map(({ sentence, views }) => {
        const button = html("button", {}, `${sentence + 1}. ${views[0].words.join(" ")}`);
        button.addEventListener("click", () => showSides(views, [annotator(), other]));
        return html("li", {}, button);
      }),
    );
  });

function showSides(views, names) {
  byId("sides").hidden = false;
  document.querySelectorAll(".side").forEach((side, i) => {
    const [title, picture] = side.children;
    title.textContent = names[i];
    const key = ({ start, end, label }) => `${start}-${end}:${label}`;
    const others = new Set(views[1 - i].spans.map(key));
    const [drawing] = drawSentence(views[i], picture.clientWidth);
    const groups = drawing.querySelectorAll("g.label");
    views[i].spans.forEach((span, j) => groups[j].classList.toggle("doubted", !others.has(key(span))));
    picture.replaceChildren(drawing);
  });
  byId("sides").focus();
}

// ---- start

const on = (id, event, action) => byId(id).addEventListener(event, action);
const onEnter = (id, action) => on(id, "keydown", (event) => event.key === "Enter" && (event.preventDefault(), action()));
for (const button of document.querySelectorAll("[data-action]")) {
  button.addEventListener("click", () => ACTIONS[button.dataset.action]());
}
onEnter("label", setLabel);
onEnter("tag", setTag);
onEnter("split", splitWord);
onEnter("comment", () => act("comment", { text: byId("comment").value }).then(focusTree));
on("search", "submit", (event) => (event.preventDefault(), search()));
on("compare", "submit", (event) => (event.preventDefault(), compare()));
on("go", "submit", (event) => (event.preventDefault(), run(() => openSentence(Number(byId("number").value) - 1))));
on("order", "change", () => run(openNext));
on("annotator", "change", () => {
  useStorage((storage) => storage.setItem("annotator", annotator()));
  run(openNext);
});
addEventListener("keydown", ({ key, target }) => {
  if (key !== "Escape") return;
  state.moving = null;
  editor.markMoving(null);
  if (target.matches?.("input")) focusTree();
});
connectShortcuts({
  dialog: byId("shortcuts"),
  table: byId("shortcut-table"),
  button: byId("show-shortcuts"),
  checkbox: byId("shortcuts-on"),
  shortcuts: [
    ["?", "show this list", () => byId("shortcuts").showModal()],
    ["y", "yes, a constituent", ACTIONS.yes],
    ["n", "no, not a constituent", ACTIONS.no],
    ["l", "label: type it, then Enter", () => focusInput("label")],
    ["t", "tag of a word: type it, then Enter", () => focusInput("tag")],
    ["a", "attach elsewhere: first the constituent, then its new parent", ACTIONS.attach],
    ["s", "split a word: type a space in it, then Enter", () => focusInput("split")],
    ["j", "join the selected words", ACTIONS.join],
    ["d", "next doubtful constituent", ACTIONS.doubt],
    ["f", "finish the sentence", ACTIONS.done],
    ["p", "leave it partial: what is fixed counts", ACTIONS.partial],
    ["k", "skip it, with the note if there is one", ACTIONS.skip],
    ["x", "take back what is fixed about the selection", ACTIONS.free],
    ["u r", "undo, redo", (key) => ACTIONS[key === "u" ? "undo" : "redo"]()],
    ["b", "back to the sentence before", ACTIONS.back],
    ["c", "write a note or comment, then Enter", () => focusInput("comment")],
    ["/", "search in finished trees", () => focusInput("pattern")],
    ["v", "go to the tree", focusTree],
    ["w", "go to the words", focusWords],
  ],
  otherKeys: [
    ["Arrows", "in the tree: to the parent, to a child, along a level"],
    ["Enter", "in the tree: select the constituent"],
    ["Shift Arrows", "in the words: select several words"],
    ["Escape", "clear the selection, leave a field"],
  ],
});

run(async () => {
  const linked = new URLSearchParams(location.hash.slice(1));
  const info = await getInfo();
  byId("annotator").value = linked.get("annotator") ?? useStorage((storage) => storage.getItem("annotator")) ?? info.annotator;
  byId("labels").replaceChildren(...options(info.labels));
  byId("tags").replaceChildren(...options(info.tags));
  connectThemeButton(byId("theme"), () => state.sentence && show(state.sentence, true, state.selection));
  await loadQueue();
  if (linked.get("sentence")) await openSentence(Number(linked.get("sentence")) - 1);
  else await openNext();
});
