// The state of the page that a link reproduces. It stands behind the # of the address, which no server is sent.
export const VIEWS = ["tree", "heat", "outline"];
const KEYS = { require: "must", forbid: "not" };

export function emptyState() {
  return { text: "", model: "", sentence: 0, tree: 0, view: "tree", constraints: {} };
}

// Constraints are written as sentence:start-end:label, sentences counted from 1.
export function toFragment(state) {
  const fields = new URLSearchParams({ text: state.text, model: state.model });
  if (state.sentence) fields.set("sentence", state.sentence + 1);
  if (state.tree) fields.set("tree", state.tree + 1);
  if (state.view !== "tree") fields.set("view", state.view);
  for (const [sentence, list] of Object.entries(state.constraints)) {
    for (const { verb, start, end, label } of list) {
      fields.append(KEYS[verb], `${Number(sentence) + 1}:${start}-${end}${label ? `:${label}` : ""}`);
    }
  }
  return `#${fields}`;
}

export function fromFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const number = (name) => Math.max(0, Math.trunc(Number(fields.get(name)) || 1) - 1);
  const state = { ...emptyState(), text: fields.get("text") ?? "", model: fields.get("model") ?? "" };
  state.sentence = number("sentence");
  state.tree = number("tree");
  if (VIEWS.includes(fields.get("view"))) state.view = fields.get("view");
  for (const [verb, key] of Object.entries(KEYS)) {
    for (const value of fields.getAll(key)) {
      const [, sentence, start, end, label] = value.match(/^(\d+):(\d+)-(\d+)(?::(.+))?$/) ?? [];
      if (!sentence) continue;
      const list = (state.constraints[sentence - 1] ??= []);
      list.push({ verb, start: Number(start), end: Number(end), label });
    }
  }
  return state;
}
