// The light or dark theme: the system's, until the user chooses one, which the browser stores.
import { THEMES } from "./colors.js";

const root = document.documentElement;
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

export const themeName = () => root.dataset.theme ?? (systemIsDark.matches ? "dark" : "light");
export const theme = () => THEMES[themeName()];

// Connects the button that changes the theme; calls `onChange` at once and after every change.
export function connectThemeButton(button, onChange) {
  const update = () => {
    button.ariaPressed = themeName() === "dark";
    onChange();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = themeName() === "dark" ? "light" : "dark";
    useStorage((storage) => storage.setItem("theme", root.dataset.theme));
    update();
  });
  systemIsDark.addEventListener("change", update);
  const storedTheme = useStorage((storage) => storage.getItem("theme"));
  if (storedTheme in THEMES) root.dataset.theme = storedTheme;
  update();
}

export function useStorage(action) {
  try {
    return action(localStorage);
  } catch {
    return null; // some browsers forbid storage
  }
}
