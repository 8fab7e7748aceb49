// The page of the API: sends the example of a route, as it is edited, and shows the answer and the command for a shell.
import { html } from "./dom.js";
import { connectThemeButton } from "./theme.js";

connectThemeButton(document.getElementById("theme"), () => {});
for (const form of document.querySelectorAll("form")) {
  const { method, path } = form.dataset;
  const output = html("pre", { tabindex: 0, role: "status", "aria-label": `Answer of ${path}` });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = form.querySelector("textarea")?.value;
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    const data = body === undefined ? "" : ` -H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`;
    const command = `curl ${new URL(path, location)}${data}`;
    form.append(output);
    try {
      const response = await fetch(path, { method, headers, body });
      output.textContent = `$ ${command}\n\n${response.status} ${format(await response.text())}`;
    } catch {
      output.textContent = `$ ${command}\n\nThe server does not answer. Is it still running?`;
    }
  });
}

function format(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text; // brackets, drawings, metrics
  }
}
