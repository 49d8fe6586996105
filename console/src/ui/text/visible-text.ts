/**
 * Characters that show nothing, or reorder what is beside them: controls, direction marks, overrides and isolates,
 * spaces without width. Joiners stay: emoji and several scripts need them.
 */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

/**
 * Returns a text that another user chose with its hidden characters as their codes, such as `\u202e`: they could make one
 * name look like another, or reorder the page around it. The command line shows them alike.
 */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
