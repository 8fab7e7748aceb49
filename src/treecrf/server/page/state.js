// The state of the page in the fragment of its address (after the #), which browsers do not send to the server.
export const VIEWS = ["tree", "heat", "outline"];
export const LAYOUTS = ["auto", "down", "sideways"];
export const HIDEABLE_PARTS = ["root", "tags", "punctuation"];
const CONSTRAINT_FIELDS = { require: "must", forbid: "not" };
const MAX_CHARACTERS = 8000; // of a text in an address; the address of a longer one has the current sentence only

export function emptyState() {
  return {
    text: "",
    model: "",
    sentence: 0,
    tree: 0,
    view: "tree",
    layout: "auto",
    hiddenParts: [], // some of HIDEABLE_PARTS
    functions: false, // whether labels have functions, as in NP-SBJ
    collapsed: [], // constituents, as in "2-5:NP"
    compared: null, // {tree} or {model}
    constraints: {}, // by sentence, lists of {kind, start, end, label}
  };
}

// A constraint is written as sentence:start-end:label; sentences and trees are counted from 1.
export function toFragment(state, sentenceText) {
  if (state.text.length > MAX_CHARACTERS) {
    const constraints = { 0: state.constraints[state.sentence] ?? [] };
    const text = sentenceText.slice(0, MAX_CHARACTERS);
    return toFragment({ ...state, text, sentence: 0, constraints }, text);
  }
  const fields = new URLSearchParams({ text: state.text, model: state.model });
  if (state.sentence) fields.set("sentence", state.sentence + 1);
  if (state.tree) fields.set("tree", state.tree + 1);
  if (state.view !== "tree") fields.set("view", state.view);
  if (state.layout !== "auto") fields.set("layout", state.layout);
  if (state.compared) {
    const { model, tree } = state.compared;
    fields.set("with", model === undefined ? `tree:${tree + 1}` : `model:${model}`);
  }
  if (state.functions) fields.set("functions", 1);
  for (const part of state.hiddenParts) fields.append("hide", part);
  for (const key of state.collapsed) fields.append("collapse", key);
  for (const [sentence, constraints] of Object.entries(state.constraints)) {
    for (const { kind, start, end, label } of constraints) {
      fields.append(CONSTRAINT_FIELDS[kind], `${Number(sentence) + 1}:${start}-${end}${label ? `:${label}` : ""}`);
    }
  }
  return `#${fields}`;
}

export function fromFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const index = (text) => Math.max(0, Math.trunc(Number(text) || 1) - 1);
  const choice = (name, values) => (values.includes(fields.get(name)) ? fields.get(name) : values[0]);
  const [, kind, value] = (fields.get("with") ?? "").match(/^(model|tree):(.+)$/s) ?? [];
  return {
    ...emptyState(),
    text: fields.get("text") ?? "",
    model: fields.get("model") ?? "",
    sentence: index(fields.get("sentence")),
    tree: index(fields.get("tree")),
    view: choice("view", VIEWS),
    layout: choice("layout", LAYOUTS),
    hiddenParts: HIDEABLE_PARTS.filter((part) => fields.getAll("hide").includes(part)),
    functions: fields.has("functions"),
    collapsed: fields.getAll("collapse").filter((key) => /^\d+-\d+:./s.test(key)),
    compared: kind ? { [kind]: kind === "tree" ? index(value) : value } : null,
    constraints: readConstraints(fields),
  };
}

function readConstraints(fields) {
  const constraints = {};
  for (const [kind, field] of Object.entries(CONSTRAINT_FIELDS)) {
    for (const value of fields.getAll(field)) {
      const [, sentence, start, end, label] = value.match(/^(\d+):(\d+)-(\d+)(?::(.+))?$/) ?? [];
      if (!sentence) continue;
      (constraints[sentence - 1] ??= []).push({ kind, start: Number(start), end: Number(end), label });
    }
  }
  return constraints;
}
