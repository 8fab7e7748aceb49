// Light or dark: the system's choice until somebody makes another, which the browser keeps.
import { THEMES } from "./colours.js";

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

export const themeName = () => root.dataset.theme ?? (system.matches ? "dark" : "light");
export const theme = () => THEMES[themeName()];

// Sets up the button that changes the theme; `onChange` hears of every change.
export function listenForTheme(button, onChange) {
  const tell = () => {
    button.ariaPressed = themeName() === "dark";
    onChange();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = themeName() === "dark" ? "light" : "dark";
    kept((storage) => storage.setItem("theme", root.dataset.theme));
    tell();
  });
  system.addEventListener("change", tell);
  const before = kept((storage) => storage.getItem("theme"));
  if (before in THEMES) root.dataset.theme = before;
  tell();
}

function kept(action) {
  try {
    return action(localStorage);
  } catch {
    return null; // a browser may refuse to keep anything
  }
}
