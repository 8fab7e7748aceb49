// Text files: opened with the button, dropped on the page, or pasted.
const MAX_BYTES = 2_000_000;

// Connects the button and the page; `onText(text, fileName)` gets the content of a file, or pasted text, whose file name
// is empty. `onError(message)` gets the reason why a file cannot be read.
export function connectFiles({ button, input, onText, onError }) {
  const read = (file) => readText(file).then((text) => onText(text, file.name), (error) => onError(error.message));
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files[0]) read(input.files[0]);
    input.value = ""; // the same file can be opened again
  });
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping"); // the pointer leaves the window
  });
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
  });
  addEventListener("paste", (event) => {
    const [file] = event.clipboardData.files;
    const text = event.clipboardData.getData("text/plain");
    if (event.target.matches("input, textarea") && text) return;
    event.preventDefault();
    if (text) onText(text, "");
    else if (file) read(file);
  });
}

async function readText(file) {
  if (file.size > MAX_BYTES) {
    throw new Error(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; this page reads files of at most 2 MB.`);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (!text.includes("\0")) return text;
  } catch {
    // the message below
  }
  throw new Error(`${file.name} is not a text file in UTF-8. Save it as plain text, and open it again.`);
}
