/**
 * Returns code with its comments and strings replaced by spaces, line breaks kept: what a pattern finds in it is code. Both scanners
 * know just enough of their language for that, and end at any input.
 */

/** For Python: comments, and strings with any prefix and with one or three quotes. */
export function blankPython(code: string): string {
  const out = code.split('');
  let at = 0;
  while (at < code.length) {
    const end = endOfPythonText(code, at);
    if (end === at) at += 1;
    else at = blank(out, at, end);
  }
  return out.join('');
}

function endOfPythonText(code: string, at: number): number {
  const character = code[at];
  if (character === '#') return endOfLine(code, at);
  if (character !== '"' && character !== "'") return at;
  const triple = character.repeat(3);
  return code.startsWith(triple, at)
    ? endOfString(code, at + 3, triple, true)
    : endOfString(code, at + 1, character, false);
}

/** Returns the index after the closing quote. A string in one line ends with the line at the latest. */
function endOfString(code: string, from: number, quote: string, isLong: boolean): number {
  for (let at = from; at < code.length; at += 1) {
    if (code[at] === '\\') at += 1;
    else if (code.startsWith(quote, at)) return at + quote.length;
    else if (code[at] === '\n' && !isLong) return at;
  }
  return code.length;
}

function endOfLine(code: string, at: number): number {
  const end = code.indexOf('\n', at);
  return end < 0 ? code.length : end;
}

function blank(out: string[], from: number, to: number): number {
  for (let at = from; at < to && at < out.length; at += 1) if (out[at] !== '\n') out[at] = ' ';
  return to;
}

/** For JavaScript and TypeScript: comments, strings, templates without the code in them, and regular expressions. */
export function blankJavaScript(code: string): string {
  const out = code.split('');
  const nesting: ('template' | 'brace')[] = [];
  let last = ''; // the last character of code: distinguishes a division from a regular expression
  let at = 0;
  while (at < code.length) {
    const character = code[at]!;
    if (character === '`' || (character === '}' && nesting.at(-1) === 'template')) {
      if (character === '}') nesting.pop();
      const end = endOfTemplate(code, at + 1);
      if (code.startsWith('${', end - 2)) nesting.push('template');
      at = blank(out, at, end);
      last = '`';
      continue;
    }
    const end = endOfJavaScriptText(code, at, last);
    if (end > at) {
      if (code[at] !== '/' || (code[at + 1] !== '/' && code[at + 1] !== '*')) last = '"';
      at = blank(out, at, end);
      continue;
    }
    if (character === '{') nesting.push('brace');
    if (character === '}') nesting.pop();
    if (!/\s/.test(character)) last = isRegexWord(code, at) ? '(' : character;
    at += 1;
  }
  return out.join('');
}

function endOfJavaScriptText(code: string, at: number, last: string): number {
  const character = code[at];
  if (character === '"' || character === "'") return endOfString(code, at + 1, character, false);
  if (character !== '/') return at;
  if (code[at + 1] === '/') return endOfLine(code, at);
  if (code[at + 1] === '*') {
    const end = code.indexOf('*/', at + 2);
    return end < 0 ? code.length : end + 2;
  }
  return last === '' || '(,=:[!&|?{};'.includes(last) ? endOfRegex(code, at + 1) : at;
}

/** Returns the index after the closing backquote, or after the `${` of a substitution. */
function endOfTemplate(code: string, from: number): number {
  for (let at = from; at < code.length; at += 1) {
    if (code[at] === '\\') at += 1;
    else if (code[at] === '`') return at + 1;
    else if (code[at] === '$' && code[at + 1] === '{') return at + 2;
  }
  return code.length;
}

function endOfRegex(code: string, from: number): number {
  let isInClass = false;
  for (let at = from; at < code.length; at += 1) {
    const character = code[at];
    if (character === '\\') at += 1;
    else if (character === '\n')
      return from - 1; // it was a division
    else if (character === '[') isInClass = true;
    else if (character === ']') isInClass = false;
    else if (character === '/' && !isInClass) return at + 1;
  }
  return from - 1;
}

/** True at the last letter of a word after which an expression begins. */
function isRegexWord(code: string, at: number): boolean {
  if (/[\w$]/.test(code[at + 1] ?? '')) return false;
  const start = Math.max(0, at - 8);
  return /(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield)$/.test(
    code.slice(start, at + 1),
  );
}
