// Keyboard shortcuts of one key, and the dialog that lists them and switches them off.
import { html } from "./dom.js";
import { useStorage } from "./theme.js";

const STORAGE_KEY = "shortcuts";
const OTHER_KEYS = [
  ["Ctrl Enter", "parse the text at once, and show its words"],
  ["Arrows", "in the tree: to the parent, to a child, along a level"],
  ["Enter", "in the tree: select the words of a constituent"],
  ["Shift Arrows", "in the words: select several words"],
  ["Escape", "clear the selection"],
];

// `shortcuts` are [keys, description, action], and `otherKeys` are [keys, description].
export function connectShortcuts({ shortcuts, otherKeys = OTHER_KEYS, dialog, table, button, checkbox }) {
  const rows = [...shortcuts, ...otherKeys].map(([keys, description]) => {
    const names = keys.split(" ").map((key) => html("kbd", {}, key));
    return html("tr", {}, html("td", {}, ...names), html("td", {}, description));
  });
  table.replaceChildren(...rows);
  checkbox.checked = useStorage((storage) => storage.getItem(STORAGE_KEY)) !== "off";
  checkbox.addEventListener("change", () => {
    useStorage((storage) => storage.setItem(STORAGE_KEY, checkbox.checked ? "on" : "off"));
  });
  button.addEventListener("click", () => dialog.showModal());
  addEventListener("keydown", (event) => {
    const isTyping = event.target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])");
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey || dialog.open || !checkbox.checked) return;
    const action = shortcuts.find(([keys]) => keys.split(" ").includes(event.key))?.[2];
    if (!action) return;
    event.preventDefault();
    action(event.key);
  });
}
