// The state of the page in the fragment of its address (after the #), which browsers do not send to the server.
export const VIEWS = ["tree", "heat", "outline"];
const FIELDS = { require: "must", forbid: "not" };

export function emptyState() {
  return { text: "", model: "", sentence: 0, tree: 0, view: "tree", constraints: {} };
}

// A constraint is written as sentence:start-end:label; sentences are counted from 1.
export function toFragment(state) {
  const fields = new URLSearchParams({ text: state.text, model: state.model });
  if (state.sentence) fields.set("sentence", state.sentence + 1);
  if (state.tree) fields.set("tree", state.tree + 1);
  if (state.view !== "tree") fields.set("view", state.view);
  for (const [sentence, constraints] of Object.entries(state.constraints)) {
    for (const { kind, start, end, label } of constraints) {
      fields.append(FIELDS[kind], `${Number(sentence) + 1}:${start}-${end}${label ? `:${label}` : ""}`);
    }
  }
  return `#${fields}`;
}

export function fromFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const index = (name) => Math.max(0, Math.trunc(Number(fields.get(name)) || 1) - 1);
  const state = { ...emptyState(), text: fields.get("text") ?? "", model: fields.get("model") ?? "" };
  state.sentence = index("sentence");
  state.tree = index("tree");
  if (VIEWS.includes(fields.get("view"))) state.view = fields.get("view");
  for (const [kind, field] of Object.entries(FIELDS)) {
    for (const value of fields.getAll(field)) {
      const [, sentence, start, end, label] = value.match(/^(\d+):(\d+)-(\d+)(?::(.+))?$/) ?? [];
      if (!sentence) continue;
      const constraints = (state.constraints[sentence - 1] ??= []);
      constraints.push({ kind, start: Number(start), end: Number(end), label });
    }
  }
  return state;
}
