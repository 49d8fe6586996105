/** Keys that the keyboards of phones lack, and what terminals send for them. */

export interface TerminalKey {
  label: string;
  /** Read out in place of a sign. */
  name: string;
  /** `isApplication`: the program asked for the other codes of arrows, as editors do. */
  codeOf: (isApplication: boolean) => string;
}

const arrow = (label: string, name: string, letter: string): TerminalKey => ({
  label,
  name,
  codeOf: (isApplication) => `\x1b${isApplication ? 'O' : '['}${letter}`,
});
const fixed = (label: string, name: string, code: string): TerminalKey => ({ label, name, codeOf: () => code });

export const TERMINAL_KEYS: readonly TerminalKey[] = [
  fixed('Esc', 'Esc', '\x1b'),
  fixed('Tab', 'Tab', '\t'),
  arrow('←', 'Left', 'D'),
  arrow('↑', 'Up', 'A'),
  arrow('↓', 'Down', 'B'),
  arrow('→', 'Right', 'C'),
  fixed('|', 'Bar', '|'),
  fixed('/', 'Slash', '/'),
  fixed('-', 'Minus', '-'),
];

/** Returns what is sent for a text that is typed while Ctrl is down: `c` is `\x03`. A text without such a code stays. */
export function withCtrl(text: string): string {
  if (text === ' ') return '\0';
  if (text === '?') return '\x7f';
  return /^[a-zA-Z@[\\\]^_]$/.test(text) ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 0x1f) : text;
}
