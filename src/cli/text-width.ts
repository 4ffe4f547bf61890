import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';

/** Node counts columns for the cursor of a prompt, and nowhere else that others may ask: this prompt is never shown. */
const prompt = createInterface({ input: new PassThrough() });

/**
 * The columns that a text without control characters takes in a terminal: two for an ideograph or an emoji, none for an
 * accent of its own. Of emoji that are joined into one each counts, as in terminals that do not join them.
 */
export function widthOf(text: string): number {
  prompt.setPrompt(text);
  return prompt.getCursorPos().cols;
}
