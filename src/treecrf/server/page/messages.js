// Messages of the server for readers of the page.

// Replaces positions by the words of the sentence, and counts sentences from 1.
export function explainMessage(message, textOf) {
  const text = message
    .replace(/^sentence 0: /, "") // the page sends one sentence
    .replace(/^sentence (\d+)/, (_, index) => `sentence ${Number(index) + 1}`)
    .replace(/\bwords\[(\d+):(\d+)\]/g, (_, start, end) => `“${textOf({ start: Number(start), end: Number(end) })}”`);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
