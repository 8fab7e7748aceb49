// Files of text or trees, plain or gzipped: opened with the button, dropped on the page, or pasted.
const MAX_BYTES = 5_000_000;

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
  const isGzip = file.name.endsWith(".gz");
  const fail = (reason) => {
    throw new Error(`${file.name} ${reason}`);
  };
  const stream = isGzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const bytes = await new Response(stream).arrayBuffer().catch(() => fail("is damaged or no gzip file."));
  if (bytes.byteLength > MAX_BYTES) {
    const size = (bytes.byteLength / 1e6).toFixed(1);
    fail(`has ${size} MB${isGzip ? " of text" : ""}; this page reads files of at most ${MAX_BYTES / 1e6} MB.`);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // the message below
  }
  return fail("is not a text file in UTF-8. Save it as plain text, and open it again.");
}
