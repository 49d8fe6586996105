/**
 * Returns the text (latin1) as one piece. V8 keeps joined text as a tree of its parts, and walks it each time it is
 * written: for text that is written often.
 */
export function flatText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
