/**
 * Makes text safe for a terminal. Names, reasons and logs come from other users and from workers, and may hold sequences that
 * clear the screen, change its title, write to the clipboard or reorder text. Colors are kept: they only look different.
 */

const ESC = '\\u001b';
const COLOR = new RegExp(`${ESC}\\[[0-9;:]*m`, 'g');
/** Control characters except tab and line break, with those of eight bits, and what reorders text. */
const CONTROL_CLASS =
  '\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ufeff';
const CONTROL = new RegExp(`[${CONTROL_CLASS}]`, 'g');
const COLOR_OR_CONTROL = new RegExp(`${ESC}\\[[0-9;:]*m|\\r\\n|[${CONTROL_CLASS}]`, 'g');
const RESET = '\u001b[0m';

/** Returns the text with control characters made visible, such as `\x1b`. Colors stay if they are wanted, and end with it. */
export function terminalText(text: string, hasColors: boolean): string {
  let isColored = false;
  const safe = text.replace(COLOR_OR_CONTROL, (match) => {
    if (match === '\r\n') return '\n';
    if (match.length === 1) return visible(match);
    isColored = match !== RESET && match !== '\u001b[m';
    return hasColors ? match : '';
  });
  return isColored && hasColors ? safe + RESET : safe;
}

/** Returns the text in one line for a cell: without colors, and with breaks as spaces. */
export function cellText(text: string): string {
  return text
    .replace(COLOR, '')
    .replace(/[\t\r\n\u2028\u2029]+/g, ' ')
    .replace(CONTROL, visible)
    .toWellFormed();
}

/** Escapes what JSON allows but a terminal obeys; the value stays the same. */
export function jsonText(value: unknown, indent = 2): string {
  return (JSON.stringify(value, null, indent) ?? 'null').replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

const ASCII = /^[\x20-\x7e]*$/;
/** East Asian wide and full-width characters, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/u;
const INVISIBLE = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u;

let segmenter: Intl.Segmenter | undefined;

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** Returns how many columns of a terminal the text takes. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += graphemeWidth(segment);
  return width;
}

/** Cuts the text to a width, with `…` for what is left out. */
export function cutToWidth(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let [kept, used] = ['', 1];
  for (const { segment } of graphemesOf(text)) {
    used += graphemeWidth(segment);
    if (used > width) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  return INVISIBLE.test(grapheme) ? 0 : 1;
}
